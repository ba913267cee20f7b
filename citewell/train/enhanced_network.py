"""The network of Medić's enhanced-context model.

One BiLSTM and one additive attention layer read all texts; the query of the attention differs. For the context it is the hidden
state of the gap, for the citing title and abstract the context vector, for a candidate the sum of both. The text score is the
cosine of that sum and the candidate's vector. Variants with a bibliography also score authors and citation counts.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import rnn

from citewell.models.enhanced_context import PADDING, Shape


class Text(NamedTuple):
    """Token ids of texts, padded, and their lengths; none is empty."""

    ids: Tensor
    lengths: Tensor


class QueryBatch(NamedTuple):
    """Queries: contexts with the positions of their gaps, and the citing papers."""

    context: Text
    gap: Tensor
    citing: Text


class CandidateBatch(NamedTuple):
    """The candidates of all queries, query by query; each query has the same number."""

    text: Text
    authors: Tensor
    cited: Tensor


class Attention(nn.Module):
    """Additive attention over tokens for a query vector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        # One matrix on the concatenated vectors, written as two matrices.
        self.queries, self.keys = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.scores = nn.Linear(size, 1, bias=False)

    def forward(self, query: Tensor, hidden: Tensor, lengths: Tensor) -> Tensor:
        scores = self.scores(torch.tanh(self.queries(query)[:, None] + self.keys(hidden)))[:, :, 0]
        padding = torch.arange(hidden.shape[1], device=hidden.device) >= lengths[:, None]
        attention = torch.softmax(scores.masked_fill(padding, float("-inf")), dim=1)
        return (attention[:, :, None] * hidden).sum(1)


class Network(nn.Module):
    """Queries and their candidates to scores."""

    def __init__(self, shape: Shape, table: Tensor | None = None) -> None:
        super().__init__()
        self.shape, self._variant = shape, shape.parts
        self.words = nn.Embedding(shape.vocabulary, shape.words)
        if table is not None:
            self.words.weight.data.copy_(table)
        self.lstm = nn.LSTM(shape.words, shape.hidden, batch_first=True, bidirectional=True)
        self.attention = Attention(2 * shape.hidden)
        if self._variant.bibliography:
            self.people = nn.Embedding(shape.people, shape.author, padding_idx=PADDING)
            self.groups = nn.ModuleList(nn.Conv1d(shape.author, shape.channels, size) for size in shape.kernels)
            width = shape.channels * len(shape.kernels) + shape.years + 1
            self.bibliography = nn.ModuleList([nn.Linear(width, width // 2), nn.Linear(width // 2, 1)])
        if self._variant.weighted:
            self.weighing = nn.Linear(2 * shape.hidden, 2)

    def forward(self, queries: QueryBatch, candidates: CandidateBatch) -> Tensor:
        """One row of scores per query."""
        # Read all texts at once: an LSTM takes as long as its longest text.
        *query_hidden, papers = self.encode_all([*self._query_texts(queries), candidates.text])
        return self.scores(queries, papers, candidates, query_hidden)

    def scores(
        self, queries: QueryBatch, hidden: Tensor, candidates: CandidateBatch, query_hidden: list[Tensor] | None = None
    ) -> Tensor:
        """The scores, given the hidden states of the candidates and, optionally, of the queries."""
        context, enhanced = self.contexts(queries, query_hidden)
        each = len(hidden) // len(enhanced)
        query = enhanced.repeat_interleave(each, 0)
        paper = self.attention(query, hidden, candidates.text.lengths)
        text = functional.cosine_similarity(query, paper, dim=1).view(-1, each)
        if not self._variant.bibliography:
            return text
        bibliography = self.bibliography_scores(candidates.authors, candidates.cited).view(-1, each)
        weights = self.weights(context)
        return weights[:, :1] * text + weights[:, 1:] * bibliography

    def contexts(self, queries: QueryBatch, states: list[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The context vectors, and the same enhanced by the citing papers if the variant does so."""
        hidden, *citing_hidden = self.encode_all(self._query_texts(queries)) if states is None else states
        gap = hidden[torch.arange(len(hidden), device=hidden.device), queries.gap]
        context = self.attention(gap, hidden, queries.context.lengths)
        if not self._variant.enhanced:
            return context, context
        citing = self.attention(context, citing_hidden[0], queries.citing.lengths)
        return context, context + citing

    def bibliography_scores(self, authors: Tensor, cited: Tensor) -> Tensor:
        """The score of authors and citation counts."""
        vectors = self.people(authors).transpose(1, 2)
        who = functional.relu(torch.cat([group(vectors).max(2).values for group in self.groups], dim=1))
        inside = torch.sigmoid(self.bibliography[0](torch.cat([who, cited], dim=1)))
        return torch.sigmoid(self.bibliography[1](inside))[:, 0]

    def weights(self, context: Tensor) -> Tensor:
        """The weights of text and bibliography for each context."""
        if not self._variant.weighted:
            return torch.ones(len(context), 2, device=context.device)
        return torch.softmax(torch.sigmoid(self.weighing(context)), dim=1)

    def _query_texts(self, queries: QueryBatch) -> list[Text]:
        """The texts of queries that the variant reads."""
        return [queries.context, *([queries.citing] if self._variant.enhanced else [])]

    def encode_all(self, texts: list[Text]) -> list[Tensor]:
        """The hidden states of several batches of texts."""
        width = max(text.ids.shape[1] for text in texts)
        ids = torch.cat([functional.pad(text.ids, (0, width - text.ids.shape[1]), value=PADDING) for text in texts])
        hidden = self.encode(Text(ids, torch.cat([text.lengths for text in texts])))
        parts = hidden.split([len(text.ids) for text in texts])
        return [part[:, : text.ids.shape[1]] for part, text in zip(parts, texts, strict=True)]

    def encode(self, text: Text) -> Tensor:
        """The hidden states of texts, independent of the query."""
        packed = rnn.pack_padded_sequence(self.words(text.ids), text.lengths.cpu(), batch_first=True, enforce_sorted=False)
        hidden, _ = rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=text.ids.shape[1])
        return hidden
