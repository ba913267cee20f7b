"""What all served models share: their session, their tokeniser, and batches in which little is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
_THEIRS = {"ids": "input_ids", "mask": "attention_mask", "kinds": "token_type_ids"}
"""What the inputs of our graphs are called in those that others export."""

Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def session(folder: Path) -> Any:
    """The graph in a model's folder, ready to run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])


class Reads:
    """A graph of token numbers: one of ours, or one that others have exported from Hugging Face's layout."""

    def __init__(self, folder: Path) -> None:
        self._session = session(folder)
        self._names = {each.name for each in self._session.get_inputs()}
        self._ours = "ids" in self._names

    def vectors(self, ids: Numbers, mask: Numbers) -> Floats:
        """A vector of length 1 for each text."""
        found = self._run(ids=ids, mask=mask, kinds=np.zeros_like(ids))
        if self._ours:
            return found
        if found.ndim == 3:  # a vector for each token: the mean of those that are no padding
            found = (found * mask[:, :, None]).sum(axis=1)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), np.float32)

    def scores(self, ids: Numbers, mask: Numbers, kinds: Numbers) -> Floats:
        """A score for each pair of texts."""
        found = self._run(ids=ids, mask=mask, kinds=kinds)
        return found[:, -1] - found[:, 0] if found.shape[1] > 1 else found[:, 0]

    def _run(self, **inputs: Numbers) -> Floats:
        if self._ours:
            given = {name: value for name, value in inputs.items() if name in self._names}
        else:
            given = {_THEIRS[name]: value.astype(np.int64) for name, value in inputs.items() if _THEIRS[name] in self._names}
        outputs = [each.name for each in self._session.get_outputs()]
        chosen = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        found: Floats = self._session.run([chosen], given)[0]
        return found


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
