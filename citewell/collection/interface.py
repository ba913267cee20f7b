"""What stages may ask of a collection of papers.

Stages see papers by number and terms by hash, and get arrays back. They know nothing of index blocks, segments or SQLite, so
one folder (`citewell.collection.local`) or many machines can answer the same calls. Every call is a batch, and filters travel
as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from citewell.models.inputs import PaperText
from citewell.papers import Paper, Ranking, Sentence
from citewell.types import Array, Float32Array, Float64Array, IntArray, Mask, PaperNumbers

FIELDS = ("own", "cited", "citing", "own+cited", "own+citing", "authors")
"""The indexed texts of a paper: title, abstract and full text (``own``); the contexts that cite it (``cited``); the contexts in
which it cites others (``citing``); two of them as one text; the names of its authors."""
TEXT_LABELS = {
    "own": "title and abstract",
    "cited": "citing sentences",
    "citing": "sentences that cite others",
    "own+cited": "title, abstract and citing sentences",
    "own+citing": "title, abstract and sentences that cite others",
    "sentences": "one per sentence",
}
"""The texts that vectors are computed from, in plain words for messages."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which papers may be returned."""

    since: int | None = None
    """Only papers of this year or later."""
    before: int | None = None
    """Only papers from before this year."""
    venue: str = ""
    """Only papers whose venue contains this."""
    exclude: tuple[int, ...] = ()
    """Numbers of papers that must not be returned."""

    @property
    def pass_all(self) -> bool:
        """Whether every paper passes."""
        return self.since is None and self.before is None and not self.venue and not self.exclude


class FieldStatistics(NamedTuple):
    """What BM25 needs to know of a field."""

    texts: int
    """How many papers have a text in the field."""
    mean_length: float
    """The mean number of terms of these texts."""


@dataclass(frozen=True, eq=False)
class BM25Query:
    """Weighted terms to score papers by with BM25."""

    terms: IntArray
    """Term hashes, ascending."""
    weights: Float64Array
    """How much each term counts in the query, usually how often it occurs there."""
    fields: tuple[tuple[str, float], ...] = (("own", 1.0),)
    """The fields to score and how much each counts."""
    k1: float = 1.2
    b: float = 0.75
    hidden: tuple[int, ...] = ()
    """Papers that the statistics leave out, as if they were not in the collection."""
    words: IntArray | None = None
    """Which word each term is of, by number, where several terms may be of one; each of them is as rare as the word is."""

    @property
    def key(self) -> tuple[object, ...]:
        """The value by which two queries are compared."""
        words = b"" if self.words is None else self.words.tobytes()
        return self.terms.tobytes(), self.weights.tobytes(), self.fields, self.k1, self.b, self.hidden, words


class VectorSet(NamedTuple):
    """The vectors that one encoder made of one text of the papers."""

    encoder: str
    text: str = "own"
    """One of `FIELDS` without ``authors``, or ``sentences``."""


class CitationContext(NamedTuple):
    """The text around a citation, as the collection stores it."""

    cited: int
    citing: int
    text: str


class SentenceEmbeddings(NamedTuple):
    """The vectors of all sentences of a collection, each with its paper."""

    papers: PaperNumbers
    vectors: Array


class Collection(Protocol):
    """The papers that a query is put to."""

    @property
    def name(self) -> str:
        """How messages call the collection, such as the folder of its library."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which the texts of its papers were analysed, as ISO 639-1 codes."""

    # -- statistics -------------------------------------------------------------------------------------------------

    def field_statistics(self, field: str, hidden: Sequence[int] = ()) -> FieldStatistics:
        """The statistics of a field, as if the `hidden` papers were not there."""

    def document_frequencies(self, field: str, terms: IntArray, hidden: Sequence[int] = ()) -> IntArray:
        """How many papers have each term in a field."""

    def collection_frequencies(self, field: str, terms: IntArray, hidden: Sequence[int] = ()) -> IntArray:
        """How often each term occurs in all texts of a field."""

    # -- BM25 -------------------------------------------------------------------------------------------------------

    def bm25_top_k(self, query: BM25Query, k: int, filters: Filters) -> Ranking:
        """The `k` papers with the highest scores above 0; ties go to the lower number."""

    def bm25_scores(self, query: BM25Query, papers: PaperNumbers) -> Float32Array:
        """The scores of given papers, 0 for those that share no term with the query."""

    def bm25_contributions(self, query: BM25Query, papers: PaperNumbers) -> Float64Array:
        """A row for each paper: what each term adds to its score."""

    # -- vectors ----------------------------------------------------------------------------------------------------

    def has_vectors(self, vectors: VectorSet) -> bool:
        """Whether any paper has such a vector."""

    def nearest(self, vectors: VectorSet, query: Float32Array, k: int, filters: Filters) -> Ranking:
        """The `k` papers whose vectors have the highest cosine with the query's."""

    def cosines(self, vectors: VectorSet, query: Float32Array, papers: PaperNumbers) -> Float32Array:
        """The cosine of each given paper, NaN for those without a vector."""

    def sentence_cosines(self, encoder: str, query: Float32Array, papers: PaperNumbers) -> tuple[Float32Array, IntArray]:
        """The cosines of all sentences of given papers, paper by paper, and how many each paper has."""

    def sentence_embeddings(self, model: str) -> SentenceEmbeddings | None:
        """The vectors of every title and sentence by a sentence model; None where they were not computed."""

    def nearest_sentences(self, model: str, queries: Float32Array, count: int) -> IntArray | None:
        """The rows of `sentence_embeddings` that approximate search finds: those of about the `count` vectors nearest to each
        query vector. None where there is no index."""

    def trained_model(self, name: str) -> dict[str, Array]:
        """The arrays of a model that was trained on this collection."""

    # -- citations --------------------------------------------------------------------------------------------------

    def neighbours(self, direction: str, papers: PaperNumbers) -> tuple[PaperNumbers, IntArray]:
        """The papers that each paper ``cites`` or is ``cited_by``, paper by paper, and how many each has."""

    def degrees(self, direction: str, papers: PaperNumbers) -> IntArray:
        """How many neighbours each paper has."""

    # -- records ----------------------------------------------------------------------------------------------------

    def numbers(self, names: Sequence[str]) -> PaperNumbers:
        """The numbers of papers by any of their identifiers; unknown names are left out."""

    def records(self, papers: PaperNumbers | Sequence[int]) -> dict[int, Paper]:
        """Bibliographic records; papers that were removed are absent."""

    def texts(self, text: str, papers: PaperNumbers, contexts: int | None = None) -> dict[int, PaperText]:
        """What a model reads of each paper that has such a text, with at most `contexts` of its newest contexts."""

    def contexts(self, papers: PaperNumbers, latest: int) -> list[CitationContext]:
        """The newest contexts that cite each paper, at most `latest` of each."""

    def sentences(self, papers: PaperNumbers | Sequence[int]) -> dict[int, list[Sentence]]:
        """The sentences of papers: of the full text where there is one, else of the abstract."""

    def years(self, papers: PaperNumbers) -> IntArray:
        """The year of each paper, 0 where it is unknown."""

    def newest_year(self) -> int:
        """The year of the newest paper: the present, as far as the collection can tell."""

    def contains(self, papers: PaperNumbers) -> Mask:
        """Which papers are still in the collection."""

    def passes(self, papers: PaperNumbers, filters: Filters) -> Mask:
        """Which papers pass the filters."""
