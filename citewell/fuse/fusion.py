"""What fusions share: weights of components, and their rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import Ranking
from citewell.pipeline.contract import Component
from citewell.types import IntArray, PaperNumbers


def component_weights(weights: Sequence[float], components: Sequence[Component]) -> Sequence[float]:
    """The weight of each component; 1 for all where none is given."""
    if weights and len(weights) != len(components):
        raise CitewellError(f"A fusion of {len(components)} pipelines needs {len(components)} weights, not {len(weights)}.")
    return weights or (1.0,) * len(components)


def ranks_of(rankings: Sequence[Ranking]) -> tuple[PaperNumbers, IntArray]:
    """Every paper of some rankings, ascending, and a row for each ranking with the paper's rank in it, 0 where it is absent."""
    papers = np.unique(np.concatenate([ranking.papers for ranking in rankings])) if rankings else np.zeros(0, np.int64)
    ranks = np.zeros((len(rankings), len(papers)), np.int64)
    for row, ranking in zip(ranks, rankings, strict=True):
        row[np.searchsorted(papers, ranking.papers)] = np.arange(1, len(ranking.papers) + 1)
    return papers, ranks
