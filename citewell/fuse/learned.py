"""The learned combination: trees (LightGBM's lambdarank) weigh every signal of the candidates that some pipelines found.

The candidates are the best of each pipeline (`of`), and each that can score says what it thinks of those of the others;
pipelines that only score (`also`) say what they think of them all. There are trees for each task. What the trees do not see,
the tail of the rankings, follows in the order of reciprocal ranks. The reason given with a paper names the signals that lifted
it most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.fuse.components import Component, Fusion, side_by_side
from citewell.fuse.signals import SEEDS, Signals, signals
from citewell.models import weights
from citewell.models.trees import Trees
from citewell.papers import Ranking, Reason
from citewell.retrieve.best import best_first, first_of_each
from citewell.retrieve.request import Request

_K = 20.0
_SHOWN = 3

Numbers = npt.NDArray[np.int64]


class Scorer(Component, Protocol):
    """A pipeline, as the combination sees it."""

    @property
    def name(self) -> str: ...

    def can_score(self) -> bool: ...

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class Learned(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Scorer, ...]
    also: tuple[Scorer, ...] = ()
    """Pipelines that score the candidates and find none of their own."""
    model: str = "fusion"
    depth: int = 150
    """How many of the best of each pipeline are weighed."""
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        order, weighed = self.candidates(request)
        scores = self._trees(request).scores(self._signals(request).rows)
        # Those that were not weighed come after those that were.
        rest = order[~np.isin(order, weighed)]
        low = float(scores.min(initial=0.0))
        tail = low - 1.0 - np.arange(len(rest)) / max(1, len(rest))
        papers, found = np.concatenate([weighed, rest]), np.concatenate([scores, tail])
        return best_first(papers, found - found.min(initial=0.0) + 1e-3, self.size)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        found = super().reasons(request, papers)
        _, weighed = self.candidates(request)
        place = {num: at for at, num in enumerate(weighed.tolist())}
        shown = [num for num in papers if num in place]
        if not shown:
            return found
        table = self._signals(request)
        shares = self._trees(request).shares(table.rows[[place[num] for num in shown]])
        for num, row in zip(shown, shares, strict=True):
            lifted = _by_signal(table.names, row)
            if lifted:
                said = ", ".join(f"{name} +{share:.2f}" for name, share in lifted[:_SHOWN])
                found.setdefault(num, []).append(Reason("shares", f"lifted by {said}", [name for name, _ in lifted[:_SHOWN]]))
        return found

    def candidates(self, request: Request) -> tuple[Numbers, Numbers]:
        """All papers that were found, by reciprocal ranks, and those of them that are weighed."""

        def work_out() -> tuple[Numbers, Numbers]:
            rankings = [component.rank(request) for component in self.of]
            papers, ranks = side_by_side(rankings)
            shares = np.where(ranks > 0, 1.0 / (_K + ranks), 0.0).sum(axis=0)
            order = best_first(papers, shares, max(1, len(papers))).papers
            kept = first_of_each(np.concatenate([ranking.papers[: self.depth] for ranking in rankings]))
            return order, order[np.isin(order, kept)]

        return request.remember(f"candidates of {self.model} {self.depth}", work_out)

    def _signals(self, request: Request) -> Signals:
        def work_out() -> Signals:
            _, weighed = self.candidates(request)
            rankings = {component.name: component.rank(request) for component in self.of}
            scorers = [component for component in self.of if component.can_score()] + list(self.also)
            scores = {component.name: component.score(request, weighed) for component in scorers}
            return signals(request, weighed, rankings, scores, weighed[:SEEDS])

        return request.remember(f"signals of {self.model} {self.depth}", work_out)

    def signals(self, request: Request) -> tuple[Numbers, Signals]:
        """The candidates that are weighed, and their signals: what training learns from."""
        return self.candidates(request)[1], self._signals(request)

    def lacks(self) -> list[str]:
        """The model, where it has not been trained for any task."""
        return [] if any(weights.folder(self.model).glob("*.npz")) else [self.model]

    def _trees(self, request: Request) -> Trees:
        task = request.query.task
        return _loaded(self.model, "local" if task == "evidence" else task)


@lru_cache(maxsize=8)
def _loaded(model: str, task: str) -> Trees:
    path = weights.folder(model) / f"{task}.npz"
    if not path.is_file():
        raise CitewellError(f"there is no learned combination {model!r} for the {task} task; train it: citewell train fusion")
    return Trees.load(path)


def _by_signal(names: Sequence[str], row: npt.NDArray[np.float64]) -> list[tuple[str, float]]:
    """What each signal adds, ranks and scores of one pipeline taken together, the most first; only what lifts."""
    totals: dict[str, float] = {}
    for name, share in zip(names, row.tolist(), strict=True):
        whole = name.removesuffix(" rank").removesuffix(" score").removesuffix(" behind")
        totals[whole] = totals.get(whole, 0.0) + share
    return sorted(((name, share) for name, share in totals.items() if share > 0.005), key=lambda pair: -pair[1])
