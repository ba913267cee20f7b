"""The weights that ship with citewell, a folder each, and where others are found by name."""

from __future__ import annotations

import os
from pathlib import Path


def folder(name: str) -> Path:
    """The folder of a model: one of ``$CITEWELL_MODELS``, else the one that ships by this name."""
    given = os.environ.get("CITEWELL_MODELS")
    if given and (Path(given) / name).is_dir():
        return Path(given) / name
    return Path(__file__).parent / name
