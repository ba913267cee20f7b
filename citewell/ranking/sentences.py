"""Rankings of sentences: by BM25 with the collection's idf, or by the scores of a stage; and sentences to quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from citewell.papers import QuotedSentence, Sentence
from citewell.ranking.query_terms import term_weights
from citewell.ranking.request import Request
from citewell.text.analysis import terms
from citewell.text.offsets import SentenceOffsets, sentence_offsets
from citewell.types import Float32Array, Float64Array, IntArray, PaperNumbers

_K1, _B = 1.2, 0.75
_FIRST_SENTENCES = 10
"""Those by which the language of a paper is told."""


class SentenceRanking(NamedTuple):
    """Sentences, each by its paper and its position there, and their scores, best first."""

    papers: PaperNumbers
    places: IntArray
    scores: Float64Array


def quote(request: Request, papers: Sequence[int], ranking: SentenceRanking, most: int) -> dict[int, list[QuotedSentence]]:
    """For each paper at most `most` of the ranked sentences, in their order."""
    chosen: dict[int, list[tuple[int, float]]] = {number: [] for number in papers}
    for number, place, score in zip(*ranking, strict=True):
        if len(chosen[int(number)]) < most:
            chosen[int(number)].append((int(place), float(score)))
    sentences = request.collection.sentences([number for number, places in chosen.items() if places])
    records = request.collection.records(list(sentences))
    query = request.terms(request.query.text())
    quotes: dict[int, list[QuotedSentence]] = {number: [] for number in papers}
    for number, here in sentences.items():
        places = sentence_offsets(records[number], here)
        language = _language(request, here)
        for at, score in chosen[number]:
            words = [word for term, (word, _) in terms(here[at].text, (language,)).items() if term in query]
            around = [here[near].text if _same_section(places, at, near) else "" for near in (at - 1, at + 1)]
            quotes[number].append(QuotedSentence(here[at].text, *places[at], score, words, *around))
    return quotes


def _same_section(places: Sequence[SentenceOffsets], at: int, near: int) -> bool:
    """Whether there is a sentence `near`, in the same section as the one `at`."""
    return 0 <= near < len(places) and places[near].section == places[at].section


def rank_sentences(scores: Mapping[int, Float64Array] | Mapping[int, Float32Array]) -> SentenceRanking:
    """All sentences of papers by their scores; ties go to the paper that comes first, then to the earlier sentence."""
    papers = np.repeat(np.array(list(scores), np.int64), [len(here) for here in scores.values()])
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(here)) for here in scores.values())])
    values = np.concatenate([np.zeros(0), *scores.values()])
    order = np.argsort(-values, kind="stable")
    return SentenceRanking(papers[order], places[order], values[order])


def bm25_sentences(request: Request, papers: Sequence[int]) -> SentenceRanking:
    """The sentences of papers that share a word with the query, ranked by BM25 with a sentence as the document.

    Ties go to the paper that comes first, then to the earlier sentence.
    """
    sentences = request.collection.sentences(papers)
    weights = term_weights(request, "own", request.terms(request.query.text()))
    counted = [
        _counted(sentence, language)
        for here in sentences.values()
        for language in [_language(request, here)]
        for sentence in here
    ]
    lengths = np.array([sum(counts.values()) for counts in counted], np.float64)
    norms = _K1 * (1 - _B + _B * lengths / (lengths.mean() if len(lengths) and lengths.any() else 1.0))
    scores = np.array(
        [
            sum(weights[term] * counts[term] / (counts[term] + norm) for term in counts.keys() & weights.keys())
            for counts, norm in zip(counted, norms, strict=True)
        ]
    )
    owners = np.repeat(np.array(list(sentences), np.int64), [len(here) for here in sentences.values()])
    places = np.concatenate([np.arange(len(here)) for here in sentences.values()] or [np.zeros(0, np.int64)])
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    return SentenceRanking(owners[order], places[order], scores[order])


def _counted(sentence: Sentence, language: str) -> dict[int, float]:
    return {term: count for term, (_, count) in terms(sentence.text, (language,)).items()}


def _language(request: Request, sentences: Sequence[Sentence]) -> str:
    """The language of the sentences of a paper."""
    return request.text_language("\n".join(sentence.text for sentence in sentences[:_FIRST_SENTENCES]))
