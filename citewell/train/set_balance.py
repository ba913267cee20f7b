"""Draws training pairs, from all of them alike or as many from each set.

Where one set has ten times the pairs of another, a model drawn from all alike learns little of the smaller one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from citewell.train.packs import Arrays


class PairSampler:
    """Draws the places of training pairs, each of a query of the pack."""

    def __init__(self, arrays: Arrays, queries: Tensor, balanced: bool) -> None:
        self._device = queries.device
        if balanced:
            sets = torch.from_numpy(arrays["question_set"].astype("int64")).to(self._device)[queries]
            self._groups = [torch.nonzero(sets == number)[:, 0] for number in sets.unique().tolist()]
        else:
            self._groups = [torch.arange(len(queries), device=self._device)]

    def draw(self, size: int) -> Tensor:
        """So many places; of balanced sets, each gives as many as size allows, the first one the rest."""
        share, rest = divmod(size, len(self._groups))
        sizes = [share + rest, *[share] * (len(self._groups) - 1)]
        drawn = [
            group[torch.randint(len(group), (count,), device=self._device)]
            for group, count in zip(self._groups, sizes, strict=True)
        ]
        return torch.cat(drawn)
