"""The learned combination: trees (LightGBM's lambdarank) weigh every signal of the candidates that some pipelines found.

The candidates are the best of each pipeline (`of`), and each that can score says what it thinks of those of the others;
pipelines that only score (`also`) say what they think of them all. There are trees for each task. What the trees do not see,
the tail of the rankings, follows in the order of reciprocal ranks. Where there are `readers`, which are too slow to score every
candidate, they read those that the trees hold to be best, and second trees add to the scores of these what the readers say. The
reason given with a paper names the signals that lifted it most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.fuse.components import Component, Fusion, side_by_side
from citewell.fuse.signals import SEEDS, Signals, of_readers, signals
from citewell.models import weights
from citewell.models.trees import Trees, checked
from citewell.papers import Ranking, Reason
from citewell.retrieve.best import best_first, first_of_each
from citewell.retrieve.request import Request

_K = 20.0
_SHOWN = 3
_LITTLE = 0.005
"""What adds no more than this is not shown."""

READ = "-read"
"""The second trees' files end so."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Scored(NamedTuple):
    """Papers, and what some trees think of them."""

    papers: Numbers
    scores: Floats


class Read(NamedTuple):
    """The candidates that were read, best first."""

    papers: Numbers
    before: Floats
    """What the first trees think of them."""
    said: Signals
    """What the readers say of them."""


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
            read = self._read(request)
            found = _before(read.papers, read.before + self._trees(request, read.said, READ).scores(read.said.rows), found)
        # Those that were not weighed come after those that were.
        rest = order[~np.isin(order, weighed)]
        found = _before(found.papers, found.scores, Scored(rest, -np.arange(len(rest)) / max(1, len(rest))))
        return best_first(found.papers, found.scores - found.scores.min(initial=0.0) + 1e-3, self.size)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        found = super().reasons(request, papers)
        for num, shares in self._shares(request, papers).items():
            if lifted := sorted(((name, share) for name, share in shares.items() if share > _LITTLE), key=_by_share)[:_SHOWN]:
                said = ", ".join(f"{name} +{share:.2f}" for name, share in lifted)
                found.setdefault(num, []).append(Reason("shares", f"lifted by {said}", [name for name, _ in lifted]))
        return found

    def _shares(self, request: Request, papers: list[int]) -> dict[int, dict[str, float]]:
        """What each signal that they have adds to the scores of papers, ranks and scores of one pipeline taken together."""
        tables = [("", *self.signals(request))]
        if self.readers:
            read = self._read(request)
            tables.append((READ, read.papers, read.said))
        found: dict[int, dict[str, float]] = {}
        for kind, weighed, table in tables:
            place = {num: at for at, num in enumerate(weighed.tolist())}
            shown = [num for num in papers if num in place]
            rows = table.rows[[place[num] for num in shown]]
            # What a signal would say that is missing is no reason.
            shares = np.where(np.isnan(rows), 0.0, self._trees(request, table, kind).shares(rows))
            for num, row in zip(shown, shares, strict=True):
                totals = found.setdefault(num, {})
                for name, share in zip(table.names, row.tolist(), strict=True):
                    whole = name.removesuffix(" rank").removesuffix(" score").removesuffix(" behind")
                    totals[whole] = totals.get(whole, 0.0) + share
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

    def _read(self, request: Request) -> Read:
        """The best by the first trees, and what the readers say of them."""

        def work_out() -> Read:
            return self.read_best(request, self._weighed(request).scores)

        return request.remember(f"best of {self.model} {self.depth} {self.read}, read", work_out)

    def read_best(self, request: Request, scores: Floats) -> Read:
        """The best of the candidates that are weighed, by such scores, and what the readers say of them."""
        _, weighed = self.candidates(request)
        places = np.lexsort((weighed, -scores))[: self.read]
        best = weighed[places]
        said = {reader.name: reader.score(request, best).astype(np.float64) for reader in self.readers}
        return Read(best, scores[places], of_readers(said))

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


def _by_share(lifted: tuple[str, float]) -> float:
    return -lifted[1]
