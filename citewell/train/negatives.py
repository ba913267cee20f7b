"""Negative sampling: which queries are trained on, and which papers are their negatives.

A strategy splits the papers that a query may see and that are not relevant into hard and easy ones. Half of the negatives come
from each side, or all from the hard ones (`hard_only`). The strategies and the two regimes are those of Medić's thesis, with
one more rule: no paper or link from the query's future is used.

- ``random``: none is hard.
- ``prefiltered``: papers that a first stage retrieves are hard.
- ``graph``: papers two or three citations away from the citing paper, and no nearer, are hard.
- ``most citations``: the most cited papers are hard.
- ``cited``: all papers with a citation are hard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.train.lists import CandidateLists
from citewell.train.pack_queries import PackQueries
from citewell.train.packs import FOREVER, Arrays

REGIMES = ("standard", "strict")
_YEARS = 1 << 14


@dataclass(frozen=True)
class NegativeSampling:
    """The settings of a recipe."""

    strategy: str = "random"
    hard_only: bool = False
    """Only hard negatives; otherwise half of them are easy."""
    regime: str = "standard"
    """``strict``: only pairs whose paper the first stage retrieves for the query."""
    first_stage: str = ""
    """The pipeline whose lists are a sidecar of the pack; needed by ``prefiltered`` and ``strict``."""
    depth: int = 1000
    """Papers per list."""
    kept: int = 0
    """Papers that are kept of each train list, drawn at random next to the relevant ones; 0: all. Lists of dev are whole."""
    sample: int = 0
    """Train queries per set for which the first stage makes lists; 0: all. What needs no list is trained on all."""
    most_cited: int = 1000
    """How many papers count as most cited."""
    orders: tuple[int, ...] = (2, 3)
    """The distances of graph neighbours, in citations."""

    @property
    def needs_lists(self) -> bool:
        """Whether a query can be trained on only if the first stage made a list for it."""
        return self.strategy == "prefiltered" or self.regime == "strict"

    def check(self) -> None:
        if self.strategy not in STRATEGIES:
            raise CitewellError(f"there are no {self.strategy!r} negatives; there are {', '.join(STRATEGIES)}")
        if self.regime not in REGIMES:
            raise CitewellError(f"there is no regime {self.regime!r}; there are {', '.join(REGIMES)}")
        if self.hard_only and self.strategy == "random":
            raise CitewellError("random negatives have no hard ones; leave out hard_only")
        if not self.first_stage and self.needs_lists:
            raise CitewellError("prefiltered negatives and the strict regime need a first stage; name it in [negatives]")


class Negatives:
    """Samples negatives for queries."""

    def __init__(
        self, arrays: Arrays, pack_queries: PackQueries, sampling: NegativeSampling, lists: CandidateLists | None = None
    ) -> None:
        sampling.check()

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int64")).to(pack_queries.device)

        self.pack_queries, self.sampling, self._lists = pack_queries, sampling, lists
        self._papers = len(arrays["paper_date"])
        self._question_set = tensor("question_set")
        cites = tensor("cites")
        self._citing, self._cited = cites >> 32, cites & 0xFFFFFFFF
        self._paper_year = pack_queries.paper_date // 10_000
        citing_year = self._paper_year[self._citing]
        known = citing_year > 0  # a citation without a year cannot be dated
        self._cited_keys = torch.sort(self._cited[known] * _YEARS + citing_year[known]).values
        self._counts: dict[int, Tensor] = {}
        self._links: Tensor | None = None

    def draw(self, queries: Tensor, size: int) -> Tensor:
        """Negatives for each query, hard ones first, padded with -1."""
        candidates = self.candidates(queries)
        hard = STRATEGIES[self.sampling.strategy](self, queries) & candidates
        noise = torch.rand(candidates.shape, device=candidates.device)
        hard_count = size if self.sampling.hard_only else size // 2
        chosen = torch.zeros_like(hard)
        hardest = noise.masked_fill(~hard, -1.0).topk(min(hard_count, self._papers), dim=1)
        chosen.scatter_(1, hardest.indices, hardest.values >= 0)
        easy = torch.zeros_like(hard) if self.sampling.hard_only else candidates & ~hard
        order = (noise + 1.0 * chosen).masked_fill(~(chosen | easy), -1.0).topk(min(size, self._papers), dim=1)
        return torch.where(order.values >= 0, order.indices, -1)

    def candidates(self, queries: Tensor) -> Tensor:
        """Which papers each query may see and are not relevant to it: (queries, papers)."""
        pack_queries = self.pack_queries
        everything = torch.arange(self._papers, device=pack_queries.device).expand(len(queries), -1)
        date = pack_queries.date[queries, None]
        visible = ((pack_queries.paper_date > 0) & (pack_queries.paper_date <= date)) | (date >= FOREVER)
        visible &= (pack_queries.paper_set == self._question_set[queries, None]) & (pack_queries.paper_sentence == 0)
        own = everything == pack_queries.citing[queries, None]
        return visible & ~pack_queries.relevant_among_all(queries, self._papers) & ~own

    # -- what is hard --------------------------------------------------------------------------------------------------

    def none(self, queries: Tensor) -> Tensor:
        return torch.zeros((len(queries), self._papers), dtype=torch.bool, device=queries.device)

    def prefiltered(self, queries: Tensor) -> Tensor:
        """The papers that the first stage retrieves."""
        assert self._lists is not None
        rows = self._lists.rows(queries)
        hard = torch.zeros((len(queries), self._papers + 1), dtype=torch.bool, device=rows.device)
        hard.scatter_(1, torch.where(rows >= 0, rows, self._papers), True)  # -1 goes to an extra column
        return hard[:, :-1]

    def graph(self, queries: Tensor) -> Tensor:
        """The papers at the chosen distances from the citing paper; the shortest path counts."""
        year = self.pack_queries.year[queries, None]
        earlier = (self._paper_year > 0) & (self._paper_year < year)
        reached = self._references(queries)
        nearer, hard = reached, self.none(queries)
        for order in range(2, max(self.sampling.orders) + 1):
            reached = self._cited_papers(reached & earlier) & ~nearer
            nearer = nearer | reached
            if order in self.sampling.orders:
                hard = hard | reached
        return hard

    def most_citations(self, queries: Tensor) -> Tensor:
        """The papers of the query's set with the most citations before its year."""
        counts = self.citation_counts(queries)
        counts = counts.masked_fill(self.pack_queries.paper_set != self._question_set[queries, None], 0)
        best = counts.topk(min(self.sampling.most_cited, self._papers), dim=1)
        return self.none(queries).scatter_(1, best.indices, best.values > 0)

    def cited(self, queries: Tensor) -> Tensor:
        """The papers with a citation before the query's year."""
        return self.citation_counts(queries) > 0

    def citation_counts(self, queries: Tensor) -> Tensor:
        """The citations of each paper before the year of each query."""
        return torch.stack([self._citation_counts(year) for year in self.pack_queries.year[queries].tolist()])

    def _citation_counts(self, year: int) -> Tensor:
        if year not in self._counts:
            papers = torch.arange(self._papers, device=self.pack_queries.device) * _YEARS
            ends = torch.searchsorted(self._cited_keys, papers + min(year, _YEARS - 1))
            self._counts[year] = ends - torch.searchsorted(self._cited_keys, papers)
        return self._counts[year]

    def _references(self, queries: Tensor) -> Tensor:
        citing = self.pack_queries.citing[queries]
        start = self.none(queries).scatter_(1, citing.clamp(min=0)[:, None], (citing >= 0)[:, None])
        return self._cited_papers(start)

    def _cited_papers(self, papers: Tensor) -> Tensor:
        """The papers that the papers of each row cite."""
        if self._links is None:
            places = torch.stack([self._cited, self._citing])
            weights = torch.ones(len(self._cited), device=places.device)
            size = (self._papers, self._papers)
            self._links = torch.sparse_coo_tensor(places, weights, size, check_invariants=False).coalesce()
        return torch.sparse.mm(self._links, papers.T.float()).T > 0


