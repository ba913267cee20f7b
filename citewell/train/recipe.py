"""Recipes: what to train, on what data, and with which settings; TOML files in ``recipes``, or a user's own.

There are two kinds. A model of a library (LDA, Doc2Vec ...) is saved in the library's folder and serves that library. A model
of data sets (encoders, learning to rank) is saved in a folder of its own and serves any library. A recipe that is ``like``
another states only the differences.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from citewell.errors import CitewellError
from citewell.train import recipe_files


class LibraryRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train a model of a library."""

    about: str
    kind: str
    """The method: a key of `citewell.train.training.KINDS`."""
    text: str
    """The text of a paper: one of `citewell.train.corpus.TEXTS`."""
    min_count: int
    """Rarer words are dropped."""
    seed: int
    parameters: dict[str, Any]
    """The settings of the method."""
    name: str = ""


class Pairs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which data of the sets goes into a pack."""

    tasks: tuple[str, ...]
    abstracts: dict[str, int] = {}
    """By name of a set, the number of titles that are queries for their abstracts."""


class PackRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train a neural model on the pairs of sets."""

    about: str
    kind: str
    """A key of `citewell.train.from_sets.KINDS`."""
    pairs: Pairs
    numbers: dict[str, Any]
    """Batches, learning rates and mined negatives: `citewell.train.encoder.Hyperparameters`."""
    inputs: dict[str, Any] = {}
    """Token budgets and layout: `citewell.models.inputs.Inputs`; none: those of the given encoder."""
    base: str = ""
    """The initial weights: ``minilm``, or a folder; none: those of the given encoder."""
    static: dict[str, Any] = {}
    cross: dict[str, Any] = {}
    shape: dict[str, Any] = {}
    negatives: dict[str, Any] = {}
    name: str = ""


class HiddenFeatures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Features that some libraries or drafts do not have."""

    features: tuple[str, ...]
    """Names of features, and of pipelines, all of whose features are missing."""
    share: float
    """The share of queries that is repeated without them."""


class NetworkHyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of the learning-to-rank network."""

    share: float
    """The weight of its scores relative to those of the trees."""
    hidden: int
    """Units of the first layer; the second has half as many."""
    epochs: int
    rate: float
    batch: int
    """Queries per step."""
    dropout: float = 0.0
    decay: float = 0.0
    uncited: dict[str, float] = {}
    """As for the trees."""


class JudgementHyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How learning to rank goes on from a trained model with what people said about suggestions."""

    minimum: int
    """The fewest judged queries of a task, with a relevant candidate, to learn from."""
    folds: int
    """Parts of the cross-validation."""
    unjudged: float
    """The weight of candidates that nobody judged, which count as irrelevant, relative to judged ones; 0: they are left out."""
    p: float
    """The highest p-value of the held-out gain at which the new model is kept."""
    trees: dict[str, Any]
    """LightGBM's parameters for the trees that are added, and their number."""


class LtrRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train learning to rank on the dev queries of sets."""

    about: str
    kind: str
    pipeline: str
    """The pipeline whose first stage is trained."""
    tasks: tuple[str, ...]
    sample: int
    """Queries per set and task."""
    seed: int
    trees: dict[str, Any]
    """LightGBM's parameters, the maximum number of rounds, and the patience of early stopping."""
    uncited: dict[str, float] = {}
    """By task, the gain of a relevant paper without citations, relative to others; the default is 1."""
    hidden: tuple[HiddenFeatures, ...] = ()
    network: NetworkHyperparameters | None = None
    """None: trees only."""
    judgements: JudgementHyperparameters | None = None
    """None: the recipe cannot learn from judgements."""
    name: str = ""


class ClaimsRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train the citation-worthiness model on the paragraphs of sets."""

    about: str
    kind: str
    buckets: int
    """Size of the hashed table of word weights."""
    decay: float
    """L2 regularisation."""
    steps: int
    """The maximum number of L-BFGS steps."""
    unsectioned: float
    """The share of paragraphs whose section is hidden."""
    precision: float
    """The precision of the high-precision threshold, on the dev years of the first set."""
    seed: int
    trees: dict[str, Any]
    """LightGBM's parameters, the maximum number of rounds, and the patience of early stopping."""
    name: str = ""


class TransitionsRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train the model of transition sentences on the paragraphs of sets."""

    about: str
    kind: str
    buckets: int
    """Size of the hashed table of word weights."""
    decay: float
    """L2 regularisation."""
    steps: int
    """The maximum number of L-BFGS steps."""
    within: int
    """How many sentences from within each paragraph are used."""
    factor: int
    """A set gives at most this many times the paragraphs of the smallest set."""
    recall: float
    """The share of the first sentences of the dev years with the label that reach the threshold."""
    seed: int
    name: str = ""


class WordHyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train word vectors with skip-gram."""

    size: int
    """Dimensions of the vectors."""
    min_count: int
    """Rarer words are unknown."""
    window: int
    negatives: int
    sample: float
    """Words above this relative frequency are downsampled."""
    epochs: int
    rate: float
    """The initial learning rate; it falls to 1% of this."""
    seed: int


class WordsRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train a base of words on the texts of sets."""

    about: str
    kind: str
    vocabulary: int
    """The number of words, special tokens included; the most frequent ones."""
    words: WordHyperparameters
    name: str = ""


class ConvolutionHyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train word vectors with graph convolutions."""

    start: str
    """The initial word vectors: ``sentences`` (skip-gram over the papers' sentences; words outside the graph keep theirs) or
    ``random`` (words outside the graph are unknown)."""
    layers: int
    """Graph convolutions."""
    window: int
    """Two nodes at most this far apart on a walk belong together."""
    pairs: int
    """Pairs of nodes per step."""
    negatives: int
    """Negatives per pair."""
    steps: int
    rate: float


class GraphHyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph of key terms, or of annotated concepts, from whose random walks word vectors are learned."""

    terms: int
    """Key terms per paper."""
    max_words: int
    """Words of a paper that are read, from the title on."""
    min_papers: int
    """Two terms are linked if at least this many papers share them."""
    walks: int
    """Walks per term."""
    length: int
    """Terms per walk."""
    return_weight: float
    """The weight of returning to the previous term, relative to moving to one of its neighbours (node2vec's 1/p)."""
    outward_weight: float
    """The weight of moving further away (node2vec's 1/q)."""
    convolution: ConvolutionHyperparameters | None = None
    """None: skip-gram over the walks, spelled out word by word."""


class QuerySampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which evidence queries are used, and how many candidates each has."""

    depth: int
    """Candidates from BM25."""
    samples: dict[str, int]
    """By kind of label, the number of train queries sampled per set; other kinds are used fully."""
    seed: int


class EvidenceRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train a sentence-ranking model on the evidence queries of sets."""

    about: str
    kind: str
    """A key of `citewell.train.from_evidence.KINDS`."""
    queries: QuerySampling
    words: WordHyperparameters
    numbers: dict[str, Any]
    """The settings of the method."""
    graph: GraphHyperparameters | None = None
    """None: word vectors are trained on the sentences of the papers."""
    texts: bool = False
    """Whether sets without evidence may be named too; their texts are learned from (`citewell.train.set_texts`)."""
    base: str = ""
    """The folder of a base of words whose vectors are used; none: word vectors are trained by [words]."""
    tuning: dict[str, list[float]] = {}
    """The settings of [numbers] that ``citewell tune --recipe`` tries, and their values."""
    name: str = ""


SetRecipe = PackRecipe | EvidenceRecipe | LtrRecipe | ClaimsRecipe | TransitionsRecipe | WordsRecipe
Recipe = LibraryRecipe | SetRecipe

_SHAPES: dict[str, type[SetRecipe]] = {
    "encoder": PackRecipe,
    "static": PackRecipe,
    "cross-encoder": PackRecipe,
    "enhanced-context": PackRecipe,
    "paragraph": PackRecipe,
    "classifier": PackRecipe,
    "joint-snippets": EvidenceRecipe,
    "semiser": EvidenceRecipe,
    "ltr": LtrRecipe,
    "claims": ClaimsRecipe,
    "transitions": TransitionsRecipe,
    "words": WordsRecipe,
}
_RENAMED = {"fusion": "ltr"}
"""Earlier names of recipes and their kinds."""


def recipes() -> list[str]:
    """The names of the recipes that ship with citewell."""
    return recipe_files.names()


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`, or in the TOML file with this path."""
    if name.endswith(".toml"):
        return _read(name, Path(name).stem)
    if name in _RENAMED:
        print(f"The recipe {name!r} is now called {_RENAMED[name]!r}.", file=sys.stderr)
        name = _RENAMED[name]
    return _read(name, name)


def library_recipe(name: str) -> LibraryRecipe:
    """The recipe called `name`, which must be for a library."""
    recipe = load_recipe(name)
    if not isinstance(recipe, LibraryRecipe):
        raise CitewellError(f"the recipe {name!r} is not for a library; run: citewell train {name} --set DIR --out DIR")
    return recipe


def _read(path: str, name: str) -> Recipe:
    try:
        content = recipe_files.load(path)
        content["kind"] = _RENAMED.get(content.get("kind", ""), content.get("kind", ""))
        shape: type[Recipe] = _SHAPES.get(content["kind"], LibraryRecipe)
        return msgspec.convert({**content, "name": name}, shape)
    except OSError as error:
        raise CitewellError(f"cannot read the recipe {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CitewellError(f"cannot use the recipe {path}: {error}") from None
