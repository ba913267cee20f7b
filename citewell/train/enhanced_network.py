"""The network of Medić's enhanced-context model: what reads the texts, and what weighs authors and citations.

One BiLSTM and one additive attention read all texts; they differ in what the attention is asked for. For the context that is
the hidden state of the gap; for the citing title and abstract the context's vector; for a candidate the sum of both. The cosine
of that sum and the candidate's vector is the score of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import rnn

from citewell.models.enhanced_context import NOBODY, Shape


class Text(NamedTuple):
    """Texts as token numbers, padded, and how long each is; none is empty."""

    ids: Tensor
    lengths: Tensor


class Asked(NamedTuple):
    """Questions: contexts with the places of their gaps, and the citing papers."""

    context: Text
    gap: Tensor
    citing: Text


class Found(NamedTuple):
    """Candidates, those of the first question, then those of the next, and so on; each question has as many."""

    text: Text
    authors: Tensor
    cited: Tensor


class Attention(nn.Module):
    """Additive attention: how much each token counts for what is asked for."""

    def __init__(self, size: int) -> None:
        super().__init__()
        # One matrix on both vectors behind each other is two matrices, one on each.
        self.queries, self.keys = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.scores = nn.Linear(size, 1, bias=False)

    def forward(self, query: Tensor, hidden: Tensor, lengths: Tensor) -> Tensor:
        scores = self.scores(torch.tanh(self.queries(query)[:, None] + self.keys(hidden)))[:, :, 0]
        padding = torch.arange(hidden.shape[1], device=hidden.device) >= lengths[:, None]
        shares = torch.softmax(scores.masked_fill(padding, float("-inf")), dim=1)
        return (shares[:, :, None] * hidden).sum(1)


class Network(nn.Module):
    """Questions and their candidates to scores."""

    def __init__(self, shape: Shape, table: Tensor | None = None) -> None:
        super().__init__()
        self.shape, self._has = shape, shape.parts
        self.words = nn.Embedding(shape.vocabulary, shape.words)
        if table is not None:
            self.words.weight.data.copy_(table)
        self.lstm = nn.LSTM(shape.words, shape.hidden, batch_first=True, bidirectional=True)
        self.attention = Attention(2 * shape.hidden)
        if self._has.bibliography:
            self.people = nn.Embedding(shape.people, shape.author, padding_idx=NOBODY)
            self.groups = nn.ModuleList(nn.Conv1d(shape.author, shape.channels, size) for size in shape.kernels)
            known = shape.channels * len(shape.kernels) + shape.years + 1
            self.bibliography = nn.ModuleList([nn.Linear(known, known // 2), nn.Linear(known // 2, 1)])
        if self._has.weighted:
            self.weighing = nn.Linear(2 * shape.hidden, 2)

    def forward(self, asked: Asked, found: Found) -> Tensor:
        """A row of scores for each question."""
        # All texts are read at once: an LSTM takes as long as its longest text, however many there are.
        *questions, papers = self.read_all([*self._of_questions(asked), found.text])
        return self.scores(asked, papers, found, questions)

    def scores(self, asked: Asked, hidden: Tensor, found: Found, questions: list[Tensor] | None = None) -> Tensor:
        """The same where the texts of the candidates, and perhaps those of the questions, were read before."""
        context, enhanced = self.contexts(asked, questions)
        each = len(hidden) // len(enhanced)
        query = enhanced.repeat_interleave(each, 0)
        paper = self.attention(query, hidden, found.text.lengths)
        text = functional.cosine_similarity(query, paper, dim=1).view(-1, each)
        if not self._has.bibliography:
            return text
        known = self.known(found.authors, found.cited).view(-1, each)
        weights = self.weights(context)
        return weights[:, :1] * text + weights[:, 1:] * known

    def contexts(self, asked: Asked, read: list[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The vectors of contexts, and what they are with the citing papers, where these count."""
        hidden, *citing_hidden = self.read_all(self._of_questions(asked)) if read is None else read
        gap = hidden[torch.arange(len(hidden), device=hidden.device), asked.gap]
        context = self.attention(gap, hidden, asked.context.lengths)
        if not self._has.enhanced:
            return context, context
        citing = self.attention(context, citing_hidden[0], asked.citing.lengths)
        return context, context + citing

    def known(self, authors: Tensor, cited: Tensor) -> Tensor:
        """The score of authors and citations."""
        vectors = self.people(authors).transpose(1, 2)
        who = functional.relu(torch.cat([group(vectors).max(2).values for group in self.groups], dim=1))
        inside = torch.sigmoid(self.bibliography[0](torch.cat([who, cited], dim=1)))
        return torch.sigmoid(self.bibliography[1](inside))[:, 0]

    def weights(self, context: Tensor) -> Tensor:
        """How much text and bibliography count for each context."""
        if not self._has.weighted:
            return torch.ones(len(context), 2, device=context.device)
        return torch.softmax(torch.sigmoid(self.weighing(context)), dim=1)

    def _of_questions(self, asked: Asked) -> list[Text]:
        """What of questions is read."""
        return [asked.context, *([asked.citing] if self._has.enhanced else [])]

    def read_all(self, texts: list[Text]) -> list[Tensor]:
        """The hidden states of several lots of texts."""
        width = max(text.ids.shape[1] for text in texts)
        ids = torch.cat([functional.pad(text.ids, (0, width - text.ids.shape[1]), value=NOBODY) for text in texts])
        hidden = self.read(Text(ids, torch.cat([text.lengths for text in texts])))
        lots = hidden.split([len(text.ids) for text in texts])
        return [lot[:, : text.ids.shape[1]] for lot, text in zip(lots, texts, strict=True)]

    def read(self, text: Text) -> Tensor:
        """The hidden states of texts, which are the same whatever is asked."""
        packed = rnn.pack_padded_sequence(self.words(text.ids), text.lengths.cpu(), batch_first=True, enforce_sorted=False)
        hidden, _ = rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=text.ids.shape[1])
        return hidden
