"""One server for all tests of a module that only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.library import Library
from tests.conftest import TINY
from tests.serve.served import Served, serving


@pytest.fixture(scope="module")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library of a few made-up papers."""
    folder = tmp_path_factory.mktemp("served")
    source = folder / "tiny.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in TINY))
    with Library(folder / "library") as library:
        library.add([source])
    return folder / "library"


@pytest.fixture(scope="module")
def served(library_folder: Path) -> Iterator[Served]:
    with serving(library_folder) as server:
        yield server
