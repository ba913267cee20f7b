"""Wrong papers to learn from: which questions are trained on, and which papers are held against the right ones.

A strategy parts all papers that a question may see and that do not answer it into hard ones and the rest, which are easy; half
of the wrong papers are drawn from either side, or all from the hard ones (`alone`). The strategies and the two regimes are
those of Medić's thesis, with one rule more: neither a paper nor a link from the question's future is used.

- ``random``: none is hard.
- ``prefiltered``: hard is what a first stage found.
- ``graph``: hard is what lies two or three citations away from the citing paper, and no nearer.
- ``most citations``: hard are the papers that were cited most often.
- ``cited``: hard is every paper that was cited at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.train.lists import Lists
from citewell.train.pack_queries import Asking
from citewell.train.packs import FOREVER, Arrays

REGIMES = ("standard", "strict")
_YEARS = 1 << 14


@dataclass(frozen=True)
class Choice:
    """What a recipe says of them."""

    strategy: str = "random"
    alone: bool = False
    """Only hard ones; else half of them are easy."""
    regime: str = "standard"
    """``strict``: only pairs whose paper the first stage found for the question."""
    first_stage: str = ""
    """The pipeline whose lists are beside the pack; needed by ``prefiltered`` and ``strict``."""
    depth: int = 1000
    """So many papers a list."""
    sample: int = 0
    """Of each set so many train questions are put to the first stage, and trained on; 0: all."""
    most: int = 1000
    """So many papers are the most cited ones."""
    orders: tuple[int, ...] = (2, 3)
    """How many citations away graph neighbours are."""

    def check(self) -> None:
        if self.strategy not in STRATEGIES:
            raise CitewellError(f"there are no {self.strategy!r} negatives; there are {', '.join(STRATEGIES)}")
        if self.regime not in REGIMES:
            raise CitewellError(f"there is no regime {self.regime!r}; there are {', '.join(REGIMES)}")
        if self.alone and self.strategy == "random":
            raise CitewellError("random negatives have no hard ones to be drawn alone")
        if not self.first_stage and (self.strategy == "prefiltered" or self.regime == "strict"):
            raise CitewellError("prefiltered negatives and the strict regime need a first stage; name it in [negatives]")


class Negatives:
    """Draws wrong papers for questions."""

    def __init__(self, arrays: Arrays, asking: Asking, choice: Choice, lists: Lists | None = None) -> None:
        choice.check()

        def held(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int64")).to(asking.device)

        self.asking, self.choice, self._lists = asking, choice, lists
        self._papers = len(arrays["paper_date"])
        self._question_set = held("question_set")
        cites = held("cites")
        self._citing, self._cited = cites >> 32, cites & 0xFFFFFFFF
        self._paper_year = asking.paper_date // 10_000
        citing_year = self._paper_year[self._citing]
        known = citing_year > 0  # nobody can say whether a link without a year was there
        self._cited_keys = torch.sort(self._cited[known] * _YEARS + citing_year[known]).values
        self._counts: dict[int, Tensor] = {}
        self._links: Tensor | None = None

    def draw(self, questions: Tensor, size: int) -> Tensor:
        """Wrong papers for each question, the hard ones first; -1 where there are not so many."""
        seen = self.seen(questions)
        hard = STRATEGIES[self.choice.strategy](self, questions) & seen
        luck = torch.rand(seen.shape, device=seen.device)
        of_hard = size if self.choice.alone else size // 2
        chosen = torch.zeros_like(hard)
        best = luck.masked_fill(~hard, -1.0).topk(min(of_hard, self._papers), dim=1)
        chosen.scatter_(1, best.indices, best.values >= 0)
        easy = torch.zeros_like(hard) if self.choice.alone else seen & ~hard
        order = (luck + 1.0 * chosen).masked_fill(~(chosen | easy), -1.0).topk(min(size, self._papers), dim=1)
        return torch.where(order.values >= 0, order.indices, -1)

    def seen(self, questions: Tensor) -> Tensor:
        """Which papers each question may see and is not answered by; rows and columns."""
        asking = self.asking
        everything = torch.arange(self._papers, device=asking.device).expand(len(questions), -1)
        date = asking.date[questions, None]
        there = ((asking.paper_date > 0) & (asking.paper_date <= date)) | (date >= FOREVER)
        there &= (asking.paper_set == self._question_set[questions, None]) & (asking.paper_sentence == 0)
        return there & ~asking.answers(questions, everything) & (everything != asking.citing[questions, None])

    # -- what is hard --------------------------------------------------------------------------------------------------

    def none(self, questions: Tensor) -> Tensor:
        return torch.zeros((len(questions), self._papers), dtype=torch.bool, device=questions.device)

    def prefiltered(self, questions: Tensor) -> Tensor:
        """What the first stage found."""
        assert self._lists is not None
        rows = self._lists.of(questions)
        hard = torch.zeros((len(questions), self._papers + 1), dtype=torch.bool, device=rows.device)
        hard.scatter_(1, torch.where(rows >= 0, rows, self._papers), True)  # what is no paper goes beyond the last
        return hard[:, :-1]

    def graph(self, questions: Tensor) -> Tensor:
        """What lies the chosen numbers of citations away from the citing paper; a paper counts as near as it can be."""
        year = self.asking.year[questions, None]
        earlier = (self._paper_year > 0) & (self._paper_year < year)
        reached = self._cited_by_citing(questions)
        nearer, hard = reached, self.none(questions)
        for order in range(2, max(self.choice.orders) + 1):
            reached = self._one_further(reached & earlier) & ~nearer
            nearer = nearer | reached
            if order in self.choice.orders:
                hard = hard | reached
        return hard

    def most_citations(self, questions: Tensor) -> Tensor:
        """The papers of the question's set that were cited most often before its year."""
        counts = self.times_cited(questions)
        counts = counts.masked_fill(self.asking.paper_set != self._question_set[questions, None], 0)
        best = counts.topk(min(self.choice.most, self._papers), dim=1)
        return self.none(questions).scatter_(1, best.indices, best.values > 0)

    def cited(self, questions: Tensor) -> Tensor:
        """The papers that were cited before the question's year."""
        return self.times_cited(questions) > 0

    def times_cited(self, questions: Tensor) -> Tensor:
        """How often each paper was cited before the year of each question."""
        return torch.stack([self._counted(year) for year in self.asking.year[questions].tolist()])

    def _counted(self, year: int) -> Tensor:
        if year not in self._counts:
            papers = torch.arange(self._papers, device=self.asking.device) * _YEARS
            ends = torch.searchsorted(self._cited_keys, papers + min(year, _YEARS - 1))
            self._counts[year] = ends - torch.searchsorted(self._cited_keys, papers)
        return self._counts[year]

    def _cited_by_citing(self, questions: Tensor) -> Tensor:
        citing = self.asking.citing[questions]
        start = self.none(questions).scatter_(1, citing.clamp(min=0)[:, None], (citing >= 0)[:, None])
        return self._one_further(start)

    def _one_further(self, papers: Tensor) -> Tensor:
        """What some papers of each row cite."""
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


def pairs(arrays: Arrays, questions: Tensor, regime: str = "standard", lists: Lists | None = None) -> tuple[Tensor, Tensor]:
    """Questions with each of their answers, one pair after the other; under the strict regime those that `lists` found."""
    starts = torch.from_numpy(arrays["question_wanted_at"].astype("int64")).to(questions.device)
    wanted = torch.from_numpy(arrays["question_wanted"].astype("int64")).to(questions.device)
    sizes = starts[questions + 1] - starts[questions]
    asked = torch.repeat_interleave(questions, sizes)
    ends = torch.cumsum(sizes, 0)
    within = torch.arange(len(asked), device=questions.device) - torch.repeat_interleave(ends - sizes, sizes)
    right = wanted[starts[asked] + within]
    if regime != "strict":
        return asked, right
    assert lists is not None
    kept = torch.cat([lists.found(*some) for some in zip(asked.split(4096), right.split(4096), strict=True)] or [asked > 0])
    return asked[kept], right[kept]
