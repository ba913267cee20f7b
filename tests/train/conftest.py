"""A library with enough papers and contexts to learn a little from."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.library import Library
from tests.evaluate.small_set import small_set


@pytest.fixture
def small(tmp_path: Path) -> Library:
    library = Library(tmp_path / "small")
    library.add([small_set().write(tmp_path / "set")])
    return library
