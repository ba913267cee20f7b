"""A cross-encoder: a query and a paper read together, and a score for the pair.

A model is a folder with ``model.onnx``, ``tokenizer.json`` and ``inputs.json``, or one in Hugging Face's layout, as an
encoder's is. Pairs are sorted by length
and scored in batches of about equal numbers of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import hugging_face, weights
from citewell.models.inputs import Inputs, PaperText, Reader
from citewell.models.onnx import MODEL, Reads, by_length, tokenizer
from citewell.papers import Query

_BATCH_TOKENS = 2048

Scores = npt.NDArray[np.float32]


class CrossEncoder:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        self.name = name
        self._folder = folder
        self._inputs = inputs

    @cached_property
    def _graph(self) -> Reads:
        return Reads(self._folder, threads.count())

    @cached_property
    def _reader(self) -> Reader:
        return Reader(tokenizer(self._folder), self._inputs)

    def scores(self, query: Query, papers: Sequence[PaperText]) -> Scores:
        """How well each paper answers the query."""
        asked = self._reader.query(query)
        texts = [found[1:] for found in self._reader.papers(papers)]  # without a second opening token
        scores = np.zeros(len(texts), np.float32)
        for places in by_length([len(asked) + len(text) for text in texts], _BATCH_TOKENS):
            longest = len(asked) + len(texts[places[0]])
            ids, mask, kinds = np.zeros((3, len(places), longest), np.int32)
            ids[:, : len(asked)] = asked
            for row, place in enumerate(places.tolist()):
                end = len(asked) + len(texts[place])
                ids[row, len(asked) : end] = texts[place]
                mask[row, :end] = 1
                kinds[row, len(asked) : end] = 1
            scores[places] = self._graph.scores(ids, mask, kinds)
        return scores


def load(name: str) -> CrossEncoder:
    """The cross-encoder called `name`."""
    return _loaded(name, weights.version(name))


@lru_cache(maxsize=2)
def _loaded(name: str, version: str) -> CrossEncoder:
    folder = weights.folder(name)
    if not (folder / MODEL).is_file():
        if not hugging_face.is_layout(folder):
            raise CitewellError(
                f"there is no cross-encoder {name!r}; make one with 'citewell train' in a folder of $CITEWELL_MODELS"
            )
        folder = hugging_face.served_by_name(name)
    return CrossEncoder(name, folder, Inputs.read(folder) or Inputs())
