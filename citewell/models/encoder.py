"""An encoder: texts to vectors of length 1, sorted by length so that little is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TOKENS = 256
_BATCH_TOKENS = 4096
"""A batch holds as many texts as make about this many tokens."""
_TEXT_CHARACTERS = 8192

Vectors = npt.NDArray[np.float32]


class Encoder:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path, threads: int = 0) -> None:
        self.name = name
        self._folder = folder
        self._threads = threads

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if self._threads:
            options.intra_op_num_threads = self._threads
        return onnxruntime.InferenceSession(str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(TOKENS)
        return tokenizer

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text, in their order."""
        found: list[tuple[npt.NDArray[np.int64], Vectors]] = list(self.encode_in_batches(texts))
        if not found:
            return np.zeros((0, 0), np.float32)
        vectors = np.empty((len(texts), found[0][1].shape[1]), np.float32)
        for places, batch in found:
            vectors[places] = batch
        return vectors

    def encode_in_batches(self, texts: Sequence[str]) -> Iterator[tuple[npt.NDArray[np.int64], Vectors]]:
        """Vectors as they are made, long texts first, each batch with the places of its texts."""
        tokens = [each.ids for each in self._tokenizer.encode_batch([text[:_TEXT_CHARACTERS] for text in texts])]
        order = np.argsort([-len(each) for each in tokens], kind="stable")
        start = 0
        while start < len(order):
            longest = len(tokens[order[start]])
            places = order[start : start + max(1, _BATCH_TOKENS // max(1, longest))]
            ids = np.zeros((len(places), longest), np.int32)
            mask = np.zeros((len(places), longest), np.int32)
            for row, place in enumerate(places.tolist()):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            yield places, self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
            start += len(places)
