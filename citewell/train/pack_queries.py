"""The queries of a pack on a device: sampled for training, measured on dev, and used to mine hard negatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from citewell.train.packs import SPLITS, TASKS, Arrays

FOREVER = 9999
_AT_ONCE = 512

EncodeQueries = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Group:
    """The queries of one set and task."""

    set: int
    task: int
    sentences: int
    """Whether sentences are relevant rather than papers."""
    queries: Tensor
    pairs: int
    """Pairs of a query and a relevant paper."""

    def name(self, arrays: Arrays) -> str:
        return f"{arrays['sets'][self.set]} {TASKS[self.task]}{' sentences' if self.sentences else ''}"


class PackQueries:
    """Queries, and which papers are relevant, may be relevant, or are not."""

    def __init__(self, arrays: Arrays, device: torch.device) -> None:
        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int64")).to(device)

        self._arrays = arrays
        self.device = device
        self._relevant_at, self._relevant = tensor("question_wanted_at"), tensor("question_wanted")
        counts = self._relevant_at[1:] - self._relevant_at[:-1]
        owners = torch.repeat_interleave(torch.arange(len(counts), device=self.device), counts)
        self._relevant_keys = torch.sort(owners << 32 | self._relevant).values
        self._cites = tensor("cites")
        self.citing, self.date = tensor("question_citing"), tensor("question_date")
        self.paper_date, self.paper_set, self.paper_sentence = (
            tensor("paper_date"),
            tensor("paper_set"),
            tensor("paper_sentence"),
        )
        self.year = torch.where(self.date < 9999_0000, self.date // 10_000, FOREVER)

    def groups(self, split: str) -> list[Group]:
        """The queries of a split by set and task."""
        columns = [self._arrays[f"question_{name}"] for name in ("set", "task", "sentences", "split")]
        counts = np.diff(self._arrays["question_wanted_at"])
        groups = []
        for place, task, sentences in sorted({key[:3] for key in zip(*(column.tolist() for column in columns), strict=True)}):
            key = (place, task, sentences, SPLITS.index(split))
            here = np.flatnonzero(np.all([column == value for column, value in zip(columns, key, strict=True)], axis=0))
            if len(here):
                numbers = torch.from_numpy(here.astype("int64")).to(self.device)
                groups.append(Group(place, task, sentences, numbers, int(counts[here].sum())))
        return groups

    def sample_relevant(self, queries: Tensor) -> Tensor:
        """One relevant paper of each query, at random."""
        first, count = self._relevant_at[queries], self._relevant_at[queries + 1] - self._relevant_at[queries]
        return self._relevant[first + (torch.rand(len(queries), device=self.device) * count).long()]

    def maybe_relevant(self, queries: Tensor, papers: Tensor) -> Tensor:
        """Whether each paper is relevant to each query, or is its citing paper, or is cited by that: (queries, papers)."""
        keys = queries[:, None] << 32 | papers
        citing = self.citing[queries]
        cited = citing.clamp(min=0)[:, None] << 32 | papers
        own = citing[:, None] == papers
        return _isin(keys, self._relevant_keys) | own | ((citing >= 0)[:, None] & _isin(cited, self._cites))

    def ambiguous(self, queries: Tensor, papers: Tensor) -> Tensor:
        """`maybe_relevant` without the relevant papers: neither positives nor negatives."""
        return self.maybe_relevant(queries, papers) & ~self.relevant(queries, papers)

    def relevant(self, queries: Tensor, papers: Tensor) -> Tensor:
        """Whether the papers of each query's row are relevant; -1 is no paper."""
        return _isin(queries[:, None] << 32 | papers, self._relevant_keys)

    def relevant_among_all(self, queries: Tensor, papers: int) -> Tensor:
        """Whether each of the first `papers` papers is relevant: (queries, papers)."""
        counts = self.relevant_counts(queries)
        places = torch.arange(int(counts.max()) if len(queries) else 0, device=self.device).expand(len(queries), -1)
        relevant = self._relevant[(self._relevant_at[queries, None] + places).clamp(max=len(self._relevant) - 1)]
        mask = torch.zeros((len(queries), papers + 1), dtype=torch.bool, device=self.device)
        # Places beyond the last relevant paper go to an extra column.
        return mask.scatter_(1, torch.where(places < counts[:, None], relevant, papers), True)[:, :-1]

    def relevant_counts(self, queries: Tensor) -> Tensor:
        """The number of relevant papers of each query."""
        return self._relevant_at[queries + 1] - self._relevant_at[queries]

    def pool(self, place: int, sentences: int) -> Tensor:
        """The papers, or sentences, of a set."""
        return torch.nonzero((self.paper_set == place) & (self.paper_sentence == sentences)).flatten()

    def top_papers(
        self,
        queries: Tensor,
        pool: Tensor,
        vectors: Tensor,
        encode_queries: EncodeQueries,
        size: int,
        hide: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> Iterator[Tensor]:
        """The top papers of a pool for batches of queries, without papers from their future and those to `hide`.

        Rows with fewer than `size` papers are padded with -1.
        """
        for batch in queries.split(_AT_ONCE):
            scores = encode_queries(batch) @ vectors.T
            unseen = (self.paper_date[pool][None] > self.date[batch, None]) | (
                (self.paper_date[pool] == 0)[None] & (self.date[batch, None] < 9999_0000)
            )
            unseen |= pool[None] == self.citing[batch, None]
            if hide is not None:
                unseen |= hide(batch, pool)
            scores, places = scores.masked_fill_(unseen, float("-inf")).topk(min(size, len(pool)), dim=1)
            yield torch.where(scores > float("-inf"), pool[places], -1)

    def measure(
        self, group: Group, pool: Tensor, vectors: Tensor, encode_queries: EncodeQueries, sample: int
    ) -> dict[str, float]:
        """R@10 and RR of a group, on at most `sample` queries."""
        generator = torch.Generator().manual_seed(0)
        sampled = torch.randperm(len(group.queries), generator=generator)[:sample].to(self.device)
        queries = group.queries[sampled]
        recall, reciprocal = [], []
        for batch, ranked in zip(
            queries.split(_AT_ONCE), self.top_papers(queries, pool, vectors, encode_queries, 100), strict=True
        ):
            relevant = self.relevant(batch, ranked)
            recall.append(relevant[:, :10].sum(1) / self.relevant_counts(batch).clamp(max=10**6))
            rank = torch.where(relevant.any(1), relevant.float().argmax(1) + 1, 10**9)
            reciprocal.append(1 / rank)
        return {"R@10": torch.cat(recall).mean().item(), "RR": torch.cat(reciprocal).mean().item(), "queries": len(queries)}


def _isin(keys: Tensor, known: Tensor) -> Tensor:
    """Which keys are in the sorted `known` ones."""
    if not len(known):
        return torch.zeros_like(keys, dtype=torch.bool)
    return known[torch.searchsorted(known, keys).clamp(max=len(known) - 1)] == keys
