"""Candidates by citation alone: what the best of a ranking cite, what is cited together with them, or cites what they cite.

References: a paper is near to those that it cites. Co-citation: two papers are as near as the number of papers that cite both.
Bibliographic coupling: as near as the number of papers that both cite. From the best papers of a ranking, and from what the
draft is known to cite, each candidate gets the sum of its nearness to them, the best of them counting most, divided by the root
of how often it is linked at all, so that what everybody cites does not win by that alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.retrieve.best import best_first, first_of_each
from citewell.retrieve.request import Request

Numbers = npt.NDArray[np.int64]

KINDS = {"references": ("cites",), "co-citation": ("cited_by", "cites"), "coupling": ("cites", "cited_by")}
"""The links from the best papers to the candidates, one after another."""
_SAID = {
    "references": "cited by the best matches",
    "co-citation": "cited together with the best matches",
    "coupling": "cites the same papers as the best matches",
}


@dataclass(frozen=True)
class Linked:
    """The stage; its parameters are those of ``pipelines.toml``."""

    kind_of_link: str = "co-citation"
    seeds: int = 50
    """How many of the best papers it starts from."""
    size: int = 1000

    def __post_init__(self) -> None:
        if self.kind_of_link not in KINDS:
            raise CitewellError(f"papers are linked by {' or '.join(KINDS)}, not by {self.kind_of_link!r}")

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        graph = request.library.index.graph
        path = KINDS[self.kind_of_link]
        known = request.known()
        best = first_of_each(np.concatenate([known, ranking.papers[: self.seeds]]))
        weights = 1.0 / np.log2(np.arange(len(best)) + 2)
        weights[: len(known)] = 1.0
        reached = best
        for direction in path:
            reached, counts = graph.neighbours(direction, reached)
            weights = np.repeat(weights, counts)
        papers, place = np.unique(reached, return_inverse=True)
        total = np.bincount(place, weights=weights, minlength=len(papers))
        allowed = request.may_find(papers) & ~np.isin(papers, known)
        papers, total = papers[allowed], total[allowed]
        back = "cited_by" if path[-1] == "cites" else "cites"
        return best_first(papers, total / np.sqrt(1.0 + graph.degrees(back, papers)), self.size)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        return {num: [Reason("links", _SAID[self.kind_of_link])] for num in papers}
