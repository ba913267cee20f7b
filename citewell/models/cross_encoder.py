"""Cross-encoder: reads a query and a paper together and scores the pair.

A model is a folder with ``model.onnx``, ``tokenizer.json`` and ``inputs.json``, or a folder in Hugging Face's layout. Pairs are
sorted by length and scored in batches of roughly equal numbers of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import hugging_face, weights
from citewell.models.inputs import Inputs, PaperText, TokenReader
from citewell.models.onnx import MODEL, TokenModel, by_length, tokenizer
from citewell.papers import Query
from citewell.types import Float32Array

_BATCH_TOKENS = 2048


class CrossEncoder:
    """One model; loaded on first use."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        self.name = name
        self._folder = folder
        self._inputs = inputs

    @cached_property
    def _model(self) -> TokenModel:
        return TokenModel(self._folder, threads.count())

    @cached_property
    def _reader(self) -> TokenReader:
        return TokenReader(tokenizer(self._folder), self._inputs)

    def scores(self, query: Query, papers: Sequence[PaperText]) -> Float32Array:
        """The relevance of each paper to the query."""
        pairs = self._pairs(query, papers)
        scores = np.zeros(len(pairs), np.float32)
        for places in by_length([len(tokens) for tokens, _ in pairs], _BATCH_TOKENS):
            ids, mask, kinds = np.zeros((3, len(places), len(pairs[places[0]][0])), np.int32)
            for row, place in enumerate(places.tolist()):
                tokens, start = pairs[place]
                ids[row, : len(tokens)] = tokens
                mask[row, : len(tokens)] = 1
                kinds[row, start : len(tokens)] = 1
            scores[places] = self._model.scores(ids, mask, kinds)
        return scores

    def _pairs(self, query: Query, papers: Sequence[PaperText]) -> list[tuple[list[int], int]]:
        """The query with each paper, and where the paper begins."""
        reader, budgets = self._reader, self._inputs
        if budgets.pair:
            [prefix] = reader.plain([(query.title, query.abstract)], budgets.query)
            texts = reader.plain([(paper.title, paper.abstract) for paper in papers], budgets.paper)
            return [reader.pair(prefix, text) for text in texts]
        prefix = reader.query(query)
        return [([*prefix, *tokens[1:]], len(prefix)) for tokens in reader.papers(papers)]  # without the second [CLS]


def load(name: str) -> CrossEncoder:
    """The cross-encoder called `name`."""
    return _loaded(name, weights.fingerprint(name))


@lru_cache(maxsize=2)
def _loaded(name: str, fingerprint: str) -> CrossEncoder:
    folder = weights.folder(name)
    if not (folder / MODEL).is_file():
        if not hugging_face.is_layout(folder):
            raise CitewellError(
                f"there is no cross-encoder {name!r}; train one with 'citewell train' and put its folder into $CITEWELL_MODELS"
            )
        folder = hugging_face.convert_by_name(name)
    return CrossEncoder(name, folder, Inputs.read(folder) or Inputs())
