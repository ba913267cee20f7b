"""Candidates by citation alone: papers that are cited together with the best of a ranking, or that cite what the best cite.

Co-citation: two papers are as near as the number of papers that cite both. Bibliographic coupling: as near as the number of
papers that both cite. From the best papers of a ranking, and from what the draft is known to cite, each candidate gets the sum
of its nearness to them, the best of them counting most, divided by the root of how often it is linked at all, so that what
everybody cites does not win by that alone.
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

KINDS = {"co-citation": ("cited_by", "cites"), "coupling": ("cites", "cited_by")}
"""From the best papers to those in between, and from these to the candidates."""


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
        there, back = KINDS[self.kind_of_link]
        known = request.known()
        best = first_of_each(np.concatenate([known, ranking.papers[: self.seeds]]))
        weights = 1.0 / np.log2(np.arange(len(best)) + 2)
        weights[: len(known)] = 1.0
        between, counts = graph.neighbours(there, best)
        candidates, spread = graph.neighbours(back, between)
        nearness = np.repeat(np.repeat(weights, counts), spread)
        papers, place = np.unique(candidates, return_inverse=True)
        total = np.bincount(place, weights=nearness, minlength=len(papers))
        allowed = request.may_find(papers) & ~np.isin(papers, known)
        papers, total = papers[allowed], total[allowed]
        return best_first(papers, total / np.sqrt(1.0 + graph.degrees(there, papers)), self.size)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        said = "cited together with" if self.kind_of_link == "co-citation" else "cites the same papers as"
        return {num: [Reason("links", f"{said} the best matches")] for num in papers}
