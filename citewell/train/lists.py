"""Candidate lists: for queries of a pack, the papers that a first stage retrieves.

The sidecar file of the pack has two arrays: ``questions``, ascending numbers of the pack's queries, and ``papers``, one row of
the pack's papers per query, best first, padded with -1; and the fingerprint of the pack. `citewell.train.prefilter` makes it;
numpy and torch read it.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.train.curve import Values
from citewell.train.pack_queries import PackQueries
from citewell.train.packs import Arrays, load
from citewell.train.sidecars import pack_fingerprint, sidecar_path


class CandidateLists:
    """The candidate lists of some queries, on a device."""

    def __init__(self, queries: Tensor, papers: Tensor) -> None:
        self.queries, self.papers = queries.contiguous(), papers

    @classmethod
    def read(cls, pack: Path, arrays: Arrays, name: str, device: torch.device) -> CandidateLists:
        """Load the lists of the first stage `name` from the sidecar of a pack with these `arrays`."""
        path = sidecar_path(pack, name)
        if not path.exists():
            raise CitewellError(f"there is no {path}; citewell.train.prefilter makes it from the sets of the pack")
        stored = load(path)
        if str(stored["pack"]) != pack_fingerprint(arrays):
            raise CitewellError(f"{path} was made for another pack; remove it and make it again")
        return cls(*(torch.from_numpy(stored[part].astype("int64")).to(device) for part in ("questions", "papers")))

    def has_list(self, queries: Tensor) -> Tensor:
        """Which queries have a list."""
        return self.queries[self._positions(queries)] == queries if len(self.queries) else torch.zeros_like(queries) > 0

    def rows(self, queries: Tensor) -> Tensor:
        """The lists of queries; -1 throughout for a query without one."""
        listed = self.has_list(queries)
        if not len(self.queries):
            return torch.full((len(queries), 1), -1, device=queries.device)
        return torch.where(listed[:, None], self.papers[self._positions(queries)], -1)

    def contains(self, queries: Tensor, papers: Tensor) -> Tensor:
        """For each query and its paper, whether the list has the paper."""
        return (self.rows(queries) == papers[:, None]).any(1)

    def _positions(self, queries: Tensor) -> Tensor:
        return torch.searchsorted(self.queries, queries).clamp(max=max(0, len(self.queries) - 1))


def spread(queries: Tensor, size: int) -> Tensor:
    """At most `size` queries, at equal distances: neighbours are often of one paper."""
    if len(queries) <= size:
        return queries
    return queries[torch.arange(size, device=queries.device) * len(queries) // size]


def sort_by_score(papers: Tensor, scores: Tensor) -> Tensor:
    """Each row of papers sorted by score, best first; -1 (no paper) last."""
    order = scores.masked_fill(papers < 0, float("-inf")).argsort(dim=1, descending=True, stable=True)
    return papers.gather(1, order)


def ranking_measures(pack_queries: PackQueries, queries: Tensor, papers: Tensor) -> Values:
    """R@10, R-precision and RR of rows of ranked papers."""
    relevant = pack_queries.relevant(queries, papers)
    counts = pack_queries.relevant_counts(queries)
    places = torch.arange(papers.shape[1], device=papers.device)
    reciprocal = torch.where(relevant.any(1), 1 / (relevant.float().argmax(1) + 1), 0.0)
    return {
        "R@10": round((relevant[:, :10].sum(1) / counts).mean().item(), 4),
        "Rprec": round(((relevant & (places < counts[:, None])).sum(1) / counts).mean().item(), 4),
        "RR": round(reciprocal.mean().item(), 4),
    }