STRATEGIES: dict[str, Callable[[Negatives, Tensor], Tensor]] = {
    "random": Negatives.none,
    "prefiltered": Negatives.prefiltered,
    "graph": Negatives.graph,
    "most citations": Negatives.most_citations,
    "cited": Negatives.cited,
}


def pairs(
    arrays: Arrays, queries: Tensor, regime: str = "standard", lists: CandidateLists | None = None
) -> tuple[Tensor, Tensor]:
    """Pairs of queries and relevant papers; under the strict regime only those that `lists` contains."""
    starts = torch.from_numpy(arrays["question_wanted_at"].astype("int64")).to(queries.device)
    relevant = torch.from_numpy(arrays["question_wanted"].astype("int64")).to(queries.device)
    sizes = starts[queries + 1] - starts[queries]
    paired = torch.repeat_interleave(queries, sizes)
    ends = torch.cumsum(sizes, 0)
    within = torch.arange(len(paired), device=queries.device) - torch.repeat_interleave(ends - sizes, sizes)
    positives = relevant[starts[paired] + within]
    if regime != "strict":
        return paired, positives
    assert lists is not None
    listed = torch.cat(
        [lists.contains(*part) for part in zip(paired.split(4096), positives.split(4096), strict=True)] or [paired > 0]
    )
    return paired[listed], positives[listed]


def missing_relevant(arrays: Arrays, pack_queries: PackQueries, queries: Tensor, rows: Tensor) -> Tensor:
    """The relevant papers that are not in the rows, padded with -1."""
    paired, positives = pairs(arrays, queries)
    width = int(pack_queries.relevant_counts(queries).max()) if len(queries) else 0
    missing = torch.full((len(queries), width), -1, device=rows.device)
    place = {query: at for at, query in enumerate(queries.tolist())}
    filled = [0] * len(place)
    for query, paper in zip(paired.tolist(), positives.tolist(), strict=True):
        at = place[query]
        if not bool((rows[at] == paper).any()):
            missing[at, filled[at]] = paper
            filled[at] += 1
    return missing
