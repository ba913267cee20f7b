"""Sentences by BM25: those of some papers that hold most of a question's words, weighed by how rare the library finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.library.library import Library
from citewell.papers import Paper, Query, Sentence
from citewell.retrieve.bm25 import Bm25
from citewell.retrieve.request import Request
from citewell.retrieve.visible import Visible
from citewell.text.analysis import terms
from citewell.text.sentences import split_sentences

_K1, _B = 1.2, 0.75


class SentenceRanking(NamedTuple):
    """Sentences, each by its paper and its place there, and their scores, best first."""

    papers: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


@dataclass(slots=True)
class Passage:
    """A sentence that bears on the question."""

    text: str
    section: str
    score: float
    words: list[str]
    """The words of the sentence that the question has too."""


@dataclass(slots=True)
class Found:
    """A paper that bears on the question."""

    paper: Paper
    score: float
    passages: list[Passage]


def search(library: Library, query: Query, size: int = 10, snippets: int = 2) -> list[Found]:
    """The best papers by BM25 on own text, each with its best sentences."""
    request = Request(library, query)
    ranking = Bm25(size=2 * size).rank(request)
    records = library.store.papers([int(num) for num in ranking.papers])
    chosen = [(int(num), float(score)) for num, score in zip(*ranking, strict=True) if int(num) in records][:size]
    sentences = {num: sentences_of(library, num, records[num]) for num, _ in chosen}
    asked = terms(query.text())
    found = {num: Found(records[num], score, []) for num, score in chosen}
    for num, place, score in zip(*_scored(request, sentences), strict=True):
        passages = found[int(num)].passages
        if len(passages) < snippets:
            sentence = sentences[int(num)][place]
            words = [word for term, (word, _) in terms(sentence.text).items() if term in asked]
            passages.append(Passage(sentence.text, sentence.section, float(score), words))
    return list(found.values())


def rank_sentences(request: Request, papers: Sequence[int]) -> SentenceRanking:
    """The sentences of some papers that share a word with the query, best first."""
    records = request.library.store.papers(papers)
    sentences = {num: sentences_of(request.library, num, records[num]) for num in papers if num in records}
    return _scored(request, sentences)


def ranked(scores: Mapping[int, npt.NDArray[np.float64]]) -> SentenceRanking:
    """All sentences of some papers by their scores, best first; ties go to the paper that comes first, then to the earlier."""
    papers = np.repeat(np.array(list(scores), np.int64), [len(here) for here in scores.values()])
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(here)) for here in scores.values())])
    found = np.concatenate([np.zeros(0), *scores.values()])
    order = np.argsort(-found, kind="stable")
    return SentenceRanking(papers[order], places[order], found[order])


def sentences_of(library: Library, num: int, paper: Paper) -> list[Sentence]:
    """The sentences that the library has of a paper: its full text where there is one, else its abstract."""
    return library.store.sentences(num) or [Sentence(text, "abstract") for text in split_sentences(paper.abstract)]


def _scored(request: Request, sentences: dict[int, list[Sentence]]) -> SentenceRanking:
    """BM25 with a sentence as the document; ties go to the better paper, then to the earlier sentence."""
    rarity = _rarity(request)
    papers = np.repeat(np.array(list(sentences), np.int64), [len(here) for here in sentences.values()])
    places = np.concatenate([np.arange(len(here)) for here in sentences.values()] or [np.zeros(0, np.int64)])
    counted = [terms(sentence.text) for here in sentences.values() for sentence in here]
    lengths = np.array([sum(times for _, times in found.values()) for found in counted], np.float64)
    norms = _K1 * (1 - _B + _B * lengths / (lengths.mean() if len(lengths) and lengths.any() else 1.0))
    scores = np.array(
        [
            sum(rarity[term] * found[term][1] / (found[term][1] + norm) for term in found.keys() & rarity.keys())
            for found, norm in zip(counted, norms, strict=True)
        ]
    )
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    return SentenceRanking(papers[order], places[order], scores[order])


def _rarity(request: Request) -> dict[int, float]:
    """How much each term of the question says: its idf in the library, as often as the question has it."""
    asked = terms(request.query.text())
    hashes = np.array(list(asked), np.int64)
    times = np.array([times for _, times in asked.values()], np.float64)
    visible = Visible(request)
    texts, _ = visible.totals("own")
    holding = visible.holding("own", visible.places("own", hashes), len(hashes))
    idf = np.log(1 + (texts - holding + 0.5) / (holding + 0.5))
    return dict(zip(hashes.tolist(), (times * idf).tolist(), strict=True))
