from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of set libraries is in a folder of the test."""
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
