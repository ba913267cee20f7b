"""Transition sentences: which sentences can open a paragraph by introducing its topic or by leading over to a new one.

In Medić's thesis a paragraph is a query if its first sentence has this role, as annotated in CORWA or found by CORWA's
classifier. The model here is a logistic regression over hashed terms: words, word pairs, and a few marks for what a sentence
speaks of (`marks`). It does not see where a sentence is, because it is only asked about first sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.hashed_terms import load_terms
from citewell.text.citation_removal import remove_citations
from citewell.types import Float64Array, Mask

NAME = "transitions"
WORDS, THRESHOLD = "words.npz", "threshold.json"
_MAX_CHARACTERS = 2000
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_OWN_WORK = re.compile(
    r"\b(?:we|our|ours|us|(?:this|the present|the current) (?:paper|study|work|section|article|chapter))\b", re.I
)
_RELATION = re.compile(
    r"\b(?:related|relates?|similar|closest?|inspired|builds?|built|drawn?|draws|motivated|comparable|connect(?:ed|ions?))\b"
    r" (?:\w+ ){0,3}?(?:to|by|on|upon|from|with)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\b(?:figs?|figures?|tables?|equations?|eqs?|algorithms?|FORMULA)\b[. ]", re.IGNORECASE)
_WHOLE = re.compile(
    r"(?![^(\[]*[)\]])[\"'\u201c\u2018(\[]*(?:[^\W\d_a-z]|[a-z]{1,5}-?[A-Z0-9]).*[.?!:][\"'\u201d\u2019)\]]*", re.DOTALL
)
_MIN_WORDS = 5


class Threshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The minimum score of a transition sentence."""

    score: float


def is_whole(sentence: str) -> bool:
    """Whether this can be a whole sentence; in texts read from PDF a paragraph may begin in the middle of one."""
    return len(sentence.split()) >= _MIN_WORDS and bool(_WHOLE.fullmatch(sentence.strip()))


def is_of_own_work(sentence: str) -> bool:
    """Whether the sentence speaks of the authors' work, except to relate it to that of others."""
    return bool(_OWN_WORK.search(sentence)) and not _RELATION.search(sentence)


def names_figure(sentence: str) -> bool:
    """Whether the sentence refers to a figure, a table or a formula."""
    return bool(_FIGURE.search(sentence))


def follows_rules(sentence: str) -> bool:
    """Whether a sentence is whole, names no figure, and does not speak of the authors' work except to relate it to others."""
    return is_whole(sentence) and not is_of_own_work(sentence) and not names_figure(sentence)


def marks(sentence: str) -> Iterator[str]:
    """What a sentence speaks of, and whether it is whole, as terms."""
    if is_of_own_work(sentence):
        yield "<own work>"
    if _RELATION.search(sentence):
        yield "<relation>"
    if names_figure(sentence):
        yield "<figure>"
    if not is_whole(sentence):
        yield "<part>"
    yield f"<length {min(6, len(sentence.split()) // 8)}>"


def buckets(sentence: str, size: int) -> npt.NDArray[np.int32]:
    """The positions of a sentence's terms in a table of `size` weights; citations are removed first."""
    plain = remove_citations(sentence[:_MAX_CHARACTERS])
    words = ["^", *("0" if word.isdigit() else word for word in _TOKEN.findall(plain.lower())), "$"]
    terms = {*words[1:-1], *(f"{first} {second}" for first, second in pairwise(words)), *marks(plain)}
    hashed = sorted({crc32(term.encode()) % size for term in terms})
    return np.array(hashed, np.int32)


class Transitions:
    """The model; loaded on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _words(self) -> tuple[Float64Array, float]:
        return load_terms(self._folder / WORDS)

    @cached_property
    def threshold(self) -> float:
        return msgspec.json.decode((self._folder / THRESHOLD).read_bytes(), type=Threshold).score

    def scores(self, sentences: Sequence[str]) -> Float64Array:
        """The probability that each sentence is a transition sentence, calibrated to the training sentences."""
        table, bias = self._words
        at = [buckets(sentence, len(table)) for sentence in sentences]
        sums = np.array([table[each].sum() / np.sqrt(max(1, len(each))) + bias for each in at])
        probabilities: Float64Array = 1 / (1 + np.exp(-sums))
        return probabilities

    def are_transitions(self, sentences: Sequence[str]) -> Mask:
        """Whether each sentence is a transition sentence: it follows the rules, and its score reaches the threshold."""
        allowed = np.array([follows_rules(sentence) for sentence in sentences], bool)
        selected: Mask = (self.scores(sentences) >= self.threshold) & allowed
        return selected


def load(name: str = NAME) -> Transitions:
    """The model that ships, or the one with this name in ``$CITEWELL_MODELS``."""
    return _loaded(str(weights.folder(name)), weights.fingerprint(name))


@lru_cache(maxsize=2)
def _loaded(folder: str, fingerprint: str) -> Transitions:
    for name in (WORDS, THRESHOLD):
        if not (Path(folder) / name).is_file():
            raise CitewellError(
                f"{folder} has no {name}; train the model with: citewell train transitions --set DIR --out {folder}"
            )
    return Transitions(Path(folder))
