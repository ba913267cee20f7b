"""A library on this machine as a collection: what stages ask, answered from its index, vectors and store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from citewell.collection.interface import (
    BM25Query,
    CitationContext,
    FieldStatistics,
    Filters,
    SentenceEmbeddings,
    VectorSet,
)
from citewell.library.index import bm25
from citewell.library.index.bm25 import BlockScores, FieldQuery
from citewell.library.index.collection_stats import CollectionStats
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.library.library import Library
from citewell.library.vectors.texts import CONTEXTS, paper_texts
from citewell.models.inputs import PaperText
from citewell.papers import Paper, Ranking, Sentence
from citewell.types import Array, Float32Array, Float64Array, IntArray, Mask, PaperNumbers

if TYPE_CHECKING:
    from citewell.library.vectors.search import VectorSearch

_REMEMBERED = 8
"""How many BM25 queries keep their scores, so that a query's top k and its scores of given papers are computed once."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class LocalCollection:
    """The papers of one library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._scores: OrderedDict[tuple[object, ...], BlockScores] = OrderedDict()
        self._looked_up: OrderedDict[tuple[object, ...], list[FieldQuery]] = OrderedDict()
        self._masks: dict[tuple[Filters, int], Mask] = {}

    @property
    def name(self) -> str:
        return str(self.library.folder)

    @property
    def languages(self) -> tuple[str, ...]:
        return self.library.index.languages

    # -- statistics -------------------------------------------------------------------------------------------------

    def field_statistics(self, field: str, hidden: Sequence[int] = ()) -> FieldStatistics:
        return FieldStatistics(*CollectionStats(self.library.index, hidden).totals(field))

    def document_frequencies(self, field: str, terms: IntArray, hidden: Sequence[int] = ()) -> IntArray:
        stats = CollectionStats(self.library.index, hidden)
        return stats.document_frequencies(field, stats.places(field, terms), len(terms))

    def collection_frequencies(self, field: str, terms: IntArray, hidden: Sequence[int] = ()) -> IntArray:
        return CollectionStats(self.library.index, hidden).occurrences(field, terms)

    # -- BM25 -------------------------------------------------------------------------------------------------------

    def bm25_top_k(self, query: BM25Query, k: int, filters: Filters) -> Ranking:
        mask_of = (lambda block: None) if filters.pass_all else partial(self._mask, filters)
        return Ranking(*bm25.top_k(self._block_scores(query), k, mask_of))

    def bm25_scores(self, query: BM25Query, papers: PaperNumbers) -> Float32Array:
        return bm25.scores_of(self._block_scores(query), papers)

    def bm25_contributions(self, query: BM25Query, papers: PaperNumbers) -> Float64Array:
        fields = self._look_up(query)
        return bm25.term_shares(self.library.index, fields, query.k1, query.b, papers, len(query.terms))

    def _block_scores(self, query: BM25Query) -> BlockScores:
        """The score of every paper."""

        def compute() -> BlockScores:
            return bm25.score(self.library.index, self._look_up(query), query.k1, query.b)

        return _remembered(self._scores, query.key, compute)

    def _look_up(self, query: BM25Query) -> list[FieldQuery]:
        """The query's terms in every field that it scores."""

        def compute() -> list[FieldQuery]:
            return bm25.prepare(self.library.index, dict(query.fields), query.terms, query.weights, query.hidden, query.words)

        return _remembered(self._looked_up, query.key, compute)

    # -- vectors ----------------------------------------------------------------------------------------------------

    def has_vectors(self, vectors: VectorSet) -> bool:
        return self._vectors(vectors) is not None

    def nearest(self, vectors: VectorSet, query: Float32Array, k: int, filters: Filters) -> Ranking:
        search = self._vectors(vectors)
        if search is None:
            return Ranking.empty()
        return Ranking(*search.nearest(query, k, lambda papers: self.passes(papers, filters)))

    def cosines(self, vectors: VectorSet, query: Float32Array, papers: PaperNumbers) -> Float32Array:
        search = self._vectors(vectors)
        return np.full(len(papers), np.nan, np.float32) if search is None else search.cosines(query, papers)

    def sentence_cosines(self, encoder: str, query: Float32Array, papers: PaperNumbers) -> tuple[Float32Array, IntArray]:
        search = self._vectors(VectorSet(encoder, "sentences"))
        if search is None:
            return np.zeros(0, np.float32), np.zeros(len(papers), np.int64)
        return search.all_cosines(query, papers)

    def sentence_embeddings(self, model: str) -> SentenceEmbeddings | None:
        from citewell.library.vectors.sentences import open_vectors

        vectors = open_vectors(self.library, model)
        return None if vectors is None else SentenceEmbeddings(vectors.papers, vectors.vectors)

    def nearest_sentences(self, model: str, queries: Float32Array, count: int) -> IntArray | None:
        from citewell.library.vectors.sentence_index import open_index

        index = open_index(self.library, model)
        return None if index is None else index.search(queries, count)

    def trained_model(self, name: str) -> dict[str, Array]:
        from citewell.library.trained_models import load_model

        return load_model(self.library, name)

    def _vectors(self, vectors: VectorSet) -> VectorSearch | None:
        from citewell.library.vectors.search import open_vectors  # only what a pipeline needs is loaded: a cold start is short

        return open_vectors(self.library, vectors.encoder, vectors.text)

    # -- citations --------------------------------------------------------------------------------------------------

    def neighbours(self, direction: str, papers: PaperNumbers) -> tuple[PaperNumbers, IntArray]:
        return self.library.index.graph.neighbours(direction, papers)

    def degrees(self, direction: str, papers: PaperNumbers) -> IntArray:
        return self.library.index.graph.degrees(direction, papers)

    # -- records ----------------------------------------------------------------------------------------------------

    def numbers(self, names: Sequence[str]) -> PaperNumbers:
        numbers = (self.library.store.find(name) for name in names)
        return np.array([number for number in numbers if number is not None], np.int64)

    def records(self, papers: PaperNumbers | Sequence[int]) -> dict[int, Paper]:
        return self.library.store.papers(_listed(papers))

    def texts(self, text: str, papers: PaperNumbers, contexts: int | None = None) -> dict[int, PaperText]:
        return dict(paper_texts(self.library, text, papers.tolist(), CONTEXTS if contexts is None else contexts))

    def contexts(self, papers: PaperNumbers, latest: int) -> list[CitationContext]:
        return [CitationContext(*row) for row in self.library.store.cited_contexts(papers.tolist(), latest)]

    def sentences(self, papers: PaperNumbers | Sequence[int]) -> dict[int, list[Sentence]]:
        return self.library.store.quotable(_listed(papers))

    def years(self, papers: PaperNumbers) -> IntArray:
        years = np.zeros(len(papers), np.int64)
        for block in np.unique(papers >> BLOCK_BITS).tolist():
            here = papers >> BLOCK_BITS == block
            years[here] = self.library.index.dates(block)[papers[here] & (BLOCK - 1)] // 10_000
        return years

    def newest_year(self) -> int:
        return self._newest_year

    @cached_property
    def _newest_year(self) -> int:
        index = self.library.index
        return max((int(index.dates(block).max()) // 10_000 for block in index.blocks), default=0)

    def contains(self, papers: PaperNumbers) -> Mask:
        return np.isin(papers, self._live)

    @cached_property
    def _live(self) -> PaperNumbers:
        return self.library.index.listed("own")

    def passes(self, papers: PaperNumbers, filters: Filters) -> Mask:
        passing = np.ones(len(papers), bool)
        if filters.pass_all:
            return passing
        for block in np.unique(papers >> BLOCK_BITS).tolist():
            here = papers >> BLOCK_BITS == block
            passing[here] = self._mask(filters, block)[papers[here] & (BLOCK - 1)]
        return passing

    def _mask(self, filters: Filters, block: int) -> Mask:
        """Which numbers of a block pass the filters."""
        if (known := self._masks.get((filters, block))) is not None:
            return known
        mask = np.ones(BLOCK, bool)
        if filters.since is not None or filters.before is not None:
            years = self.library.index.dates(block) // 10_000
            mask &= years >= max(1, filters.since or 1)
            if filters.before is not None:
                mask &= years < filters.before
        if filters.venue:
            at_venue = self._at_venue(filters.venue)
            mask &= np.isin(np.arange(BLOCK), at_venue[at_venue >> BLOCK_BITS == block] & (BLOCK - 1))
        excluded = np.array(filters.exclude, np.int64)
        mask[excluded[excluded >> BLOCK_BITS == block] & (BLOCK - 1)] = False
        self._masks[filters, block] = mask
        return mask

    def _at_venue(self, venue: str) -> PaperNumbers:
        if venue not in self._venues:
            self._venues[venue] = self.library.store.venue(venue)
        return self._venues[venue]

    @cached_property
    def _venues(self) -> dict[str, PaperNumbers]:
        return {}


def _remembered(memory: OrderedDict[Key, Value], key: Key, compute: Callable[[], Value]) -> Value:
    """The value of a key, from memory or computed; the oldest of too many is forgotten."""
    if key not in memory:
        memory[key] = compute()
        if len(memory) > _REMEMBERED:
            memory.popitem(last=False)
    return memory[key]


def _listed(papers: PaperNumbers | Sequence[int]) -> list[int]:
    return papers.tolist() if isinstance(papers, np.ndarray) else list(papers)
