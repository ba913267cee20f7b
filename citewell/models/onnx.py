"""What all served models share: their session, their tokeniser, and batches in which little is padding."""

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

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
_THEIRS = {"ids": "input_ids", "mask": "attention_mask", "kinds": "token_type_ids"}
"""What the inputs of our graphs are called in those that others export."""

_FEW = 2
"""A graph gives so many numbers of a pair at most, where it judges pairs; vectors are longer."""

Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def session(folder: Path, number: int = 1) -> Any:
    """The graph in a model's folder, ready to run, each operation on `number` threads."""
    import onnxruntime

    options = threads.session_options(number)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])


class Reads:
    """A graph of token numbers: one of ours, or one that others have exported from Hugging Face's layout."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self._folder = folder
        self._session = session(folder, number)
        self._names = {each.name for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]
        self._ours = "ids" in self._names

    def vectors(self, ids: Numbers, mask: Numbers) -> Floats:
        """A vector of length 1 for each text."""
        found = self._run(ids=ids, mask=mask, kinds=np.zeros_like(ids))
        if self._ours and self._outputs == ["vectors"]:
            return found
        if found.ndim == 3:  # a vector for each token
            found = found[:, 0] if by_first_token(self._folder) else (found * mask[:, :, None]).sum(axis=1)
        if self._ours or found.shape[1] <= _FEW:
            raise CitewellError(f"{self._folder} holds no encoder: it gives no vectors")
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), np.float32)

    def scores(self, ids: Numbers, mask: Numbers, kinds: Numbers) -> Floats:
        """A score for each pair of texts."""
        found = self._run(ids=ids, mask=mask, kinds=kinds)
        if (self._ours and self._outputs != ["scores"]) or found.ndim != 2 or found.shape[1] > _FEW:
            raise CitewellError(f"{self._folder} holds no cross-encoder: it gives no score for a pair of texts")
        return found[:, -1] - found[:, 0] if found.shape[1] > 1 else found[:, 0]

    def _run(self, **inputs: Numbers) -> Floats:
        if self._ours:
            given = {name: value for name, value in inputs.items() if name in self._names}
        else:
            given = {_THEIRS[name]: value.astype(np.int64) for name, value in inputs.items() if _THEIRS[name] in self._names}
        chosen = "sentence_embedding" if "sentence_embedding" in self._outputs else self._outputs[0]
        found: Floats = self._session.run([chosen], given)[0]
        return found


def by_first_token(folder: Path) -> bool:
    """Whether sentence-transformers has left word that a text's vector is that of its first token."""
    path = folder / weights.POOLING
    return path.is_file() and bool(json.loads(path.read_text("utf-8")).get("pooling_mode_cls_token"))


def tokenizer(folder: Path) -> Any:
    """The tokeniser in a model's folder, without the padding and truncation that its file may bake in."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(folder / TOKENIZER))
    found.no_padding()
    found.no_truncation()
    return found


def by_length(lengths: Sequence[int], tokens: int) -> Iterator[npt.NDArray[np.int64]]:
    """The places of texts in batches of about so many tokens, padding counted; the longest texts first."""
    order = np.argsort([-length for length in lengths], kind="stable")
    start = 0
    while start < len(order):
        places = order[start : start + max(1, tokens // max(1, lengths[order[start]]))]
        yield places
        start += len(places)
