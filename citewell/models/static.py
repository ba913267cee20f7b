"""A static encoder: one vector a token, a text being the mean of its tokens' vectors. It needs a tokeniser and numpy alone.

The table is kept as int8 with a scale for each token. Texts are laid out as the transformer's are (`inputs`), so that both read
the same of a query and of a paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.models.inputs import Inputs, PaperText, Reader
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
    def _reader(self) -> Reader:
        from tokenizers import Tokenizer

        tokenizer: Any = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return Reader(tokenizer, self._inputs)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text."""
        return self._vectors(self._reader.tokens(texts))

    def query(self, query: Query) -> Vectors:
        """The vector of a query."""
        found: Vectors = self._vectors([self._reader.query(query)])[0]
        return found

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
