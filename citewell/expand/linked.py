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
from citewell.expand.proximity import ways
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first

Numbers = npt.NDArray[np.int64]

KINDS = {"references": ("cites",), "co-citation": ("cited_by", "cites"), "coupling": ("cites", "cited_by")}
"""The links from the best papers to the candidates, one after another."""


@dataclass(frozen=True)
class Linked:
    """The stage; its parameters are those of ``pipelines.toml``."""

    kind_of_link: str = "co-citation"
    seeds: int = 50
    """How many of the best papers it starts from."""
    counting: str = "rank"
    """Whether the best papers count by their ranks or by their scores."""
    size: int = 1000
    starts: str = "the best matches"
    """What its reasons call the papers that it starts from."""

    def __post_init__(self) -> None:
        if self.kind_of_link not in KINDS:
            raise CitewellError(f"papers are linked by {' or '.join(KINDS)}, not by {self.kind_of_link!r}")
        if self.counting not in ("rank", "score"):
            raise CitewellError(f"the best papers count by rank or by score, not by {self.counting!r}")

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        graph = request.library.index.graph
        path = KINDS[self.kind_of_link]
        known = request.known()
        best, weights = self._best(known, ranking)
        self._starts(request)[:] = best.tolist()
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

    def _best(self, known: Numbers, ranking: Ranking) -> tuple[Numbers, npt.NDArray[np.float64]]:
        """What it starts from, and what each of them counts: what the draft is known to cite as much as the very best."""
        papers = np.concatenate([known, ranking.papers[: self.seeds]])
        first = np.sort(np.unique(papers, return_index=True)[1])
        if self.counting == "rank":
            weights = 1.0 / np.log2(np.arange(len(first)) + 2)
        else:
            scores = ranking.scores[: self.seeds].astype(np.float64)
            weights = np.concatenate([np.ones(len(known)), scores / scores.max(initial=1e-9)])[first]
        weights[: len(known)] = 1.0
        return papers[first], weights

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """Which of the papers that it started from are linked to each paper, and in how many ways the nearest one is."""
        starts = self._starts(request)
        found = ways(request.library.index.graph, KINDS[self.kind_of_link], np.array(starts, np.int64), papers)
        known = set(request.known().tolist())
        order = {start: at for at, start in enumerate(starts)}
        nearest = {num: sorted(count.items(), key=lambda pair: (-pair[1], order[pair[0]])) for num, count in found.items()}
        records = request.library.store.papers([start for pairs in nearest.values() for start, _ in pairs[:1]])
        return {
            num: [Reason("links", self._said(records[start].title, start in known, times, len(pairs)), [records[start].id])]
            for num, pairs in nearest.items()
            for start, times in pairs[:1]
            if start in records
        }

    def _said(self, title: str, known: bool, times: int, starts: int) -> str:
        """A link as a sentence: of a paper to the one called `title`, the nearest of so many."""
        which = "which the draft cites" if known else f"one of {self.starts}"
        match self.kind_of_link:
            case "references":
                return f"cited by “{title}”, {which}" + (f", and {starts - 1:,} more" if starts > 1 else "")
            case "co-citation":
                return cited_together(title, times, which)
            case _:
                return f"cites {_papers(times)} that “{title}”, {which}, cites too"

    def _starts(self, request: Request) -> list[int]:
        """The papers that it started from, the best first."""
        return request.own(self, list)


def cited_together(title: str, times: int, which: str) -> str:
    """Co-citation as a sentence: so many papers cite a paper and the one called `title`, which is one of some kind."""
    return f"{_papers(times)} {'cites' if times == 1 else 'cite'} it together with “{title}”, {which}"


def _papers(number: int) -> str:
    return "1 paper" if number == 1 else f"{number:,} papers"
