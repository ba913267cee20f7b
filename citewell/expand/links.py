"""Candidates by citations alone: the references of the top papers, papers co-cited with them, or coupled with them.

References: a paper is near to those that it cites. Co-citation: two papers are as near as the number of papers that cite both.
Bibliographic coupling: as near as the number of papers that both cite. The stage starts from the top of a ranking and from what
the draft cites. A candidate's score is the sum of its nearness to them, weighted by rank, divided by the root of its degree, so
that a paper which everybody cites does not win by that alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.expand.proximity import path_counts
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Reranker
from citewell.ranking.request import Request
from citewell.ranking.top_k import rank
from citewell.types import Float64Array, PaperNumbers

PATHS = {"references": ("cites",), "co-citation": ("cited_by", "cites"), "coupling": ("cites", "cited_by")}
"""The links that lead from the top papers to the candidates, one after another."""
_WEIGHTS = ("rank", "score")


@dataclass(frozen=True)
class Links(Reranker):
    """Replaces a ranking by the papers that citations link to its top."""

    link: str = "co-citation"
    """``references``, ``co-citation`` or ``coupling``."""
    seeds: int = 50
    """How many of the top papers it starts from."""
    weigh_by: str = "rank"
    """Whether the top papers count by ``rank`` or by ``score``."""
    size: int = 1000
    seeds_name: str = "a top match"
    """How reasons call a paper that it starts from."""

    def __post_init__(self) -> None:
        if self.link not in PATHS:
            raise CitewellError(f"There is no link {self.link!r} between papers. Choose one of {', '.join(PATHS)}.")
        if self.weigh_by not in _WEIGHTS:
            raise CitewellError(f"Top papers count by {' or by '.join(_WEIGHTS)}, not by {self.weigh_by!r}.")

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        collection = request.collection
        path = PATHS[self.link]
        seeds, weights = self._seeds(request.known, ranking)
        reached = seeds
        for direction in path:
            reached, counts = collection.neighbours(direction, reached)
            weights = np.repeat(weights, counts)
        papers, place = np.unique(reached, return_inverse=True)
        total = np.bincount(place, weights=weights, minlength=len(papers))
        allowed = request.passes(papers) & ~np.isin(papers, request.known)
        papers, total = papers[allowed], total[allowed]
        back = "cited_by" if path[-1] == "cites" else "cites"
        return rank(papers, total / np.sqrt(1.0 + collection.degrees(back, papers)), self.size)._replace(trace=seeds)

    def _seeds(self, known: PaperNumbers, ranking: Ranking) -> tuple[PaperNumbers, Float64Array]:
        """The papers to start from and their weights; what the draft cites counts as much as the very top."""
        papers = np.concatenate([known, ranking.papers[: self.seeds]])
        first = np.sort(np.unique(papers, return_index=True)[1])
        if self.weigh_by == "rank":
            weights = 1.0 / np.log2(np.arange(len(first)) + 2)
        else:
            scores = ranking.scores[: self.seeds].astype(np.float64)
            weights = np.concatenate([np.ones(len(known)), scores / scores.max(initial=1e-9)])[first]
        weights[: len(known)] = 1.0
        return papers[first], weights

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """The seed that is linked to each paper by most paths."""
        seeds: PaperNumbers = ranking.trace
        counts = path_counts(request.collection, PATHS[self.link], seeds, papers)
        known = set(request.known.tolist())
        position = {seed: at for at, seed in enumerate(seeds.tolist())}
        nearest = {
            number: sorted(paths.items(), key=lambda pair: (-pair[1], position[pair[0]])) for number, paths in counts.items()
        }
        records = request.collection.records([seed for pairs in nearest.values() for seed, _ in pairs[:1]])
        return {
            number: [Reason("links", self._sentence(records[seed].title, seed in known, times, len(pairs)), [records[seed].id])]
            for number, pairs in nearest.items()
            for seed, times in pairs[:1]
            if seed in records
        }

    def _sentence(self, title: str, known: bool, times: int, seeds: int) -> str:
        """A link to the seed called `title`, the nearest of `seeds`, as a sentence."""
        which = "which you cite" if known else self.seeds_name
        match self.link:
            case "references":
                more = f", and by {seeds - 1:,} more" if seeds > 1 else ""
                return f"Cited by “{title}”, {which}{more}."
            case "co-citation":
                return co_citation_sentence(title, times, which)
            case _:
                return f"Cites {_papers(times)} that “{title}”, {which}, cites too."


def co_citation_sentence(title: str, times: int, which: str) -> str:
    """Co-citation by `times` papers with the paper called `title`, as a sentence."""
    return f"Cited together with “{title}”, {which} ({_papers(times)})."


def _papers(count: int) -> str:
    return "1 paper" if count == 1 else f"{count:,} papers"
