"""Writes the files of a new set: JSON lines, values of ``set.toml``, and a folder that appears only when it is complete."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from citewell.errors import CitewellError
from citewell.progress import Progress


def write_lines(path: Path, records: Iterable[dict[str, Any]], progress: Progress) -> int:
    """Write JSON lines, always the same bytes for the same records; returns their number."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        for record in records:
            out.write(encode(record) + b"\n")
            count += 1
            progress.advance()
    return count


def toml(value: str | bool | int | list[str] | list[int]) -> str:
    """A value in TOML, which is the same as in JSON except for one character."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode().replace("\x7f", "\\u007f")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder next to `folder`; it is renamed to `folder` at the end, or removed if something fails."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            # Only the user can read the temporary folder; a folder inside it has the usual permissions.
            building = Path(scratch) / folder.name
            building.mkdir()
            yield building
            if folder.exists():
                folder.rmdir()
            building.rename(folder)
    except OSError as error:
        raise CitewellError(f"cannot write {folder}: {error.strerror or error}; choose another folder") from None
