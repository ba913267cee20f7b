"""Citation-graph navigation (Nogueira et al. 2020): the papers that the top papers cite are candidates too.

From the top kd papers of a ranking the papers that they cite are collected, at most kc of them; the references of the
lowest-ranked are dropped first. The union is ranked, and the next round starts from there. The study ranks with a transformer;
here any pipeline that can score given papers ranks (`by`), with a boost for candidates that many top papers cite (`votes`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Component, Explanations, Reranker
from citewell.ranking.request import Request
from citewell.ranking.top_k import positions_in, rank, unique_in_order
from citewell.types import Float64Array, IntArray, PaperNumbers

_SHOWN_PATHS = 2

Round = tuple[PaperNumbers, PaperNumbers]
"""The links that a round followed: from each top paper, to each paper that it reached."""


@dataclass(frozen=True)
class Navigate(Reranker):
    """Adds the papers that the top papers cite, and ranks the union."""

    by: Component
    """The pipeline that scores the candidates."""
    seeds: tuple[int, ...] = (300,)
    """kd: how many of the top papers each round starts from."""
    total: int = 1000
    """kd + kc: how many papers a round returns."""
    direction: str = "cites"
    """``cites`` collects what the top papers cite, ``cited_by`` the papers that cite them."""
    votes: float = 0.0
    """How much it counts, next to the score, that top papers cite a candidate."""

    def __post_init__(self) -> None:
        if self.direction not in ("cites", "cited_by"):
            raise CitewellError(f"Navigation follows 'cites' or 'cited_by', not {self.direction!r}.")

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        rounds: list[Round] = []
        for seeds in self.seeds:
            ranking, links = self._round(request, ranking, seeds)
            rounds.append(links)
        return ranking._replace(trace=rounds)

    def _round(self, request: Request, ranking: Ranking, seeds: int) -> tuple[Ranking, Round]:
        top = ranking.papers[:seeds]
        targets, counts = request.collection.neighbours(self.direction, top)
        starts = np.repeat(np.arange(len(top)), counts)
        allowed = request.passes(targets)
        targets, starts = targets[allowed], starts[allowed]
        new = unique_in_order(targets)
        new = new[~np.isin(new, top)][: max(0, self.total - len(top))]
        union = np.concatenate([top, new])
        # A paper that was reached by a citation stays, even with no word in common with the query.
        scores = np.nan_to_num(self.by.score(request, union).astype(np.float64))
        if self.votes:
            scores = _scaled(scores) + self.votes * _scaled(np.log1p(_votes(union, targets, starts)))
        return rank(union, scores, self.total), (top[starts], targets)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """For each paper that was reached by a citation, the top papers that lead to it."""
        paths = {
            number: list(
                dict.fromkeys(start for starts, targets in ranking.trace for start in starts[targets == number].tolist())
            )
            for number in papers
        }
        shown = {number: starts[:_SHOWN_PATHS] for number, starts in paths.items() if starts}
        records = request.collection.records(sorted({start for starts in shown.values() for start in starts}))
        verb = "Cited by" if self.direction == "cites" else "Cites"
        reasons: Explanations = {}
        for number, starts in shown.items():
            named = [records[start] for start in starts if start in records]
            more = len(paths[number]) - len(named)
            titles = " and ".join(f"“{paper.title}”" for paper in named) + (f" and {more} more" if more else "")
            if named:
                text = f"{verb} {titles}, among the top matches."
                reasons[number] = [Reason("path", text, [paper.id for paper in named])]
        return reasons


def _votes(union: PaperNumbers, targets: PaperNumbers, starts: IntArray) -> Float64Array:
    """For each paper how many top papers are linked to it, higher ranks counting more."""
    positions, within = positions_in(union, targets)
    weights = 1.0 / np.log2(starts[within] + 2)
    return np.bincount(positions, weights=weights, minlength=len(union)).astype(np.float64)


def _scaled(values: Float64Array) -> Float64Array:
    top = values.max(initial=0.0)
    return values / top if top > 0 else values
