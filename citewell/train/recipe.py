"""Recipes: what is trained, on what, with every number that matters, each a TOML file in ``recipes`` or of the user's own.

There are two sorts. What is made of a library (LDA, Doc2Vec ...) is kept in the library's folder and serves it alone; what is
made of data sets (encoders, the learned combination) goes into a folder of its own and serves any library. A recipe that is
``like`` another one says only where it differs.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from citewell.errors import CitewellError
from citewell.train import recipe_files


class LibraryRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model of a library is made."""

    about: str
    kind: str
    """The method: a key of `citewell.train.training.KINDS`."""
    text: str
    """What the text of a paper is made of: one of `citewell.train.corpus.TEXTS`."""
    min_count: int
    """Words that occur less often are left out."""
    seed: int
    parameters: dict[str, Any]
    """The method's own numbers."""
    name: str = ""


class Pairs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of the sets goes into a pack."""

    tasks: tuple[str, ...]
    abstracts: dict[str, int] = {}
    """Of a set, by its name, so many papers are asked for by their titles."""


class PackRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a neural model is made of the pairs of sets."""

    about: str
    kind: str
    """A key of `citewell.train.from_sets.KINDS`."""
    pairs: Pairs
    numbers: dict[str, Any]
    """Those of batches, rates and mined negatives: `citewell.train.encoder.Numbers`."""
    inputs: dict[str, int] = {}
    """Budgets of tokens: `citewell.models.inputs.Inputs`; none: those of the encoder that it is made with."""
    base: str = ""
    """The weights that it starts from: ``minilm``, or a folder; none: those of the encoder that it is made with."""
    static: dict[str, Any] = {}
    cross: dict[str, Any] = {}
    shape: dict[str, Any] = {}
    negatives: dict[str, Any] = {}
    name: str = ""


class Hidden(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Signals that some libraries or drafts do not have."""

    signals: tuple[str, ...]
    """Pipelines that find and score nothing then, and names of other signals."""
    share: float
    """So many of the questions teach the trees once more, without them."""


class NetworkNumbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of the network that weighs signals beside the trees."""

    share: float
    """How much its scores count beside those of the trees."""
    hidden: int
    """Numbers of its first layer; the second has half as many."""
    epochs: int
    rate: float
    batch: int
    """Questions a step."""
    dropout: float = 0.0
    decay: float = 0.0
    uncited: dict[str, float] = {}
    """As that of the trees."""


class FusionRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the learned combination is made of the dev questions of sets."""

    about: str
    kind: str
    pipeline: str
    """Its first stage is the combination; what that one weighs is learned."""
    tasks: tuple[str, ...]
    sample: int
    """Questions of each set and task."""
    seed: int
    trees: dict[str, Any]
    """LightGBM's parameters, the most rounds, and how many without gain are waited for (patience)."""
    uncited: dict[str, float] = {}
    """By task, what a right paper that nobody has cited yet is worth where another of its question is worth 1, the default."""
    hidden: tuple[Hidden, ...] = ()
    network: NetworkNumbers | None = None
    """None: the trees weigh alone."""
    name: str = ""


class ClaimsRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the model of sentences that call for a citation is made of the paragraphs of sets."""

    about: str
    kind: str
    buckets: int
    """Weights in the table that words share by their hash."""
    decay: float
    """How much large weights cost (L2)."""
    steps: int
    """The most steps of L-BFGS."""
    unsectioned: float
    """Of so many of the paragraphs the section is not told."""
    precision: float
    """That of the sure threshold, on the dev years of the first set."""
    seed: int
    trees: dict[str, Any]
    """LightGBM's parameters, the most rounds, and how many without gain are waited for (patience)."""
    name: str = ""


class WordNumbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How vectors of words are learned, by skip-gram."""

    size: int
    """Dimensions of the vectors."""
    min_count: int
    """Words that occur less often are not known."""
    window: int
    negatives: int
    sample: float
    """Of words that are more frequent than this share, some occurrences are left out."""
    epochs: int
    rate: float
    """The learning rate at the beginning; it falls to a hundredth."""
    seed: int


class GraphNumbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph of key terms, and the walks over it, that take the place of sentences for skip-gram."""

    terms: int
    """Key terms of a paper."""
    reach: int
    """So many of its words, from the title on, are looked at."""
    fewest: int
    """Two terms that fewer papers have in common are not linked."""
    walks: int
    """How many start from each term."""
    length: int
    """How many terms a walk has."""
    back: float
    """How likely a walk goes back at once, beside going on to a neighbour of where it came from."""
    out: float
    """How likely it goes on to what is no such neighbour."""


class Asking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which evidence questions are asked, and how many candidates each has."""

    depth: int
    """So many papers of BM25's are candidates."""
    drawn: dict[str, int]
    """Of the train questions of a set whose answers were marked by this kind, so many are drawn; of others all are taken."""
    seed: int


class EvidenceRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model that ranks sentences is made of the evidence questions of sets."""

    about: str
    kind: str
    """A key of `citewell.train.from_evidence.KINDS`."""
    questions: Asking
    words: WordNumbers
    numbers: dict[str, Any]
    """The method's own."""
    graph: GraphNumbers | None = None
    """None: vectors of words are learned from the papers' sentences."""
    name: str = ""


Recipe = LibraryRecipe | PackRecipe | EvidenceRecipe | FusionRecipe | ClaimsRecipe

_OF_SETS: dict[str, type[PackRecipe] | type[EvidenceRecipe] | type[FusionRecipe] | type[ClaimsRecipe]] = {
    "encoder": PackRecipe,
    "static": PackRecipe,
    "cross-encoder": PackRecipe,
    "enhanced-context": PackRecipe,
    "paragraph": PackRecipe,
    "classifier": PackRecipe,
    "joint-snippets": EvidenceRecipe,
    "semiser": EvidenceRecipe,
    "ltr": FusionRecipe,
    "claims": ClaimsRecipe,
}
_RENAMED = {"fusion": "ltr"}
"""Earlier names of recipes, which are also kinds of them, and the names of today."""


def recipes() -> list[str]:
    """The names of the recipes at hand."""
    return recipe_files.names()


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`, or in the TOML file of this path."""
    if name.endswith(".toml"):
        return _read(Path(name), Path(name).stem)
    if name in _RENAMED:
        print(f"The recipe {name!r} is now called {_RENAMED[name]!r}.", file=sys.stderr)
        name = _RENAMED[name]
    if name not in recipes():
        known = ", ".join(recipes())
        raise CitewellError(f"there is no recipe {name!r}; choose one of {known}, or name a TOML file of your own")
    return _read(recipe_files.folder().joinpath(f"{name}.toml"), name)


def library_recipe(name: str) -> LibraryRecipe:
    """The recipe called `name`, which must be one of a library."""
    found = load_recipe(name)
    if not isinstance(found, LibraryRecipe):
        raise CitewellError(f"the recipe {name!r} makes nothing of a library; run: citewell train {name} --set DIR --out DIR")
    return found


def _read(path: Traversable, name: str) -> Recipe:
    try:
        content = recipe_files.content(path)
        content["kind"] = _RENAMED.get(content.get("kind", ""), content.get("kind", ""))
        shape: type[Recipe] = _OF_SETS.get(content["kind"], LibraryRecipe)
        return msgspec.convert({**content, "name": name}, shape)
    except OSError as error:
        raise CitewellError(f"the recipe {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CitewellError(f"the recipe {path} cannot be used: {error}") from None
