"""Re-ranking by what was said before: a paper is wanted where others have cited it in words like those round the gap.

Of each paper the contexts that cite it are held against the query one by one, where BM25 on cited contexts takes all of them
for one text: a paper that is cited for ten things need only be wanted for one. A context says a word of the query the better
the nearer the word stands to the citation, there as in the query, and the more rare it is. The best context counts most, each
further one `fade` times as much as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.index.collection_stats import CollectionStats
from citewell.papers import TARGET_MARK
from citewell.ranking.query_terms import nearness, query_terms
from citewell.ranking.request import Request
from citewell.rerank.base import Numbers, Rereads, Scores
from citewell.text.analysis import Vocabulary

_FIELD = "own+cited"
"""How rare a word is, is counted there."""
_MOST_WORDS = 1_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SaidBefore(Rereads):
    """The stage; its parameters are those of ``pipelines.toml``."""

    depth: int = 200
    """So many of the best are looked at; the others keep their order behind them."""
    latest: int = 30
    """Of a paper that is cited more often only so many contexts, the last ones added, are looked at."""
    fade: float = 0.5

    said: ClassVar[str] = "cited before in words like these:"

    def __post_init__(self) -> None:
        if not (self.depth >= 1 and self.latest >= 1 and 0 <= self.fade <= 1):
            raise CitewellError("'context-similarity' needs depth and latest of at least 1, and a fade from 0 to 1")

    def read(self, request: Request, papers: Numbers) -> Scores:
        contexts = request.library.store.cited_contexts(papers.tolist(), self.latest)
        own = set(request.excluded.tolist())
        found = [(cited, text) for cited, citing, text in contexts if citing not in own]
        if not found:
            return np.zeros(len(papers), np.float32)
        cited = np.array([num for num, _ in found], np.int64)
        shares = _said([text for _, text in found], _worths(request))
        order = np.lexsort((-shares, cited))
        cited, shares = cited[order], shares[order]
        place = np.arange(len(cited)) - np.searchsorted(cited, cited)
        totals = np.bincount(np.searchsorted(numbers := np.unique(cited), cited), weights=shares * self.fade**place)
        known = dict(zip(numbers.tolist(), totals.tolist(), strict=True))
        return np.array([known.get(num, 0.0) for num in papers.tolist()], np.float32)


def _worths(request: Request) -> dict[bytes, float]:
    """The words of the query and what each is worth, as shares of one."""
    asked = query_terms(request, "near", 0)
    hashes = np.array(sorted(asked), np.int64)
    visible = CollectionStats(request.library.index, request.excluded)
    texts, _ = visible.totals(_FIELD)
    holding = visible.document_frequencies(_FIELD, visible.places(_FIELD, hashes), len(hashes))
    worths = np.log(1 + (texts - holding + 0.5) / (holding + 0.5)) * [asked[term][1] for term in hashes.tolist()]
    worths = worths / max(worths.sum(), 1e-9)
    return {asked[term][0].encode(): worth for term, worth in zip(hashes.tolist(), worths.tolist(), strict=True)}


class _Words:
    """Words that were seen, by number; those of later requests are mostly the same."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._lock = Lock()

    def numbers(self, texts: Sequence[str], worths: dict[bytes, float]) -> tuple[Numbers, Numbers, Floats]:
        """The words of all texts one after the other, how many each has, and what each number is worth."""
        with self._lock:
            if len(self._vocabulary) > _MOST_WORDS:
                self._vocabulary = Vocabulary()
            words, lengths = self._vocabulary.numbers(texts)
            asked = [self._vocabulary.number(word) for word in worths]
            worth = np.zeros(len(self._vocabulary.hashes))
        worth[asked] = list(worths.values())
        return words.astype(np.int64), lengths.astype(np.int64), worth


_words = _Words()


def _said(contexts: Sequence[str], worths: dict[bytes, float]) -> Floats:
    """How much of what the query says each context says too."""
    halves = [half for text in contexts for half in text.partition(TARGET_MARK)[::2]]
    words, lengths, worth = _words.numbers(halves, worths)
    owners = np.repeat(np.arange(len(contexts)), lengths[::2] + lengths[1::2])
    gaps = np.cumsum(lengths)[::2]
    here = np.flatnonzero(worth[words] > 0)
    words, owners = words[here], owners[here]
    said = worth[words] * nearness(here - gaps[owners])
    # A word counts once in a context, where it stands nearest.
    order = np.lexsort((-said, words, owners))
    words, owners, said = words[order], owners[order], said[order]
    first = np.append(True, (words[1:] != words[:-1]) | (owners[1:] != owners[:-1]))[: len(words)]
    return np.bincount(owners[first], weights=said[first], minlength=len(contexts)).astype(np.float64)
