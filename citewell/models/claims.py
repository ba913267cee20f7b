"""Which sentences call for a citation: a small model of what they say, and of what is said round them.

Its first part adds up a weight for each word and pair of words of a sentence, and one for each word in its kind of section; the
weights lie in a table that words reach by their hash. Its second part, a few trees, corrects that sum by those of the sentences
before and after, by the section, and by plain counts. Citations are taken out of every sentence before it is read
(`citewell.text.citation_removal`). Where a sentence stands in its paragraph is not asked, nor whether its neighbours
cite: in what it learned from every paragraph cites, but never its first sentence, and that would be all it took from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.trees import Trees
from citewell.text.citation_removal import has_integral_citation, remove_citations
from citewell.text.sentences import split_sentences

NAME = "claims"
WORDS, TREES, THRESHOLDS = "words.npz", "trees.npz", "thresholds.json"
NEIGHBOURS = (-2, -1, 1, 2)
KINDS = ("", "introduction", "related work", "methods", "results", "discussion", "other")
"""Kinds of sections; the first is one that nobody has named."""
_FEWEST_WORDS = 5
LONGEST = 2000
"""Characters of a sentence that are read: what is longer is none."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_WORDS = re.compile(r"[^\W\d_]{4,}|[^\W\d_]{2,} [^\W\d_]{4,}|[^\W\d_]{4,} [^\W\d_]{2,}")
"""Those that tell a person something."""
_SECTIONS = (
    ("related work", re.compile(r"related|previous work|prior work|literature|state of the art", re.IGNORECASE)),
    ("introduction", re.compile(r"introduc|background|motivation", re.IGNORECASE)),
    ("methods", re.compile(r"method|procedure|material|experimental set", re.IGNORECASE)),
    ("results", re.compile(r"result|experiment|evaluation|finding", re.IGNORECASE)),
    ("discussion", re.compile(r"discussion|conclu|outlook|limitation", re.IGNORECASE)),
)
_COUNTED = {
    "figures": re.compile(r"\b(?:figs?|figures?|tables?|supplement\w*|equations?|eqs?|sections?)\b", re.IGNORECASE),
    "ourselves": re.compile(r"\b(?:we|our|ours|us|here|this (?:paper|study|work|section|article))\b", re.IGNORECASE),
    "numbers": re.compile(r"\d+"),
    "names": re.compile(r"\b[A-Z]\w*[A-Z0-9]"),
    "past": re.compile(r"[a-z]{2}ed\b"),
    "commas": re.compile(r","),
    "brackets": re.compile(r"[(\[]"),
}
_OF_NEIGHBOURS = ("figures", "ourselves")
FEATURES = (
    "words",
    *(f"words {at:+}" for at in NEIGHBOURS),
    *(f"{name} {at:+}" for name in _OF_NEIGHBOURS for at in (-1, 1)),
    "section",
    "length",
    *_COUNTED,
)
"""What the trees go by."""

Floats = npt.NDArray[np.float64]


class Passage(NamedTuple):
    """Sentences in a row, citations as `OTHER_MARK`, and the heading that they stand under."""

    sentences: Sequence[str]
    section: str = ""


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scores from which on a sentence counts as one that calls for a citation."""

    even: float
    """Where precision and recall of the dev years are best together (F1)."""
    sure: float
    """Where the recipe's precision is reached on the dev years."""


def judged(sentence: str) -> bool:
    """Whether something can be said of it: a whole sentence, in which no citation is a word that the others need."""
    if len(sentence) > LONGEST:
        return False
    words = remove_citations(sentence)
    whole = words.count("(") == words.count(")") and words.count("[") == words.count("]")
    return (
        whole
        and len(words.split()) >= _FEWEST_WORDS
        and not has_integral_citation(sentence)
        and len(split_sentences(words)) == 1
    )


def kind_of(section: str) -> str:
    """The kind of section that a heading announces."""
    if not section.strip():
        return ""
    return next((kind for kind, pattern in _SECTIONS if pattern.search(section)), "other")


def terms(sentence: str, kind: str) -> Iterator[str]:
    """The words and pairs of words of a sentence without citations, some of them more than once."""
    words = ["^", *("0" if word.isdigit() else word for word in _TOKEN.findall(sentence.lower())), "$"]
    for word in words:
        yield word
        yield f"{kind}:{word}"
    for first, second in pairwise(words):
        yield f"{first} {second}"


