"""Re-ranking by context similarity: how similar the gap is to the contexts in which others cite a paper.

Each citing context is compared with the query on its own, where BM25 on cited contexts takes all of them for one text: a paper
that is cited for ten reasons need only match one. A shared word counts more the nearer it is to the citation, in the context as
in the query, and the rarer it is. The best context counts most, each further one `decay` times as much as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import TARGET_MARK, Ranking, Reason
from citewell.pipeline.contract import Explanations
from citewell.ranking.query_terms import proximity, query_terms, term_weights
from citewell.ranking.request import Request
from citewell.rerank.base import TopReranker
from citewell.text.analysis import Vocabulary
from citewell.types import Float32Array, Float64Array, IntArray, PaperNumbers

_FIELD = "own+cited"
"""The field whose document frequencies say how rare a word is."""
_MOST_WORDS = 1_000_000


@dataclass(frozen=True)
class ContextSimilarity(TopReranker):
    """Scores the top papers by the contexts that cite them."""

    depth: int = 200
    """How many of the top papers it scores; the others keep their order behind them."""
    latest: int = 30
    """How many contexts of a paper are compared, the last ones added."""
    decay: float = 0.5
    """How much each further context counts, relative to the one before."""

    label: ClassVar[str] = "Context similarity"

    def __post_init__(self) -> None:
        if not (self.depth >= 1 and self.latest >= 1 and 0 <= self.decay <= 1):
            raise CitewellError(
                "context-similarity needs a depth and a number of contexts of 1 or more, and a decay from 0 to 1."
            )

    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """NaN for papers that no context cites in words of the query."""
        own = set(request.hidden.tolist())
        contexts = [context for context in request.collection.contexts(papers, self.latest) if context.citing not in own]
        if not contexts:
            return np.full(len(papers), np.nan, np.float32)
        cited = np.array([context.cited for context in contexts], np.int64)
        texts = [context.text for context in contexts]
        shares = _similarities(texts, _word_weights(request), [request.text_language(text) for text in texts])
        order = np.lexsort((-shares, cited))
        cited, shares = cited[order], shares[order]
        place = np.arange(len(cited)) - np.searchsorted(cited, cited)
        numbers = np.unique(cited)
        totals = np.bincount(np.searchsorted(numbers, cited), weights=shares * self.decay**place)
        scores = dict(zip(numbers.tolist(), totals.tolist(), strict=True))
        return np.array([scores.get(number) or np.nan for number in papers.tolist()], np.float32)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        reasons = super().explain(request, ranking, papers)
        similar = Reason("contexts", "Other papers cite it in words like yours.")
        return {number: [similar, *details] for number, details in reasons.items()}


def _word_weights(request: Request) -> dict[int, float]:
    """The terms of the query and their weights, which sum to 1."""
    terms = query_terms(request, "proximity")
    weights = term_weights(request, _FIELD, terms)
    by_word = {terms[term][0]: weight for term, weight in weights.items()}
    total = max(np.array(list(by_word.values())).sum(), 1e-9)
    return {term: weight / total for term, weight in weights.items()}


class _Words:
    """Numbers of words; later requests mostly have the same words."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._lock = Lock()

    def numbers(
        self, texts: Sequence[str], weights: dict[int, float], languages: Sequence[str]
    ) -> tuple[IntArray, IntArray, Float64Array]:
        """The words of all texts one after the other, how many each text has, and the weight of each number."""
        with self._lock:
            if len(self._vocabulary) > _MOST_WORDS:
                self._vocabulary = Vocabulary()
            words, lengths = self._vocabulary.numbers(texts, languages)
            of_query = [self._vocabulary.number_of(term) for term in weights]
            by_number = np.zeros(len(self._vocabulary.hashes))
        by_number[of_query] = list(weights.values())
        by_number[0] = 0.0  # terms that no text has
        return words.astype(np.int64), lengths.astype(np.int64), by_number


_words = _Words()


def _similarities(contexts: Sequence[str], weights: dict[int, float], languages: Sequence[str]) -> Float64Array:
    """How much of the query's words each context has, by weight and by distance from its citation."""
    halves = [half for text in contexts for half in text.partition(TARGET_MARK)[::2]]
    words, lengths, by_number = _words.numbers(halves, weights, [each for each in languages for _ in "ab"])
    owners = np.repeat(np.arange(len(contexts)), lengths[::2] + lengths[1::2])
    gaps = np.cumsum(lengths)[::2]
    here = np.flatnonzero(by_number[words] > 0)
    words, owners = words[here], owners[here]
    shares = by_number[words] * proximity(here - gaps[owners])
    # A word counts once in a context, where it is nearest to the citation.
    order = np.lexsort((-shares, words, owners))
    words, owners, shares = words[order], owners[order], shares[order]
    first = np.append(True, (words[1:] != words[:-1]) | (owners[1:] != owners[:-1]))[: len(words)]
    return np.bincount(owners[first], weights=shares[first], minlength=len(contexts)).astype(np.float64)
