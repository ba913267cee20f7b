"""What a fusion is made of: pipelines, and their rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking

Numbers = npt.NDArray[np.int64]


class Component(Protocol):
    """A pipeline, as a fusion sees it."""

    def rank(self, request: Request) -> Ranking: ...

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]: ...

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking: ...


class Fusion:
    """What all fusions share: their components, `of`."""

    of: tuple[Component, ...]

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        return all_reasons(self.of, request, papers)


def one_each(weights: Sequence[float], components: Sequence[Component]) -> Sequence[float]:
    """The weight of each component; 1 for all where none is given."""
    if weights and len(weights) != len(components):
        raise CitewellError(f"a fusion of {len(components)} pipelines needs as many weights")
    return weights or (1.0,) * len(components)


def side_by_side(rankings: Sequence[Ranking]) -> tuple[Numbers, Numbers]:
    """Every paper of some rankings, ascending, and a row for each ranking with its rank there, 0 where it is not."""
    papers = np.unique(np.concatenate([ranking.papers for ranking in rankings])) if rankings else np.zeros(0, np.int64)
    ranks = np.zeros((len(rankings), len(papers)), np.int64)
    for row, ranking in zip(ranks, rankings, strict=True):
        row[np.searchsorted(papers, ranking.papers)] = np.arange(1, len(ranking.papers) + 1)
    return papers, ranks


def all_reasons(components: Sequence[Component], request: Request, papers: list[int]) -> dict[int, list[Reason]]:
    """What each component has to say for the papers that it found, of every kind of reason the first."""
    reasons: dict[int, list[Reason]] = {}
    for component in components:
        ranked = set(component.rank(request).papers.tolist())
        for num, found in component.reasons(request, [num for num in papers if num in ranked]).items():
            kinds = {reason.kind for reason in reasons.setdefault(num, [])}
            reasons[num] += [reason for reason in found if reason.kind not in kinds]
    return reasons
