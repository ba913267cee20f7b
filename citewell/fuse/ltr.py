"""The learned combination: trees (LightGBM's lambdarank) weigh every signal of the candidates that some pipelines found.

The candidates are the best of each pipeline (`of`), and each that can score says what it thinks of those of the others;
pipelines that only score (`also`) say what they think of them all. There are trees for each task, and where it was trained a
small network: the mean of their scores counts. What is not weighed, the tail of the rankings, follows in the order of
reciprocal ranks. The reason given with a paper names the signals that lifted it most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.fuse.features import SEEDS, Signals, signals
from citewell.fuse.fusion import Component, Fusion, side_by_side
from citewell.models import weights
from citewell.models.ltr_network import Network, network_path
from citewell.models.trees import Trees
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import before_the_rest, best_first, first_of_each

_K = 20.0
_SHOWN = 3
_LITTLE = 0.005
"""What adds no more than this is not shown."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Scorer(Component, Protocol):
    """A pipeline, as the combination sees it."""

    @property
    def name(self) -> str: ...

    def weight_versions(self) -> dict[str, str]: ...

    def can_score(self) -> bool: ...

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class Learned(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Scorer, ...]
    also: tuple[Scorer, ...] = ()
    """Pipelines that score the candidates and find none of their own."""
    model: str = "ltr"
    depth: int = 150
    """How many of the best of each pipeline are weighed."""
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        order, weighed = self.candidates(request)
        scores = self._weighed(request)
        found = before_the_rest(weighed, scores, order[~np.isin(order, weighed)])
        return Ranking(found.papers[: self.size], found.scores[: self.size])

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        found = super().reasons(request, papers)
        for num, shares in self._shares(request, papers).items():
            if lifted := sorted(((name, share) for name, share in shares.items() if share > _LITTLE), key=_by_share)[:_SHOWN]:
                said = ", ".join(f"{name} +{share:.2f}" for name, share in lifted)
                found.setdefault(num, []).append(Reason("shares", f"lifted by {said}", [name for name, _ in lifted]))
        return found

    def _shares(self, request: Request, papers: list[int]) -> dict[int, dict[str, float]]:
        """What each signal that they have adds to the scores of papers, ranks and scores of one pipeline taken together."""
        weighed, table = self.signals(request)
        place = {num: at for at, num in enumerate(weighed.tolist())}
        shown = [num for num in papers if num in place]
        rows = table.rows[[place[num] for num in shown]]
        # What a signal would say that is missing is no reason.
        shares = np.where(np.isnan(rows), 0.0, self._both(request, table).shares(rows))
        found: dict[int, dict[str, float]] = {num: {} for num in shown}
        for num, row in zip(shown, shares, strict=True):
            for name, share in zip(table.names, row.tolist(), strict=True):
                whole = name.removesuffix(" rank").removesuffix(" score").removesuffix(" below best")
                found[num][whole] = found[num].get(whole, 0.0) + share
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

    def _weighed(self, request: Request) -> Floats:
        """What trees and network think of the candidates that are weighed."""

        def work_out() -> Floats:
            _, table = self.signals(request)
            return self._both(request, table).scores(table.rows)

        return request.remember(f"weighed by {self.model} {self.depth}", work_out)

    def weight_versions(self) -> dict[str, str]:
        """Those of the trees, which may have been trained for some tasks only."""
        trained = any(weights.folder(self.model).glob("*.npz"))
        return {self.model: weights.version(self.model) if trained else ""}

    def _both(self, request: Request, table: Signals) -> Judges:
        """What was trained for the request's task, on such signals."""
        task = request.query.task
        found = _loaded(self.model, "local" if task == "evidence" else task)
        if any(judge.names != table.names for judge in found.all()):
            raise CitewellError("the learned combination was trained on other signals; train it again: citewell train ltr")
        return found


@dataclass(frozen=True)
class Judges:
    """The trees of a task and, where there is one, the network beside them."""

    trees: Trees
    network: Network | None

    def all(self) -> list[Trees | Network]:
        return [self.trees, *([self.network] if self.network else [])]

    def scores(self, rows: Floats) -> Floats:
        return self._mean(lambda judge: judge.scores(rows))

    def shares(self, rows: Floats) -> Floats:
        """What each signal adds to the score of each row."""
        return self._mean(lambda judge: judge.shares(rows))

    def _mean(self, opinion: Callable[[Trees | Network], Floats]) -> Floats:
        """The mean of what they think, so that scores are of the same size with a network as without one."""
        if self.network is None:
            return opinion(self.trees)
        return (opinion(self.trees) + self.network.share * opinion(self.network)) / (1.0 + self.network.share)


@lru_cache(maxsize=8)
def _loaded(model: str, task: str) -> Judges:
    path = weights.folder(model) / f"{task}.npz"
    if not path.is_file():
        raise CitewellError(f"there is no learned combination {model!r} for the {task} task; train it: citewell train ltr")
    beside = network_path(path)
    return Judges(Trees.load(path), Network.load(beside) if beside.is_file() else None)


def _by_share(lifted: tuple[str, float]) -> float:
    return -lifted[1]