def places(sentence: str, kind: str, size: int) -> npt.NDArray[np.int32]:
    """Where in a table of `size` weights those of a sentence's words lie."""
    found = {crc32(term.encode()) % size for term in terms(sentence, kind)}
    return np.fromiter(found, np.int32, len(found))


def table(said: Sequence[str], summed: Floats, kind: str) -> Floats:
    """What the trees go by: a row for each sentence of a passage, `said` without citations, `summed` by their words."""
    counts = {name: np.array([len(pattern.findall(each)) for each in said], float) for name, pattern in _COUNTED.items()}
    columns = [
        summed,
        *(_shifted(summed, at) for at in NEIGHBOURS),
        *(_shifted(counts[name], at) for name in _OF_NEIGHBOURS for at in (-1, 1)),
        np.full(len(said), float(KINDS.index(kind))),
        np.array([len(each.split()) for each in said], float),
        *counts.values(),
    ]
    return np.column_stack(columns)


def _shifted(values: Floats, by: int) -> Floats:
    """The value of the sentence so many places on; missing behind the last and before the first."""
    found = np.full(len(values), np.nan)
    if by < 0:
        found[-by:] = values[:by]
    else:
        found[:-by] = values[by:]
    return found


class Claims:
    """The model, loaded when it is first used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _words(self) -> tuple[Floats, float]:
        """The weight of each word, and what is added to every sum."""
        with np.load(self._folder / WORDS, allow_pickle=False) as found:
            return unpacked(found["codes"], float(found["scale"])), float(found["bias"])

    @cached_property
    def _trees(self) -> Trees:
        return Trees.load(self._folder / TREES)

    @cached_property
    def thresholds(self) -> Thresholds:
        return msgspec.json.decode((self._folder / THRESHOLDS).read_bytes(), type=Thresholds)

    def scores(self, passages: Sequence[Passage]) -> list[Floats]:
        """Of each sentence how likely it calls for a citation, as the sentences go that it learned from."""
        rows = [self._rows(passage) for passage in passages]
        if not rows:
            return []
        sums = self._trees.scores(np.concatenate(rows))
        return np.split(1 / (1 + np.exp(-sums)), np.cumsum([len(each) for each in rows])[:-1])

    def telling(self, sentence: str, section: str = "", most: int = 3) -> list[str]:
        """The words and pairs of words that speak most for a citation."""
        table, _ = self._words
        kind = kind_of(section)
        found = {term: table[crc32(term.encode()) % len(table)] for term in terms(remove_citations(sentence[:LONGEST]), kind)}
        best = sorted(found, key=lambda term: -found[term])
        return [term for term in best if found[term] > 0 and _WORDS.fullmatch(term)][:most]

    def _rows(self, passage: Passage) -> Floats:
        weights, bias = self._words
        kind = kind_of(passage.section)
        said = [remove_citations(sentence[:LONGEST]) for sentence in passage.sentences]
        return table(said, np.array([summed(each, kind, weights, bias) for each in said]), kind)


def summed(sentence: str, kind: str, weights: Floats, bias: float) -> float:
    """The sum of a sentence's weights: that of its words, divided by the root of how many there are."""
    at = places(sentence, kind, len(weights))
    return float(weights[at].sum() / np.sqrt(max(1, len(at))) + bias)


def packed(weights: Floats) -> tuple[npt.NDArray[np.int8], float]:
    """Weights in 8 bits: small ones, of which there are most, are told apart better than large ones."""
    scale = float(np.abs(weights).max(initial=1e-9))
    return np.round(np.sign(weights) * np.sqrt(np.abs(weights) / scale) * 127).astype(np.int8), scale


def unpacked(codes: npt.NDArray[np.int8], scale: float) -> Floats:
    """The weights that were packed."""
    part = codes.astype(np.float64) / 127
    found: Floats = np.sign(part) * part**2 * scale
    return found


def load(name: str = NAME) -> Claims:
    """The model that ships, or the one by this name in ``$CITEWELL_MODELS``."""
    return _loaded(str(weights.folder(name)), weights.version(name))


@lru_cache(maxsize=2)
def _loaded(folder: str, version: str) -> Claims:
    for name in (WORDS, TREES, THRESHOLDS):
        if not (Path(folder) / name).is_file():
            raise CitewellError(f"{folder} has no {name}; make the model with: citewell train claims --set DIR --out {folder}")
    return Claims(Path(folder))
