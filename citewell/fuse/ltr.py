"""Learning to rank: LightGBM's lambdarank trees, and a small network, over the features of the candidates.

The candidates are the top papers of each pipeline in `of`; each pipeline that can score given papers scores the candidates of
the others, and the pipelines in `also` score all of them and add none. Each task has its own trees and, where it was trained, a
network; the mean of their scores counts. Papers below the depth follow in the order of reciprocal rank fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from citewell.errors import CitewellError
from citewell.fuse.features import LABELS, SEEDS, Features, features
from citewell.fuse.fusion import ranks_of
from citewell.models import weights
from citewell.models.ltr_network import Network, network_path
from citewell.models.trees import Trees
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Component, Explanations, Fusion, Requirement, Weights
from citewell.ranking.request import Request
from citewell.ranking.top_k import rank, rank_first, unique_in_order
from citewell.types import Float64Array, PaperNumbers

_K = 20.0
_SHOWN = 3
_NEGLIGIBLE = 0.005
"""Contributions of no more than this are not shown."""


class Trace(NamedTuple):
    """What the ensemble scored."""

    rankings: tuple[Ranking, ...]
    """Of the components."""
    candidates: PaperNumbers
    features: Features


@dataclass(frozen=True)
class LTR(Fusion):
    """A learned combination of pipelines."""

    of: tuple[Component, ...]
    also: tuple[Component, ...] = ()
    """Pipelines that score the candidates and add none."""
    model: str = "ltr"
    depth: int = 150
    """How many of the top papers of each pipeline become candidates."""
    size: int = 1000

    def requirements(self) -> Sequence[Requirement]:
        # Trees may have been trained for some tasks only.
        trained = any(weights.folder(self.model).glob("*.npz"))
        return [Weights(self.model, weights.fingerprint(self.model) if trained else "")]

    def retrieve(self, request: Request) -> Ranking:
        rankings = tuple(component.rank(request) for component in self.of)
        return self.fuse(request, rankings)

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        order, candidates = self._candidates(rankings)
        table = self._features(request, rankings, candidates)
        scores = self._ensemble(request, table).scores(table.rows)
        ranking = rank_first(candidates, scores, order[~np.isin(order, candidates)]).top(self.size)
        return ranking._replace(trace=Trace(tuple(rankings), candidates, table))

    def candidate_features(self, request: Request) -> tuple[PaperNumbers, Features]:
        """The candidates and their features: what training learns from."""
        rankings = [component.rank(request) for component in self.of]
        _, candidates = self._candidates(rankings)
        return candidates, self._features(request, rankings, candidates)

    def _candidates(self, rankings: Sequence[Ranking]) -> tuple[PaperNumbers, PaperNumbers]:
        """All papers of the rankings in the order of reciprocal rank fusion, and those of them that are candidates."""
        papers, ranks = ranks_of(rankings)
        shares = np.where(ranks > 0, 1.0 / (_K + ranks), 0.0).sum(axis=0)
        order = rank(papers, shares).papers
        top = unique_in_order(np.concatenate([ranking.papers[: self.depth] for ranking in rankings]))
        return order, order[np.isin(order, top)]

    def _features(self, request: Request, rankings: Sequence[Ranking], candidates: PaperNumbers) -> Features:
        named = {component.name: ranking for component, ranking in zip(self.of, rankings, strict=True)}
        scorers = [*(component for component in self.of if component.can_score), *self.also]
        scores = {component.name: component.score(request, candidates) for component in scorers}
        return features(request, candidates, named, scores, candidates[:SEEDS])

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """The reasons of the components, and, for experts, the features that raised each paper most."""
        trace: Trace = ranking.trace
        reasons = super().explain(request, ranking._replace(trace=trace.rankings), papers)
        for number, contributions in self._contributions(request, trace, papers).items():
            raised = [(name, value) for name, value in contributions.items() if value > _NEGLIGIBLE]
            raised = sorted(raised, key=lambda pair: -pair[1])[:_SHOWN]
            if raised:
                text = ", ".join(f"{LABELS.get(name, name)} {value:+.2f}" for name, value in raised)
                names = [name for name, _ in raised]
                reasons.setdefault(number, []).append(Reason("features", f"Features: {text}.", names, detail=True))
        return reasons

    def _contributions(self, request: Request, trace: Trace, papers: list[int]) -> dict[int, dict[str, float]]:
        """What each feature that they have adds to the scores of papers; ranks and scores of one pipeline count as one."""
        position = {number: at for at, number in enumerate(trace.candidates.tolist())}
        shown = [number for number in papers if number in position]
        rows = trace.features.rows[[position[number] for number in shown]]
        # A missing feature is no reason, whatever the model makes of its absence.
        shares = np.where(np.isnan(rows), 0.0, self._ensemble(request, trace.features).contributions(rows))
        contributions: dict[int, dict[str, float]] = {number: {} for number in shown}
        for number, row in zip(shown, shares, strict=True):
            for name, share in zip(trace.features.names, row.tolist(), strict=True):
                source = name.removesuffix(" rank").removesuffix(" score").removesuffix(" below best")
                contributions[number][source] = contributions[number].get(source, 0.0) + share
        return contributions

    def _ensemble(self, request: Request, table: Features) -> Ensemble:
        """The trained models of the request's task."""
        task = request.query.task
        ensemble = _loaded(self.model, "local" if task == "evidence" else task)
        if any(model.names != table.names for model in ensemble.models()):
            raise CitewellError(
                f"The model {self.model!r} was trained on other features than these pipelines have. Run 'citewell train ltr'."
            )
        return ensemble


@dataclass(frozen=True)
class Ensemble:
    """The trees of a task and, where there is one, the network."""

    trees: Trees
    network: Network | None

    def models(self) -> list[Trees | Network]:
        return [self.trees, *([self.network] if self.network else [])]

    def scores(self, rows: Float64Array) -> Float64Array:
        return self._mean(lambda model: model.scores(rows))

    def contributions(self, rows: Float64Array) -> Float64Array:
        """What each feature adds to the score of each row."""
        return self._mean(lambda model: model.contributions(rows))

    def _mean(self, output: Callable[[Trees | Network], Float64Array]) -> Float64Array:
        """The weighted mean, so that scores have the same scale with a network as without one."""
        if self.network is None:
            return output(self.trees)
        return (output(self.trees) + self.network.share * output(self.network)) / (1.0 + self.network.share)


@lru_cache(maxsize=8)
def _loaded(model: str, task: str) -> Ensemble:
    path = weights.folder(model) / f"{task}.npz"
    if not path.is_file():
        raise CitewellError(f"There is no learning-to-rank model {model!r} for the {task} task. Run 'citewell train ltr'.")
    network = network_path(path)
    return Ensemble(Trees.load(path), Network.load(network) if network.is_file() else None)
