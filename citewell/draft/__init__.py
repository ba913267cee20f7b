"""Manuscripts: one reader per format, each making a `Draft`.

`read` takes a file and what belongs to it, `parse` a text alone. What the text looks like says which format it has; its name
only decides where the look leaves it open.
"""

from __future__ import annotations

from pathlib import Path

from citewell.draft import plain
from citewell.draft.flow import Flow
from citewell.draft.resolving import resolved
from citewell.errors import CitewellError
from citewell.papers import Draft

__all__ = ["FORMS", "parse", "read", "resolved"]

FORMS = ("latex", "markdown", "docx", "text")
_MAX_BYTES = 20_000_000


def read(path: Path, within: Path | None = None) -> Draft:
    """The draft in a file, with the files it takes in and its bibliography; only those inside `within`, where that is given."""
    if path.stat().st_size > _MAX_BYTES:
        raise CitewellError(f"{path} is larger than any manuscript ({_MAX_BYTES // 1_000_000} MB); give a text file")
    data = path.read_bytes()
    if b"\x00" in data:
        raise CitewellError(f"{path} is not a text file; save your draft as plain text")
    draft = plain.read(Flow.of(data.decode("utf-8-sig", "replace")))
    if not draft.title:
        raise CitewellError(f"{path} is empty; put the title on its first line and the text below it")
    return draft


def parse(text: str, form: str = "") -> Draft:
    """The draft that a text is; no file is opened, whatever it names."""
    return plain.read(Flow.of(text))
