"""Batches from a pack in the device's memory: texts are joined there, all at once.

The layout is the one of `citewell.models.inputs.TokenReader`, which joins one text at a time; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.inputs import Inputs
from citewell.models.special_tokens import SpecialTokens
from citewell.train.packs import EMPTY, TASKS, Arrays

_ROUND = 32
"""Batches are padded to a multiple of this, so that few shapes occur."""
_YEARS = 1 << 14

LOCAL = TASKS.index("local")
NO_TOKEN = -1


class Tokens(NamedTuple):
    """Token ids of texts, padded, and the mask of real tokens."""

    ids: Tensor
    mask: Tensor

    def by_length(self, parts: int) -> tuple[Tensor, list[Tokens]]:
        """Roughly equal batches, shortest texts first, to keep padding low; and the positions of their texts."""
        order = self.mask.sum(1).argsort()
        batches = []
        for places in order.chunk(parts):
            width = -(-int(self.mask[places[-1]].sum()) // _ROUND) * _ROUND
            batches.append(Tokens(self.ids[places, :width], self.mask[places, :width]))
        return order, batches


class Part(NamedTuple):
    """One part of each text in a batch: rows of the pack, the token budget, and what follows."""

    rows: Tensor
    size: int
    centred: bool = False
    ends: Tensor | None = None
    """The token that follows in each text, or `NO_TOKEN`; None: a separator, unless the part is empty."""


def check_layout(arrays: Arrays, inputs: Inputs) -> None:
    """Raise if a pack was made for queries that are read in another way."""
    packed, read = int(arrays.get("context_characters", 0)), inputs.context_characters
    if packed != read:
        sides = [f"{size} characters of contexts on either side" if size else "whole contexts" for size in (packed, read)]
        raise CitewellError(f"the pack has {sides[0]}, but the recipe reads {sides[1]}; pack again with this recipe")
    if inputs.context_mark and inputs.context_mark != str(arrays.get("context_mark_name", "")):
        raise CitewellError(f"the pack does not have the token {inputs.context_mark!r}; pack again with this recipe")


class Texts:
    """The texts of a pack, on a device."""

    def __init__(self, arrays: Arrays, inputs: Inputs, device: torch.device) -> None:
        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int32" if name == "tokens" else "int64")).to(device)

        self.device = device
        self.inputs = inputs
        if "special" not in arrays:
            raise CitewellError("this pack does not say what its special tokens are; delete it, and it is made again")
        self.special = SpecialTokens(*arrays["special"].tolist())
        check_layout(arrays, inputs)
        self._context_mark = int(arrays["context_mark"]) if inputs.context_mark else self.special.sep
        self._tokens, self._at, self._gap = tensor("tokens"), tensor("text_at"), tensor("text_gap")
        self._prefixes = tensor("prefixes")
        self._title, self._abstract = tensor("paper_title"), tensor("paper_abstract")
        self._context_at, self._context_text = tensor("said_at"), tensor("said_text")
        counts = self._context_at[1:] - self._context_at[:-1]
        papers = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        self._context_key = papers * _YEARS + tensor("said_year")
        self._query = {name: tensor(f"question_{name}") for name in ("task", "context", "title", "abstract")}

    def queries(self, numbers: Tensor, contexts: bool = True) -> Tokens:
        """The tokens of queries, with or without their contexts."""
        column = {name: values[numbers] for name, values in self._query.items()}
        inputs = self.inputs
        rows = column["context"] if contexts else torch.full_like(column["context"], EMPTY)
        nothing = torch.full_like(rows, NO_TOKEN)
        if not inputs.context_last:
            parts = [
                Part(self._prefixes[column["task"]], inputs.topic, ends=nothing),
                Part(rows, inputs.context, centred=True, ends=torch.full_like(rows, self.special.sep)),
                Part(column["title"], inputs.title),
                Part(column["abstract"], inputs.query),
            ]
            return self._join(parts, inputs.query)
        present = self._lengths(rows) > 0
        title, abstract = self._lengths(column["title"]) > 0, self._lengths(column["abstract"]) > 0
        # The mark stands in place of the separator after the citing paper.
        after_abstract = torch.where(abstract | present, self.special.sep, NO_TOKEN)
        parts = [
            Part(column["title"], inputs.title, ends=torch.where(title & (abstract | ~present), self.special.sep, NO_TOKEN)),
            Part(column["abstract"], inputs.abstract, ends=torch.where(present, self._context_mark, after_abstract)),
            Part(rows, inputs.context, centred=True),
        ]
        return self._join(parts, inputs.query)

    def _lengths(self, rows: Tensor) -> Tensor:
        return self._at[rows + 1] - self._at[rows]

    def papers(self, numbers: Tensor, before: Tensor, sampled: bool = False) -> Tokens:
        """The tokens of papers, with contexts from years before `before`: the newest ones, or a random sample."""
        inputs = self.inputs
        contexts = self.contexts(numbers, before, sampled)
        return self._join(
            [
                Part(self._title[numbers], inputs.paper_title),
                *(Part(contexts[:, place], inputs.window, centred=True) for place in range(inputs.contexts)),
                Part(self._abstract[numbers], inputs.paper),
            ],
            inputs.paper,
        )

    def contexts(self, numbers: Tensor, before: Tensor, sampled: bool) -> Tensor:
        """Rows of cited contexts of each paper from years before `before`, oldest first, padded with empty rows."""
        size = self.inputs.contexts
        first = self._context_at[numbers]
        count = torch.searchsorted(self._context_key, numbers * _YEARS + before) - first
        places = torch.arange(size, device=self.device).expand(len(numbers), size)
        if sampled:
            noise = torch.rand(places.shape, device=self.device)
            # One from each of `size` equal stretches, so that none occurs twice.
            low, high = places * count[:, None] // size, (places + 1) * count[:, None] // size
            chosen = torch.where(count[:, None] > size, low + (noise * (high - low)).long(), places)
        else:
            chosen = places + (count[:, None] - size).clamp(min=0)
        present = places < count[:, None]
        rows = (
            self._context_text[(first[:, None] + chosen).clamp(max=max(0, len(self._context_text) - 1))]
            if len(self._context_text)
            else 0
        )
        return torch.where(present, rows, EMPTY)

    def _join(self, parts: list[Part], size: int) -> Tokens:
        texts = len(parts[0].rows)
        # One extra column receives the tokens beyond the end of a text.
        ids = torch.zeros((texts, size + 1), dtype=torch.int64, device=self.device)
        ids[:, 0] = self.special.cls
        cursor = torch.ones(texts, dtype=torch.int64, device=self.device)
        for part in parts:
            start, whole = self._at[part.rows], self._at[part.rows + 1] - self._at[part.rows]
            length = whole.clamp(max=part.size)
            if part.centred:
                start = start + torch.minimum(self._gap[part.rows] - part.size // 2, whole - part.size).clamp(min=0)
            columns = torch.arange(min(part.size, size), device=self.device)
            target = cursor[:, None] + columns
            fits = (columns < length[:, None]) & (target < size)
            source = (start[:, None] + columns).clamp(max=len(self._tokens) - 1)
            ids.scatter_(1, torch.where(fits, target, size), self._tokens[source].long())
            cursor = cursor + length
            ends = torch.where(length > 0, self.special.sep, NO_TOKEN) if part.ends is None else part.ends
            ended = ends != NO_TOKEN
            at = torch.where(ended & (cursor < size), cursor, size)
            ids.scatter_(1, at[:, None], ends[:, None])
            cursor = cursor + ended
        over = cursor > size
        ids[:, size - 1] = torch.where(over, self.special.sep, ids[:, size - 1])
        longest = int(cursor.clamp(max=size).max())
        width = min(size, -(-longest // _ROUND) * _ROUND)
        mask = torch.arange(width, device=self.device) < cursor[:, None]
        return Tokens(torch.where(mask, ids[:, :width], 0), mask)
