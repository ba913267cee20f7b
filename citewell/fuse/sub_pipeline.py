"""A pipeline as the first stage of another, whose later stages re-rank its ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.errors import CitewellError
from citewell.papers import Ranking
from citewell.pipeline.contract import Component, Fusion
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking


@dataclass(frozen=True)
class SubPipeline(Fusion):
    """One pipeline, unchanged."""

    of: tuple[Component, ...]
    """The pipeline, alone in a tuple."""

    def __post_init__(self) -> None:
        if len(self.of) != 1:
            raise CitewellError(f"A sub-pipeline is one pipeline, not {len(self.of)}.")

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        return rankings[0]

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        return self.of[0].sentences(request, ranking.trace[0], papers)
