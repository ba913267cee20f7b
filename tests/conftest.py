"""Fixtures for all tests."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell import threads
from citewell.library import Library
from tests import numpy_rules

os.environ["CITEWELL_BACKGROUND"] = "off"  # only the tests of background processes start any
numpy_rules.enforce()

TINY: list[dict[str, Any]] = [
    {
        "id": "harbour",
        "doi": "10.1000/harbour",
        "title": "Counting boats in the harbour",
        "abstract": "We count boats from photographs of a harbour and find that gulls disturb the count.",
        "authors": ["Mira Holt", "Jon Pike"],
        "year": 2015,
        "venue": "Journal of Harbours",
    },
    {
        "id": "gulls",
        "title": "Gulls as a source of error",
        "abstract": "Gulls are mistaken for boats. We tell them apart by their wings.",
        "authors": ["Ana Reis"],
        "year": 2017,
        "venue": "Journal of Harbours",
        "references": ["harbour", "doi:10.1000/not-here-yet"],
    },
    {
        "id": "tides",
        "doi": "10.1000/tides",
        "title": "Tides move the boats",
        "abstract": "What was counted at high tide must be counted again at low tide.",
        "authors": ["Jon Pike", "Lee Moss"],
        "year": 2019,
        "references": ["harbour", "gulls", {"title": "A theory of piers", "year": 2001}],
        "sentences": ["Tides come twice a day.", "Boats move with them."],
    },
    {
        "id": "review",
        "title": "A review of harbour photography",
        "abstract": "Twenty years of photographs, from film to drones.",
        "authors": ["Lee Moss"],
        "year": 2021,
        "references": ["harbour", "gulls", "tides"],
    },
    {"id": "c1", "citing": "tides", "cited": ["harbour"], "text": "Boats were first counted from photographs TARGETCIT"},
    {"id": "c2", "citing": "review", "cited": ["gulls"], "text": "birds spoil the count TARGETCIT as does fog OTHERCIT"},
]
"""Four papers, eight references (two of them unresolved), two contexts."""


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    """A file of a few made-up papers and contexts."""
    path = tmp_path / "tiny.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in TINY))
    return path


@pytest.fixture
def tiny_models(tmp_path: Path) -> Path:
    """A folder for ``$CITEWELL_MODELS`` in which encoders of eight dimensions with a few words replace the shipped ones."""
    onnx, tokenizers = pytest.importorskip("onnx"), pytest.importorskip("tokenizers")
    words = ["[UNK]", "boats", "gulls", "harbour", "tides", "photographs"]
    table = np.random.default_rng(1).normal(size=(len(words), 8)).astype(np.float32)
    make, types = onnx.helper, onnx.TensorProto
    graph = make.make_graph(
        [
            make.make_node("Gather", ["table", "ids"], ["rows"]),
            make.make_node("Cast", ["mask"], ["counts"], to=types.FLOAT),
            make.make_node("Unsqueeze", ["counts", "last"], ["column"]),
            make.make_node("Mul", ["rows", "column"], ["counted"]),
            make.make_node("ReduceSum", ["counted", "middle"], ["sums"], keepdims=0),
            make.make_node("LpNormalization", ["sums"], ["vectors"], axis=1, p=2),
        ],
        "tiny",
        [make.make_tensor_value_info(name, types.INT32, ["texts", "tokens"]) for name in ("ids", "mask")],
        [make.make_tensor_value_info("vectors", types.FLOAT, ["texts", 8])],
        [
            onnx.numpy_helper.from_array(table, "table"),
            onnx.numpy_helper.from_array(np.array([2]), "last"),
            onnx.numpy_helper.from_array(np.array([1]), "middle"),
        ],
    )
    folder = tmp_path / "models" / "citewell"
    folder.mkdir(parents=True)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    shutil.copytree(folder, folder.with_name("citewell-static"))
    return folder.parent


@pytest.fixture
def tiny(tiny_file: Path, tmp_path: Path) -> Library:
    """A library of a few made-up papers."""
    library = Library(tmp_path / "tiny")
    library.add([tiny_file])
    return library


@pytest.fixture(autouse=True)
def restored_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command run inside the tests sets thread variables; processes of later tests must not inherit them."""
    for name in threads._LIBRARIES:
        if name in os.environ:
            monkeypatch.setenv(name, os.environ[name])
        else:
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)
