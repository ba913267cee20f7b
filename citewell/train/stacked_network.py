"""Many of Medić's models as one network: every weight has the models as its first dimension.

A table of the thesis has dozens of models that differ in their variant, their negatives and their seeds, and each uses little
of a GPU. Stacked, they train in the time of a few. Scores and gradients of each model are those of `enhanced_network.Network`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models.enhanced_context import PADDING, Shape
from citewell.train.enhanced_network import CandidateBatch, Network, QueryBatch, Text
from citewell.train.recurrence import Recurrence, starts

_WORDS = "words.weight"


class Packed(NamedTuple):
    """Where the words of padded texts are once they are packed by time, and back."""

    sizes: list[int]
    """Texts in each step."""
    forward: Tensor
    """(models, packed) the word of each packed place, as a flat number in (texts, tokens)."""
    reverse: Tensor
    """The same for the reversed texts."""
    back: Tensor
    """(models, texts, tokens) the packed place of each word."""
    back_reverse: Tensor


class StackedNetwork(nn.Module):
    """Queries and candidates of many models, model by model, to scores: (models, queries, candidates)."""

    def __init__(
        self, shapes: Sequence[Shape], seeds: Sequence[int], table: Tensor | None = None, fixed_words: bool = False
    ) -> None:
        super().__init__()
        plain = {replace(shape, variant="textenh") for shape in shapes}
        if len(plain) != 1:
            raise CitewellError("models can be stacked only if their shapes differ in nothing but the variant")
        self.shapes, self.fixed_words = list(shapes), fixed_words and table is not None
        states = [self._initial(shape, seed, table) for shape, seed in zip(shapes, seeds, strict=True)]
        names = {name for state in states for name in state}
        self._names = sorted(names - ({_WORDS} if self.fixed_words else set()))
        for name in self._names:
            example = next(state[name] for state in states if name in state)
            stack = torch.stack([state.get(name, torch.zeros_like(example)) for state in states])
            self.register_parameter(_flat(name), nn.Parameter(stack))
        if self.fixed_words and table is not None:
            self.register_buffer("fixed", table.clone(), persistent=False)
        for part in ("enhanced", "bibliography", "weighted"):
            flags = torch.tensor([float(getattr(shape.parts, part)) for shape in shapes])
            self.register_buffer(f"has_{part}", flags, persistent=False)

    def model(self, at: int) -> Network:
        """One of the models."""
        network = Network(self.shapes[at])
        state = {name: self.get_parameter(_flat(name))[at].detach() for name in self._names}
        if self.fixed_words:
            state[_WORDS] = self.get_buffer("fixed")
        network.load_state_dict({name: state[name] for name in network.state_dict()})
        return network

    def forward(self, queries: QueryBatch, candidates: CandidateBatch) -> Tensor:
        papers_of = self._stacked(candidates.text)
        context_of = self._stacked(queries.context)
        citing_of = self._stacked(queries.citing)
        context_hidden, citing_hidden, paper_hidden = self._read([context_of, citing_of, papers_of])
        gap = queries.gap.view(len(self.shapes), -1, 1, 1).expand(-1, -1, 1, context_hidden.shape[3])
        context = self._attention(context_hidden.gather(2, gap)[:, :, 0], context_hidden, context_of.lengths)
        citing = self._attention(context, citing_hidden, citing_of.lengths)
        query = context + self.get_buffer("has_enhanced")[:, None, None] * citing
        each = papers_of.lengths.shape[1] // query.shape[1]
        rows = query.repeat_interleave(each, 1)
        paper = self._attention(rows, paper_hidden, papers_of.lengths)
        text = functional.cosine_similarity(rows, paper, dim=2).unflatten(1, (-1, each))
        flags = self.get_buffer("has_bibliography")
        if not flags.any():
            return text
        bibliography = self._bibliography(candidates).unflatten(1, (-1, each)) * flags[:, None, None]
        weights = self._weights(context)
        return weights[:, :, :1] * text + weights[:, :, 1:] * bibliography

    def _stacked(self, text: Text) -> Text:
        return Text(text.ids.unflatten(0, (len(self.shapes), -1)), text.lengths.view(len(self.shapes), -1))

    # -- texts ---------------------------------------------------------------------------------------------------------

    def _read(self, texts: Sequence[Text]) -> list[Tensor]:
        """The hidden states of several batches of texts, read together: (models, texts, tokens, both directions)."""
        width = max(text.ids.shape[2] for text in texts)
        ids = torch.cat([functional.pad(text.ids, (0, width - text.ids.shape[2])) for text in texts], dim=1)
        lengths = torch.cat([text.lengths for text in texts], dim=1)
        hidden = self._lstm(ids, lengths)
        parts = hidden.split([text.ids.shape[1] for text in texts], dim=1)
        return [part[:, :, : text.ids.shape[2]] for part, text in zip(parts, texts, strict=True)]

    def _lstm(self, ids: Tensor, lengths: Tensor) -> Tensor:
        models, texts, tokens = ids.shape
        packed = pack(lengths, tokens)
        flat = ids.view(models, -1)
        directions = [self._words(flat.gather(1, places)) for places in (packed.forward, packed.reverse)]
        gates = []
        for end, words in zip(("", "_reverse"), directions, strict=True):
            weight = self._of(f"lstm.weight_ih_l0{end}").transpose(1, 2)
            bias = self._of(f"lstm.bias_ih_l0{end}") + self._of(f"lstm.bias_hh_l0{end}")
            gates.append(torch.baddbmm(bias[:, None], words, weight))
        recurrent = torch.cat([self._of(f"lstm.weight_hh_l0{end}").transpose(1, 2) for end in ("", "_reverse")])
        inputs = torch.cat(gates).transpose(0, 1).contiguous()
        states = Recurrence.apply(inputs, recurrent.to(inputs.dtype), packed.sizes)
        ahead, behind = states.chunk(2, dim=1)
        both = [_unpack(ahead, packed.back), _unpack(behind, packed.back_reverse)]
        return torch.cat(both, dim=2).view(models, texts, tokens, -1)

    def _words(self, ids: Tensor) -> Tensor:
        if self.fixed_words:
            return functional.embedding(ids, self.get_buffer("fixed"))
        return _lookup(self._of(_WORDS), ids)

    def _attention(self, query: Tensor, hidden: Tensor, lengths: Tensor) -> Tensor:
        """Additive attention over the tokens of each text for its query vector."""
        keys = torch.einsum("mnld,mkd->mnlk", hidden, self._of("attention.keys.weight"))
        queries = torch.einsum("mnd,mkd->mnk", query, self._of("attention.queries.weight"))
        scores = torch.einsum("mnlk,mok->mnl", torch.tanh(keys + queries[:, :, None]), self._of("attention.scores.weight"))
        padding = torch.arange(hidden.shape[2], device=hidden.device) >= lengths[:, :, None]
        attention = torch.softmax(scores.masked_fill(padding, float("-inf")), dim=2)
        return torch.einsum("mnl,mnld->mnd", attention, hidden)

    # -- bibliography --------------------------------------------------------------------------------------------------

    def _bibliography(self, candidates: CandidateBatch) -> Tensor:
        """The scores of authors and citation counts: (models, candidates)."""
        models = len(self.shapes)
        authors = candidates.authors.view(models, -1, candidates.authors.shape[-1])
        vectors = _lookup(self._of("people.weight"), authors.flatten(1)).unflatten(1, authors.shape[1:])
        vectors = vectors * (authors != PADDING)[..., None]  # the padding is never learned
        groups = []
        for at, size in enumerate(self.shapes[0].kernels):
            windows = vectors.unfold(2, size, 1)  # (models, candidates, places, author, size)
            weight, bias = self._of(f"groups.{at}.weight"), self._of(f"groups.{at}.bias")
            groups.append((torch.einsum("mnpas,mcas->mnpc", windows, weight) + bias[:, None, None]).max(2).values)
        who = functional.relu(torch.cat(groups, dim=2))
        known = torch.cat([who, candidates.cited.view(models, authors.shape[1], -1)], dim=2)
        inside = torch.sigmoid(self._dense("bibliography.0", known))
        return torch.sigmoid(self._dense("bibliography.1", inside))[:, :, 0]

    def _weights(self, context: Tensor) -> Tensor:
        """The weights of text and bibliography for each context: (models, queries, 2)."""
        if "weighing.weight" not in self._names:
            return torch.ones(*context.shape[:2], 2, device=context.device)
        weighted = torch.softmax(torch.sigmoid(self._dense("weighing", context)), dim=2)
        return torch.where(self.get_buffer("has_weighted")[:, None, None] > 0, weighted, 1.0)

    def _dense(self, name: str, values: Tensor) -> Tensor:
        return torch.baddbmm(self._of(f"{name}.bias")[:, None], values, self._of(f"{name}.weight").transpose(1, 2))

    def _of(self, name: str) -> Tensor:
        return self.get_parameter(_flat(name))

    def _initial(self, shape: Shape, seed: int, table: Tensor | None) -> dict[str, Tensor]:
        torch.manual_seed(seed)
        return {name: value.clone() for name, value in Network(shape, table).state_dict().items()}


def pack(lengths: Tensor, tokens: int) -> Packed:
    """How texts are packed by time, the longest first, with room for as many texts as any model has in a step."""
    sorted_lengths, order = lengths.sort(dim=1, descending=True, stable=True)
    slots = order.argsort(dim=1)
    steps = torch.arange(tokens, device=lengths.device)
    counts = (sorted_lengths[:, :, None] > steps).sum(1).amax(0)
    sizes = [count for count in counts.tolist() if count]
    begins = torch.tensor(starts(sizes), device=lengths.device)
    step = torch.repeat_interleave(torch.arange(len(sizes), device=lengths.device), torch.tensor(sizes, device=lengths.device))
    slot = torch.arange(len(step), device=lengths.device) - begins[step]
    text, length = order[:, slot], sorted_lengths[:, slot]
    # Beyond the end of a text, some word of it is read, which nothing uses.
    forward = text * tokens + torch.minimum(step, length - 1)
    reverse = text * tokens + (length - 1 - step).clamp(min=0)
    at = torch.minimum(steps, lengths[:, :, None] - 1)
    behind = (lengths[:, :, None] - 1 - steps).clamp(min=0)
    return Packed(sizes, forward, reverse, begins[at] + slots[:, :, None], begins[behind] + slots[:, :, None])


def _unpack(states: Tensor, places: Tensor) -> Tensor:
    """(packed, models, H) to (models, texts * tokens, H)."""
    packed, models, size = states.shape
    flat = places.flatten(1) * models + torch.arange(models, device=states.device)[:, None]
    return states.reshape(packed * models, size).index_select(0, flat.flatten()).view(models, -1, size)


def _lookup(tables: Tensor, ids: Tensor) -> Tensor:
    """The rows of each model's table: (models, rows, size) and (models, ids) to (models, ids, size)."""
    models, rows, size = tables.shape
    flat = ids + rows * torch.arange(models, device=ids.device)[:, None]
    return functional.embedding(flat, tables.reshape(models * rows, size))


def _flat(name: str) -> str:
    """The name of a stacked weight: those of parameters have no dots."""
    return name.replace(".", "_")
