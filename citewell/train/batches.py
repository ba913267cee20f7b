"""Batches straight from a pack that lies in the device's memory: texts are put together there, token by token, all at once.

The same layout as `citewell.models.inputs.Reader` makes of one text at a time; a test holds the two together.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from citewell.models.inputs import Inputs
from citewell.train.packs import EMPTY, TASKS, Arrays

CLS, SEP, MASK = 101, 102, 103
_ROUND = 32
"""Batches are padded to a multiple of this, so that few shapes occur."""
_YEARS = 1 << 14

LOCAL = TASKS.index("local")


class Tokens(NamedTuple):
    """Texts as token numbers, padded, and which of them are no padding."""

    ids: Tensor
    mask: Tensor

    def by_length(self, parts: int) -> tuple[Tensor, list[Tokens]]:
        """About equal parts, the shortest texts first, so that little of each is padding; and the places of their texts."""
        order = self.mask.sum(1).argsort()
        found = []
        for places in order.chunk(parts):
            width = -(-int(self.mask[places[-1]].sum()) // _ROUND) * _ROUND
            found.append(Tokens(self.ids[places, :width], self.mask[places, :width]))
        return order, found


class Part(NamedTuple):
    """A part of each text of a batch: rows of the pack, the most tokens, and whether a separator follows."""

    rows: Tensor
    size: int
    centred: bool = False
    ends: str = "if any"
    """``if any``: a separator follows unless the part is empty; ``always``; ``never``."""


class Texts:
    """A pack on a device."""

    def __init__(self, arrays: Arrays, inputs: Inputs, device: torch.device) -> None:
        def held(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int32" if name == "tokens" else "int64")).to(device)

        self.device = device
        self.inputs = inputs
        self._tokens, self._at, self._gap = held("tokens"), held("text_at"), held("text_gap")
        self._prefixes = held("prefixes")
        self._title, self._abstract = held("paper_title"), held("paper_abstract")
        self._said_at, self._said_text = held("said_at"), held("said_text")
        counts = self._said_at[1:] - self._said_at[:-1]
        papers = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        self._said_key = papers * _YEARS + held("said_year")
        self._question = {name: held(f"question_{name}") for name in ("task", "context", "title", "abstract")}

    def questions(self, numbers: Tensor) -> Tokens:
        """Questions as the encoder reads them."""
        column = {name: values[numbers] for name, values in self._question.items()}
        inputs = self.inputs
        return self._laid_out(
            [
                Part(self._prefixes[column["task"]], inputs.topic, ends="never"),
                Part(column["context"], inputs.context, centred=True, ends="always"),
                Part(column["title"], inputs.title),
                Part(column["abstract"], inputs.query),
            ],
            inputs.query,
        )

    def papers(self, numbers: Tensor, before: Tensor, drawn: bool = False) -> Tokens:
        """Papers as the encoder reads them, with contexts from years earlier than `before`: the newest ones, or some drawn."""
        inputs = self.inputs
        said = self.said(numbers, before, drawn)
        return self._laid_out(
            [
                Part(self._title[numbers], inputs.paper_title),
                *(Part(said[:, place], inputs.window, centred=True) for place in range(inputs.contexts)),
                Part(self._abstract[numbers], inputs.paper),
            ],
            inputs.paper,
        )

    def said(self, numbers: Tensor, before: Tensor, drawn: bool) -> Tensor:
        """Of each paper some rows of what others said of it before a year, in the order of time, then empty ones."""
        size = self.inputs.contexts
        first = self._said_at[numbers]
        count = torch.searchsorted(self._said_key, numbers * _YEARS + before) - first
        places = torch.arange(size, device=self.device).expand(len(numbers), size)
        if drawn:
            luck = torch.rand(places.shape, device=self.device)
            # One of each of `size` stretches, so that none comes twice.
            low, high = places * count[:, None] // size, (places + 1) * count[:, None] // size
            chosen = torch.where(count[:, None] > size, low + (luck * (high - low)).long(), places)
        else:
            chosen = places + (count[:, None] - size).clamp(min=0)
        there = places < count[:, None]
        rows = (
            self._said_text[(first[:, None] + chosen).clamp(max=max(0, len(self._said_text) - 1))]
            if len(self._said_text)
            else 0
        )
        return torch.where(there, rows, EMPTY)

    def _laid_out(self, parts: list[Part], size: int) -> Tokens:
        texts = len(parts[0].rows)
        # One column more than a text may have: what would stand beyond the end is written there.
        ids = torch.zeros((texts, size + 1), dtype=torch.int64, device=self.device)
        ids[:, 0] = CLS
        cursor = torch.ones(texts, dtype=torch.int64, device=self.device)
        for part in parts:
            start, whole = self._at[part.rows], self._at[part.rows + 1] - self._at[part.rows]
            length = whole.clamp(max=part.size)
            if part.centred:
                start = start + torch.minimum(self._gap[part.rows] - part.size // 2, whole - part.size).clamp(min=0)
            columns = torch.arange(min(part.size, size), device=self.device)
            target = cursor[:, None] + columns
            here = (columns < length[:, None]) & (target < size)
            source = (start[:, None] + columns).clamp(max=len(self._tokens) - 1)
            ids.scatter_(1, torch.where(here, target, size), self._tokens[source].long())
            cursor = cursor + length
            if part.ends != "never":
                ended = length > 0 if part.ends == "if any" else torch.ones_like(length, dtype=torch.bool)
                at = torch.where(ended & (cursor < size), cursor, size)
                ids.scatter_(1, at[:, None], torch.full_like(at, SEP)[:, None])
                cursor = cursor + ended
        over = cursor > size
        ids[:, size - 1] = torch.where(over, SEP, ids[:, size - 1])
        longest = int(cursor.clamp(max=size).max())
        width = min(size, -(-longest // _ROUND) * _ROUND)
        mask = torch.arange(width, device=self.device) < cursor[:, None]
        return Tokens(torch.where(mask, ids[:, :width], 0), mask)
