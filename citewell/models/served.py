"""What all served models share: their session, their tokeniser, and batches in which little is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


def session(folder: Path) -> Any:
    """The graph in a model's folder, ready to run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])


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
