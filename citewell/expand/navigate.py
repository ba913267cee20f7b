"""Navigation (Nogueira et al. 2020): the papers that the best ones cite are candidates too.

From the best kd papers of a ranking the papers that they cite are collected, at most kc of them: the references of the
lowest-ranked are dropped first. The union is ranked, and the next round starts from there. What the study ranks with a
transformer is ranked here by any pipeline that can score a given paper (`by`), lifted by how many of the best cite it
(`votes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first, first_of_each

Numbers = npt.NDArray[np.int64]

_SHOWN_PATHS = 2


class Scorer(Protocol):
    """A pipeline that can score papers that it did not find itself."""

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class Navigate:
    """The stage; its parameters are those of ``pipelines.toml``."""

    by: Scorer
    seeds: tuple[int, ...] = (300,)
    """kd: from how many of the best papers each round starts."""
    total: int = 1000
    """kd + kc: how many papers there are after a round."""
    direction: str = "cites"
    """``cites`` collects what the best papers cite, ``cited_by`` who cites them."""
    votes: float = 0.0
    """How much it counts that papers among the best cite a candidate, beside the score."""

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        for seeds in self.seeds:
            ranking = self._round(request, ranking, seeds)
        return ranking

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper that was reached by a citation, the path."""
        paths = self._paths(request, papers)
        store = request.library.store
        shown = {num: starts[:_SHOWN_PATHS] for num, starts in paths.items() if starts}
        titles = store.papers(sorted({start for starts in shown.values() for start in starts}))
        verb = "cited by" if self.direction == "cites" else "cites"
        reasons: dict[int, list[Reason]] = {}
        for num, starts in shown.items():
            named = [titles[start] for start in starts if start in titles]
            more = len(paths[num]) - len(named)
            text = f"{verb} " + " and ".join(f"“{paper.title}”" for paper in named) + (f" and {more} more" if more else "")
            if named:
                reasons[num] = [Reason("path", f"{text} among the best matches", [paper.id for paper in named])]
        return reasons

    def _round(self, request: Request, ranking: Ranking, seeds: int) -> Ranking:
        best = ranking.papers[:seeds]
        targets, counts = request.library.index.graph.neighbours(self.direction, best)
        starts = np.repeat(np.arange(len(best)), counts)
        found = request.may_find(targets)
        targets, starts = targets[found], starts[found]
        self._rounds(request).append((best[starts], targets))
        new = first_of_each(targets)
        new = new[~np.isin(new, best)][: max(0, self.total - len(best))]
        union = np.concatenate([best, new])
        scores = self.by.score(request, union).astype(np.float64)
        if self.votes:
            scores = _scaled(scores) + self.votes * _scaled(np.log1p(_votes(union, targets, starts)))
        # Who was reached by a citation stays, even with no word in common with the query.
        return best_first(union, scores - min(0.0, float(scores.min(initial=0.0))) + 1e-6, self.total)

    def _paths(self, request: Request, papers: list[int]) -> dict[int, list[int]]:
        """For each paper those among the best of some round that are linked to it, the best first."""
        rounds = self._rounds(request)
        return {
            num: list(dict.fromkeys(start for starts, targets in rounds for start in starts[targets == num].tolist()))
            for num in papers
        }

    def _rounds(self, request: Request) -> list[tuple[Numbers, Numbers]]:
        """The links that were followed in each round, from one of the best to where it led."""
        return request.own(self, list)

    def __post_init__(self) -> None:
        if self.direction not in ("cites", "cited_by"):
            raise CitewellError(f"navigation goes along 'cites' or 'cited_by', not {self.direction!r}")


def _votes(union: Numbers, targets: Numbers, starts: Numbers) -> npt.NDArray[np.float64]:
    """For each paper how many of the best are linked to it, the better ones counting more."""
    order = np.argsort(union)
    place = order[np.minimum(np.searchsorted(union[order], targets), len(union) - 1)]
    within = union[place] == targets if len(union) else np.zeros(len(targets), bool)
    weights = 1.0 / np.log2(starts[within] + 2)
    return np.bincount(place[within], weights=weights, minlength=len(union)).astype(np.float64)


def _scaled(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    top = values.max(initial=0.0)
    return values / top if top > 0 else values
