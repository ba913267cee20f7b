"""From a ranking to suggestions: records, reasons and quoted sentences, all made from the ranking's trace."""

from __future__ import annotations

import numpy as np

from citewell.papers import Ranking, Reason, Suggestion
from citewell.pipeline.contract import Component, Explanations
from citewell.ranking.request import Request
from citewell.ranking.sentences import quote

_SPARE = 2
"""How many times as many records are read as are shown: a paper removed meanwhile is in the ranking, but not in the store."""


def suggestions(pipeline: Component, request: Request, ranking: Ranking, k: int, sentences: int) -> list[Suggestion]:
    """The `k` best papers of a ranking that `pipeline` returned, each with reasons and at most `sentences` quotes."""
    records = request.collection.records(ranking.papers[: _SPARE * k])
    scored = zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True)
    chosen = {number: score for number, score in scored if number in records}
    chosen = dict(list(chosen.items())[:k])
    papers = list(chosen)
    reasons = _with_citations(request, pipeline.explain(request, ranking, papers), papers)
    quotes = quote(request, papers, pipeline.sentences(request, ranking, papers), sentences) if sentences else {}
    return [
        Suggestion(position, records[number], score, reasons[number], quotes.get(number, []))
        for position, (number, score) in enumerate(chosen.items(), 1)
    ]


def _with_citations(request: Request, reasons: Explanations, papers: list[int]) -> Explanations:
    """The reasons, and how often the library and the other suggestions cite each paper."""
    citing, counts = request.collection.neighbours("cited_by", np.array(papers, np.int64))
    ends = np.cumsum(counts)
    among: dict[int, list[int]] = {number: [] for number in papers}
    for number, end, count in zip(papers, ends.tolist(), counts.tolist(), strict=True):
        among[number] = [other for other in citing[end - count : end].tolist() if other in among]
    records = request.collection.records(sorted({other for others in among.values() for other in others}))
    for number, count in zip(papers, counts.tolist(), strict=True):
        if count:
            ids = [records[other].id for other in among[number] if other in records]
            reasons[number].append(Reason("citations", _citations(count, len(ids)), ids))
    return reasons


def _citations(count: int, suggested: int) -> str:
    """How often a paper is cited, as a sentence."""
    if not suggested:
        return "Cited by 1 paper in your library." if count == 1 else f"Cited by {count:,} papers in your library."
    if suggested == count:
        return "Cited by 1 other suggestion." if count == 1 else f"Cited by {count:,} other suggestions."
    return f"Cited by {count:,} papers in your library, {suggested:,} of them suggested here."
