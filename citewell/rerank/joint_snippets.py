"""JPDRMM as a stage: the best candidates are ranked anew, and so are their sentences, by one model that reads both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.library.library import Library
from citewell.models import joint_snippets, weights
from citewell.models.joint_snippets import against_candidates
from citewell.models.word_networks import available
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, ranked
from citewell.rerank.base import Numbers, Rereads, Scores
from citewell.retrieve.bm25 import Bm25


@dataclass(frozen=True)
class JointSnippets(Rereads):
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "jpdrmm"
    depth: int = 100
    """So many of the best are read again; the others keep their order behind them."""

    said: ClassVar[str] = "read sentence by sentence it scores"

    def weight_versions(self) -> dict[str, str]:
        return {self.model: weights.version(self.model) if available(self.model) else ""}

    def read(self, request: Request, papers: Numbers) -> Scores:
        texts = list(texts_of(request.library, papers.tolist()).values())
        found, sentences = joint_snippets.load(self.model).scores(request.query.text(), texts, self._bm25(request, papers))
        # The title, which comes first, is read for the paper's sake alone.
        self._sentences(request).update(
            zip(papers.tolist(), (scores[1:].astype(np.float64) for scores in sentences), strict=True)
        )
        return found

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        self.score(request, np.array(papers, np.int64))
        known = self._sentences(request)
        return ranked({num: known[num] for num in papers})

    def _bm25(self, request: Request, papers: Numbers) -> Scores:
        """BM25's scores of papers beside those of its candidates."""
        candidates = request.remember(f"candidates {self.depth}", lambda: Bm25(size=self.depth).rank(request).scores)
        return against_candidates(Bm25().score(request, papers), candidates)

    def _sentences(self, request: Request) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """The scores of the sentences of each paper that was read."""
        return request.remember(f"sentences by {self}", dict)


def texts_of(library: Library, papers: Sequence[int]) -> dict[int, list[str]]:
    """What is read of papers: the title, then the sentences; of one that was removed meanwhile an empty title."""
    records, sentences = library.store.papers(papers), library.store.quotable(papers)
    return {
        num: [records[num].title if num in records else "", *(sentence.text for sentence in sentences[num])] for num in papers
    }
