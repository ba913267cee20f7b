"""What all served models share: ONNX sessions, tokenisers, and batching by length."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import weights
from citewell.types import Float32Array, IntArray

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
_HUGGING_FACE_NAMES = {"ids": "input_ids", "mask": "attention_mask", "kinds": "token_type_ids"}
"""The names of the inputs in graphs that Hugging Face tools export."""

_MAX_SCORES = 2
"""A graph that scores pairs has at most this many outputs; vectors are longer."""

TokenIds = npt.NDArray[np.int32]


def session(folder: Path, number: int = 1) -> Any:
    """The graph in a model's folder, ready to run, each operation on `number` threads."""
    import onnxruntime

    options = threads.session_options(number)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])


class TokenModel:
    """A graph over token ids: one of ours, or one exported by Hugging Face tools."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self._folder = folder
        self._session = session(folder, number)
        self._names = {each.name for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]
        self._ours = "ids" in self._names

    def vectors(self, ids: TokenIds, mask: TokenIds) -> Float32Array:
        """One vector of length 1 per text."""
        output = self._run(ids=ids, mask=mask, kinds=np.zeros_like(ids))
        if self._ours and self._outputs == ["vectors"]:
            return output
        if output.ndim == 3:  # one vector per token
            output = output[:, 0] if by_first_token(self._folder) else (output * mask[:, :, None]).sum(axis=1)
        if self._ours or output.shape[1] <= _MAX_SCORES:
            raise CitewellError(f"{self._folder} is not an encoder: its graph returns no vectors")
        return np.asarray(output / np.maximum(np.linalg.norm(output, axis=1, keepdims=True), 1e-12), np.float32)

    def scores(self, ids: TokenIds, mask: TokenIds, kinds: TokenIds) -> Float32Array:
        """One score per pair of texts."""
        output = self._run(ids=ids, mask=mask, kinds=kinds)
        if (self._ours and self._outputs != ["scores"]) or output.ndim != 2 or output.shape[1] > _MAX_SCORES:
            raise CitewellError(f"{self._folder} is not a cross-encoder: its graph returns no score for a pair of texts")
        return output[:, -1] - output[:, 0] if output.shape[1] > 1 else output[:, 0]

    def _run(self, **inputs: TokenIds) -> Float32Array:
        if self._ours:
            named = {name: value for name, value in inputs.items() if name in self._names}
        else:
            named = {
                _HUGGING_FACE_NAMES[name]: value.astype(np.int64)
                for name, value in inputs.items()
                if _HUGGING_FACE_NAMES[name] in self._names
            }
        chosen = "sentence_embedding" if "sentence_embedding" in self._outputs else self._outputs[0]
        output: Float32Array = self._session.run([chosen], named)[0]
        return output


def by_first_token(folder: Path) -> bool:
    """Whether the vector of a text is that of its first token, according to sentence-transformers' pooling settings."""
    path = folder / weights.POOLING
    return path.is_file() and bool(json.loads(path.read_text("utf-8")).get("pooling_mode_cls_token"))


def tokenizer(folder: Path) -> Any:
    """The tokeniser in a model's folder, without the padding and truncation that its file may set."""
    from tokenizers import Tokenizer

    result = Tokenizer.from_file(str(folder / TOKENIZER))
    result.no_padding()
    result.no_truncation()
    return result


def by_length(lengths: Sequence[int], tokens: int) -> Iterator[IntArray]:
    """The positions of texts in batches of about `tokens` tokens, padding included; longest texts first."""
    order = np.argsort([-length for length in lengths], kind="stable")
    start = 0
    while start < len(order):
        places = order[start : start + max(1, tokens // max(1, lengths[order[start]]))]
        yield places
        start += len(places)
