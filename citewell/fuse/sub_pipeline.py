"""A whole pipeline as the first stage of another, whose later stages refine what it has ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.errors import CitewellError
from citewell.fuse.fusion import Component, Fusion
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking


@dataclass(frozen=True)
class Whole(Fusion):
    """The stage; its parameter is that of ``pipelines.toml``."""

    of: tuple[Component, ...]
    """The one pipeline."""

    def __post_init__(self) -> None:
        if len(self.of) != 1:
            raise CitewellError(f"a stage of the kind 'sub-pipeline' is one pipeline, not {len(self.of)}")

    def rank(self, request: Request) -> Ranking:
        return self.of[0].rank(request)

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        return self.of[0].sentences(request, papers)
