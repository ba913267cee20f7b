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
        prefix = self._reader.query(query)
        texts = [tokens[1:] for tokens in self._reader.papers(papers)]  # drop the second [CLS]
        scores = np.zeros(len(texts), np.float32)
        for places in by_length([len(prefix) + len(text) for text in texts], _BATCH_TOKENS):
            longest = len(prefix) + len(texts[places[0]])
            ids, mask, kinds = np.zeros((3, len(places), longest), np.int32)
            ids[:, : len(prefix)] = prefix
            for row, place in enumerate(places.tolist()):
                end = len(prefix) + len(texts[place])
                ids[row, len(prefix) : end] = texts[place]
                mask[row, :end] = 1
                kinds[row, len(prefix) : end] = 1
            scores[places] = self._model.scores(ids, mask, kinds)
        return scores


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
