"""Sentences of papers: ranked by BM25, which weighs a question's words by how rare the library finds them, and quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.library.index.collection_stats import CollectionStats
from citewell.papers import Paper, Sentence
from citewell.ranking.request import Request
from citewell.text.analysis import terms
from citewell.text.places import Place, sentence_places

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
    begin: int
    """Where it stands in the section: its first character, and the one after its last."""
    end: int
    score: float
    words: list[str]
    """The words of the sentence that the question has too."""
    before: str = ""
    """The sentence before it in the same section, where there is one, and the one after it."""
    after: str = ""


@dataclass(slots=True)
class Found:
    """A paper that bears on the question."""

    paper: Paper
    score: float
    passages: list[Passage]


def quoted(request: Request, papers: Sequence[int], ranking: SentenceRanking, most: int) -> dict[int, list[Passage]]:
    """Of each of some papers at most so many of the ranked sentences, in their order."""
    chosen: dict[int, list[tuple[int, float]]] = {num: [] for num in papers}
    for num, place, score in zip(*ranking, strict=True):
        if len(chosen[int(num)]) < most:
            chosen[int(num)].append((int(place), float(score)))
    sentences = request.library.store.quotable([num for num, places in chosen.items() if places])
    records = request.library.store.papers(list(sentences))
    asked = terms(request.query.text())
    found: dict[int, list[Passage]] = {num: [] for num in papers}
    for num, here in sentences.items():
        places = sentence_places(records[num], here)
        for at, score in chosen[num]:
            words = [word for term, (word, _) in terms(here[at].text).items() if term in asked]
            beside = [here[near].text if _together(places, at, near) else "" for near in (at - 1, at + 1)]
            found[num].append(Passage(here[at].text, *places[at], score, words, *beside))
    return found


def _together(places: Sequence[Place], at: int, near: int) -> bool:
    """Whether there is a sentence `near`, in the same section as the one `at`."""
    return 0 <= near < len(places) and places[near].section == places[at].section


def rank_sentences(request: Request, papers: Sequence[int]) -> SentenceRanking:
    """The sentences of some papers that share a word with the query, best first."""
    return _scored(request, request.library.store.quotable(papers))


def ranked(scores: Mapping[int, npt.NDArray[np.float64]]) -> SentenceRanking:
    """All sentences of some papers by their scores, best first; ties go to the paper that comes first, then to the earlier."""
    papers = np.repeat(np.array(list(scores), np.int64), [len(here) for here in scores.values()])
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(here)) for here in scores.values())])
    found = np.concatenate([np.zeros(0), *scores.values()])
    order = np.argsort(-found, kind="stable")
    return SentenceRanking(papers[order], places[order], found[order])


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
    visible = CollectionStats(request.library.index, request.excluded)
    texts, _ = visible.totals("own")
    holding = visible.document_frequencies("own", visible.places("own", hashes), len(hashes))
    idf = np.log(1 + (texts - holding + 0.5) / (holding + 0.5))
    return dict(zip(hashes.tolist(), (times * idf).tolist(), strict=True))
