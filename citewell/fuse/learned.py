"""The learned combination: trees (LightGBM's lambdarank) weigh every signal of the candidates that some pipelines found.

The candidates are the best of each pipeline (`of`), and each that can score says what it thinks of those of the others;
pipelines that only score (`also`) say what they think of them all. There are trees for each task. What the trees do not see,
the tail of the rankings, follows in the order of reciprocal ranks. Where there are `readers`, which are too slow to score every
candidate, they read those that the trees hold to be best, and second trees, which know what the readers say, order these anew.
The reason given with a paper names the signals that lifted it most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.fuse.components import Component, Fusion, side_by_side
from citewell.fuse.signals import SEEDS, Signals, signals, with_scores
from citewell.models import weights
from citewell.models.trees import Trees, checked
from citewell.papers import Ranking, Reason
from citewell.retrieve.best import best_first, first_of_each
from citewell.retrieve.request import Request

_K = 20.0
_SHOWN = 3

READ = "-read"
"""The second trees' files end so."""
FIRST = "first"
"""The signal of the second trees that is what the first ones thought."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Scored(NamedTuple):
    """Papers, and what some trees think of them."""

    papers: Numbers
    scores: Floats


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
    readers: tuple[Scorer, ...] = ()
    """Pipelines that score the best of the candidates, once these are known."""
    model: str = "fusion"
    depth: int = 150
    """How many of the best of each pipeline are weighed."""
    read: int = 50
    """How many of the best that were weighed are read."""
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        order, weighed = self.candidates(request)
        found = self._weighed(request)
        if self.readers:
            best, table = self.second_signals(request)
            found = _before(best, self._trees(request, table, READ).scores(table.rows), found)
        # Those that were not weighed come after those that were.
        rest = order[~np.isin(order, weighed)]
        found = _before(found.papers, found.scores, Scored(rest, -np.arange(len(rest)) / max(1, len(rest))))
        return best_first(found.papers, found.scores - found.scores.min(initial=0.0) + 1e-3, self.size)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        found = super().reasons(request, papers)
        explained: set[int] = set()
        for kind, (weighed, table) in self._tables(request).items():
            place = {num: at for at, num in enumerate(weighed.tolist())}
            shown = [num for num in papers if num in place and num not in explained]
            explained.update(shown)
            if not shown:
                continue
            shares = self._trees(request, table, kind).shares(table.rows[[place[num] for num in shown]])
            for num, row in zip(shown, shares, strict=True):
                if lifted := _by_signal(table.names, row)[:_SHOWN]:
                    said = ", ".join(f"{name} +{share:.2f}" for name, share in lifted)
                    found.setdefault(num, []).append(Reason("shares", f"lifted by {said}", [name for name, _ in lifted]))
        return found

    def _tables(self, request: Request) -> dict[str, tuple[Numbers, Signals]]:
        """The signals that papers were ordered by, the last ones first."""
        first = {"": self.signals(request)}
        return {READ: self.second_signals(request), **first} if self.readers else first

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

    def second_signals(self, request: Request) -> tuple[Numbers, Signals]:
        """The candidates that are read, and their signals with what the readers say."""

        def work_out() -> tuple[Numbers, Signals]:
            _, weighed = self.candidates(request)
            scores = self._weighed(request).scores
            return self.with_readers(request, scores, np.lexsort((weighed, -scores))[: self.read])

        return request.remember(f"second signals of {self.model} {self.depth} {self.read}", work_out)

    def with_readers(self, request: Request, scores: Floats, places: Numbers) -> tuple[Numbers, Signals]:
        """The candidates at some places, best first, and their signals with what was thought of them and the readers say."""
        best = self.candidates(request)[1][places]
        said = {reader.name: reader.score(request, best).astype(np.float64) for reader in self.readers}
        return best, with_scores(self._signals(request), places, {FIRST: scores[places], **said})

    def _weighed(self, request: Request) -> Scored:
        """What the first trees think of the candidates."""

        def work_out() -> Scored:
            papers, table = self.signals(request)
            return Scored(papers, self._trees(request, table).scores(table.rows))

        return request.remember(f"weighed by {self.model} {self.depth}", work_out)

    def weight_versions(self) -> dict[str, str]:
        """Those of the trees, which may have been trained for some tasks only."""
        trained = any(weights.folder(self.model).glob(f"*{READ if self.readers else ''}.npz"))
        return {self.model: weights.version(self.model) if trained else ""}

    def _trees(self, request: Request, table: Signals, kind: str = "") -> Trees:
        """The trees of the request's task, which were trained on such signals."""
        task = request.query.task
        return checked(table.names, _loaded(self.model, "local" if task == "evidence" else task, kind))


def _before(papers: Numbers, scores: Floats, others: Scored) -> Scored:
    """Papers with their scores, and those of the others that are not among them, all behind."""
    rest = ~np.isin(others.papers, papers)
    behind = others.scores[rest] - others.scores[rest].max(initial=-np.inf) + scores.min(initial=0.0) - 1.0
    return Scored(np.concatenate([papers, others.papers[rest]]), np.concatenate([scores, behind]))


@lru_cache(maxsize=8)
def _loaded(model: str, task: str, kind: str) -> Trees:
    path = weights.folder(model) / f"{task}{kind}.npz"
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
