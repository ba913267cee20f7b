"""A static encoder: one vector a token, a text being the mean of its tokens' vectors. It needs a tokeniser and numpy alone.

In a query each token has a further weight, and where there is a gap it counts the more the nearer to it it stands. The table
is kept as int8 with a scale for each token. Texts are laid out as the transformer's are (`inputs`), so that both read the same
of a query, and of a paper more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.models.inputs import Inputs, PaperText, Reader
from citewell.models.served import tokenizer
from citewell.papers import Query

FILE = "table.npz"

Vectors = npt.NDArray[np.float32]


class StaticEncoder:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        self.name = name
        self._folder = folder
        self._inputs = inputs

    @cached_property
    def _table(self) -> Vectors:
        with np.load(self._folder / FILE) as found:
            table: Vectors = found["codes"].astype(np.float32) * found["scales"][:, None]
        # Tokens that part the parts say nothing.
        table[[self._reader.cls, self._reader.sep]] = 0
        return table

    @cached_property
    def _asked(self) -> Vectors:
        """What each token counts in a query."""
        with np.load(self._folder / FILE) as found:
            weights: Vectors = found["asked"]
        return weights

    @cached_property
    def _near(self) -> tuple[float, float]:
        """How fast tokens lose weight with their distance from the gap, and what the furthest count."""
        with np.load(self._folder / FILE) as found:
            reach, far = found["near"].tolist()
        return reach, far

    @cached_property
    def _reader(self) -> Reader:
        return Reader(tokenizer(self._folder), self._inputs)

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""
        return self._inputs.contexts

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text."""
        return self._vectors(self._reader.tokens(texts))

    def query(self, query: Query) -> Vectors:
        """The vector of a query; its tokens count by their distance from its gap, where it has one."""
        tokens = np.array(self._reader.query(query))
        weights = self._asked[tokens]
        gaps = np.flatnonzero(tokens == self._reader.mask)
        if len(gaps):
            reach, far = self._near
            weights = weights * (far + (1 - far) * np.exp(-np.abs(np.arange(len(tokens)) - gaps[0]) / reach))
        total = weights.astype(np.float32) @ self._table[tokens]
        length = np.linalg.norm(total)
        return np.asarray(total / length if length > 0 else total, np.float32)

    def papers(self, papers: Sequence[PaperText]) -> Vectors:
        """A vector for each paper."""
        return self._vectors(self._reader.papers(papers))

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        counts = np.array([len(each) for each in tokens])
        sums = np.zeros((len(tokens), self._table.shape[1]), np.float32)
        rows = self._table[np.fromiter(chain.from_iterable(tokens), np.int64, int(counts.sum()))]
        some = np.flatnonzero(counts)
        if len(some):
            sums[some] = np.add.reduceat(rows, (np.cumsum(counts) - counts)[some], axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)
