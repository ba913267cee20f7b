"""Papers for a question, and in each the sentences that hold most of its words, weighed by how rare they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.library.library import Library
from citewell.papers import Paper, Query, Sentence
from citewell.retrieve.bm25 import Bm25
from citewell.retrieve.request import Request
from citewell.text.analysis import terms
from citewell.text.sentences import split_sentences


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
    nums = [int(num) for num in ranking.papers]
    records = library.store.papers(nums)
    rarity = _rarity(library, query)
    found: list[Found] = []
    for num, score in zip(nums, ranking.scores, strict=True):
        if num in records and len(found) < size:
            paper = records[num]
            sentences = library.store.sentences(num) or [Sentence(text, "abstract") for text in split_sentences(paper.abstract)]
            found.append(Found(paper, float(score), _best(sentences, rarity, snippets)))
    return found


def _rarity(library: Library, query: Query) -> dict[int, float]:
    """How much each term of the question says: its idf in the library."""
    hashes = np.array(list(terms(query.text())), np.int64)
    texts, _ = library.index.totals("own")
    holding = sum((s.look_up(hashes).counts for s in library.index.segments("own")), np.zeros(len(hashes), np.int64))
    idf = np.log(1 + (texts - holding + 0.5) / (holding + 0.5))
    return dict(zip(hashes.tolist(), idf.tolist(), strict=True))


def _best(sentences: list[Sentence], rarity: dict[int, float], size: int) -> list[Passage]:
    passages = []
    for sentence in sentences:
        shared = {term: word for term, (word, _) in terms(sentence.text).items() if term in rarity}
        if shared:
            score = sum(rarity[term] for term in shared)
            passages.append(Passage(sentence.text, sentence.section, score, list(shared.values())))
    return sorted(passages, key=lambda passage: -passage.score)[:size]
