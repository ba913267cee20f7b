"""Citation-worthiness: which sentences need a citation, from their words and their neighbours.

The first part is linear: a weight for each word, each word pair, and each word in its kind of section, in a hashed table. The
second part, a few gradient-boosted trees, corrects that sum with the sums of the neighbouring sentences, the section, and plain
counts. Citations are removed from every sentence first (`citewell.text.citation_removal`). The model does not see the position
of a sentence in its paragraph, nor whether its neighbours cite: in the training data every paragraph cites but never in its
first sentence, and the model would learn nothing else.
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
from citewell.models.hashed_terms import load_terms
from citewell.models.trees import Trees
from citewell.text.citation_removal import has_integral_citation, remove_citations
from citewell.text.sentences import split_sentences
from citewell.types import Float64Array

NAME = "claims"
WORDS, TREES, THRESHOLDS = "words.npz", "trees.npz", "thresholds.json"
NEIGHBOURS = (-2, -1, 1, 2)
KINDS = ("", "introduction", "related work", "methods", "results", "discussion", "other")
"""Kinds of sections; the first stands for an unknown section."""
_MIN_WORDS = 5
MAX_CHARACTERS = 2000
"""Longer strings are not sentences, and are cut to this length."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_READABLE = re.compile(r"[^\W\d_]{4,}|[^\W\d_]{2,} [^\W\d_]{4,}|[^\W\d_]{4,} [^\W\d_]{2,}")
"""Terms worth showing to a person."""
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
_NEIGHBOUR_COUNTS = ("figures", "ourselves")
FEATURES = (
    "words",
    *(f"words {at:+}" for at in NEIGHBOURS),
    *(f"{name} {at:+}" for name in _NEIGHBOUR_COUNTS for at in (-1, 1)),
    "section",
    "length",
    *_COUNTED,
)
"""The features of the trees."""


class SentenceBlock(NamedTuple):
    """Consecutive sentences, with citations as `OTHER_MARK`, and the heading above them."""

    sentences: Sequence[str]
    section: str = ""


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"best_f1": "even", "high_precision": "sure"}):
    """Minimum scores at which a sentence counts as one that needs a citation."""

    best_f1: float
    """The threshold with the best F1 on the dev years."""
    high_precision: float
    """The threshold that reaches the recipe's precision on the dev years."""


def scorable(sentence: str) -> bool:
    """Whether the model can score a sentence: it is complete, and no citation is part of its grammar."""
    if len(sentence) > MAX_CHARACTERS:
        return False
    words = remove_citations(sentence)
    whole = words.count("(") == words.count(")") and words.count("[") == words.count("]")
    return (
        whole and len(words.split()) >= _MIN_WORDS and not has_integral_citation(sentence) and len(split_sentences(words)) == 1
    )


def section_kind(section: str) -> str:
    """The kind of section, from its heading."""
    if not section.strip():
        return ""
    return next((kind for kind, pattern in _SECTIONS if pattern.search(section)), "other")


def terms(sentence: str, kind: str) -> Iterator[str]:
    """The words and word pairs of a sentence without citations; some occur more than once."""
    words = ["^", *("0" if word.isdigit() else word for word in _TOKEN.findall(sentence.lower())), "$"]
    for word in words:
        yield word
        yield f"{kind}:{word}"
    for first, second in pairwise(words):
        yield f"{first} {second}"


def buckets(sentence: str, kind: str, size: int) -> npt.NDArray[np.int32]:
    """The positions of a sentence's terms in a table of `size` weights."""
    hashed = {crc32(term.encode()) % size for term in terms(sentence, kind)}
    return np.fromiter(hashed, np.int32, len(hashed))


def feature_table(sentences: Sequence[str], word_sums: Float64Array, kind: str) -> Float64Array:
    """The features of the trees: one row per sentence (without citations) of a paragraph; `word_sums` are the linear scores."""
    counts = {
        name: np.array([len(pattern.findall(sentence)) for sentence in sentences], float) for name, pattern in _COUNTED.items()
    }
    columns = [
        word_sums,
        *(_shift(word_sums, at) for at in NEIGHBOURS),
        *(_shift(counts[name], at) for name in _NEIGHBOUR_COUNTS for at in (-1, 1)),
        np.full(len(sentences), float(KINDS.index(kind))),
        np.array([len(sentence.split()) for sentence in sentences], float),
        *counts.values(),
    ]
    return np.column_stack(columns)


def _shift(values: Float64Array, by: int) -> Float64Array:
    """The value of the sentence `by` positions further on; NaN beyond either end."""
    shifted = np.full(len(values), np.nan)
    if by < 0:
        shifted[-by:] = values[:by]
    else:
        shifted[:-by] = values[by:]
    return shifted


class Claims:
    """The model; loaded on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _words(self) -> tuple[Float64Array, float]:
        return load_terms(self._folder / WORDS)

    @cached_property
    def _trees(self) -> Trees:
        return Trees.load(self._folder / TREES)

    @cached_property
    def thresholds(self) -> Thresholds:
        return msgspec.json.decode((self._folder / THRESHOLDS).read_bytes(), type=Thresholds)

    def scores(self, paragraphs: Sequence[SentenceBlock]) -> list[Float64Array]:
        """The probability that each sentence needs a citation, calibrated to the training paragraphs."""
        rows = [self._rows(paragraph) for paragraph in paragraphs]
        if not rows:
            return []
        sums = self._trees.scores(np.concatenate(rows))
        return np.split(1 / (1 + np.exp(-sums)), np.cumsum([len(each) for each in rows])[:-1])

    def top_terms(self, sentence: str, section: str = "", limit: int = 3) -> list[str]:
        """The words and word pairs that most suggest a citation."""
        table, _ = self._words
        kind = section_kind(section)
        all_terms = terms(remove_citations(sentence[:MAX_CHARACTERS]), kind)
        weight_of = {term: table[crc32(term.encode()) % len(table)] for term in all_terms}
        best = sorted(weight_of, key=lambda term: -weight_of[term])
        return [term for term in best if weight_of[term] > 0 and _READABLE.fullmatch(term)][:limit]

    def _rows(self, paragraph: SentenceBlock) -> Float64Array:
        weights, bias = self._words
        kind = section_kind(paragraph.section)
        sentences = [remove_citations(sentence[:MAX_CHARACTERS]) for sentence in paragraph.sentences]
        return feature_table(sentences, np.array([word_sum(sentence, kind, weights, bias) for sentence in sentences]), kind)


def word_sum(sentence: str, kind: str, weights: Float64Array, bias: float) -> float:
    """The linear score of a sentence: the sum of its term weights over the square root of their number, plus the bias."""
    at = buckets(sentence, kind, len(weights))
    return float(weights[at].sum() / np.sqrt(max(1, len(at))) + bias)


def load(name: str = NAME) -> Claims:
    """The model that ships, or the one with this name in ``$CITEWELL_MODELS``."""
    return _loaded(str(weights.folder(name)), weights.fingerprint(name))


@lru_cache(maxsize=2)
def _loaded(folder: str, fingerprint: str) -> Claims:
    for name in (WORDS, TREES, THRESHOLDS):
        if not (Path(folder) / name).is_file():
            raise CitewellError(f"{folder} has no {name}; train the model with: citewell train claims --set DIR --out {folder}")
    return Claims(Path(folder))
