"""SEMISER as a first stage: of all the library's sentences those nearest to the query; papers go by their best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.vectors import sentences as sentence_vectors
from citewell.models import semiser, weights
from citewell.models.semiser import nearness
from citewell.models.word_networks import available
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, ranked
from citewell.ranking.top_k import best_first

_AT_ONCE = 1 << 15

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Semiser:
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "semiser"
    size: int = 1000

    def weight_versions(self) -> dict[str, str]:
        return {self.model: weights.version(self.model) if available(self.model) else ""}

    def prepare(self, library: Library, donors: Sequence[Path] = ()) -> None:
        """Make the vectors of the library's sentences."""
        sentence_vectors.make(library, self.model, semiser.load(self.model).sentences)

    def rank(self, request: Request) -> Ranking:
        return request.remember(f"nearest of {self}", lambda: self._rank(request))

    def _rank(self, request: Request) -> Ranking:
        asked = semiser.load(self.model).question(request.query.text())
        held = sentence_vectors.open_vectors(request.library, self.model)
        if held is None:
            raise CitewellError(
                f"the sentences of {request.library.folder} have no vectors of {self.model!r};"
                " 'citewell library encode --pipeline' with the name of your pipeline makes them"
            )
        near = np.concatenate(
            [
                np.zeros(0, np.float32),
                *(
                    nearness(asked, held.vectors[at : at + _AT_ONCE].astype(np.float32))
                    for at in range(0, len(held.vectors), _AT_ONCE)
                ),
            ]
        )
        papers, starts = np.unique(held.papers, return_index=True)
        best = np.maximum.reduceat(near, starts) if len(starts) else near
        allowed = request.may_find(papers)
        return best_first(papers[allowed], best[allowed].astype(np.float64) + 2.0, self.size)

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        return ranked(scored(request, self.model, papers))

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        ranking = self.rank(request)
        known = dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))
        return {
            num: [Reason("meaning", f"a sentence of it is close in meaning ({known[num] - 2:.2f})")]
            for num in papers
            if num in known
        }


def scored(request: Request, model: str, papers: Sequence[int]) -> dict[int, Scores]:
    """For each paper how near its sentences are to the query, read now."""
    known: dict[int, Scores] = request.remember(f"nearness by {model}", dict)
    new = [num for num in papers if num not in known]
    if new:
        sentences = request.library.store.quotable(new)
        reads = semiser.load(model)
        vectors = reads.sentences([sentence.text for here in sentences.values() for sentence in here])
        found = nearness(reads.question(request.query.text()), vectors).astype(np.float64)
        parts = np.split(found, np.cumsum([len(here) for here in sentences.values()])[:-1])
        known.update(zip(sentences, parts, strict=True))
    return {num: known[num] for num in papers}
