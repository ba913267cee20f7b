"""Helpers for the tests of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.papers import Context, Paper, Problem, Remainder
from citewell.sources import Reader, Source, find_reader

DATA = Path(__file__).parent / "data"
SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"

needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"needs {SAMPLES}")


def taken(reader: Reader, data: bytes | Path, folder: Path | None = None) -> list[Paper | Context | Problem]:
    """All that `reader` makes of a file."""
    if isinstance(data, bytes):
        assert folder is not None
        path = folder / "file"
        path.write_bytes(data)
    else:
        path = data
    with Source(path) as source:
        return [each for each in reader.read(source) if not isinstance(each, Remainder)]


def papers(records: list[Paper | Context | Problem]) -> list[Paper]:
    return [each for each in records if isinstance(each, Paper)]


def problems(records: list[Paper | Context | Problem]) -> list[Problem]:
    return [each for each in records if isinstance(each, Problem)]


def recognised(path: Path) -> Reader | None:
    """The reader that recognises the content of a file."""
    with Source(path) as source:
        return find_reader(source.head)
