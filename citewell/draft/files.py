"""The files that a draft is made of: their text, and how to write it back as it was encoded."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from citewell.errors import CitewellError

MAX_BYTES = 20_000_000
_MAX_FILES = 500
_MARKED = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file says its text: its byte order mark and its character set."""

    mark: bytes = b""
    name: str = "utf-8"

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode(self.name)


def decoded(data: bytes) -> tuple[str, Encoding]:
    """The text of a file; what is neither UTF-8 nor marked is taken for Latin-1, which says every byte back as it was."""
    for mark, name in _MARKED:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(name), Encoding(mark, name)
            except UnicodeDecodeError:
                break
    try:
        return data.decode(), Encoding()
    except UnicodeDecodeError:
        return data.decode("latin-1"), Encoding(b"", "latin-1")


def content(path: Path) -> bytes:
    """The bytes of a file that may be a manuscript."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise CitewellError(f"{path} is larger than any manuscript ({MAX_BYTES // 1_000_000} MB); give the text alone")
        return path.read_bytes()
    except OSError as error:
        raise CitewellError(f"{path} cannot be read: {error.strerror or error}; check its name and permissions") from error


@dataclass(slots=True)
class Folder:
    """Where a draft's further files are looked for: beside it, and nowhere where there is no `root`."""

    root: Path | None = None
    within: Path | None = None
    """Only files in this folder are opened, whatever a draft names; None where it may name any."""
    main: str = ""
    """The name of the draft itself."""
    opened: int = 0
    missing: list[str] = field(default_factory=list)
    """Files that the draft names and that are not there."""

    def formatted(self) -> tuple[str, str] | None:
        """The bibliography that BibTeX made of a LaTeX document, which archives have in place of the ``.bib`` file."""
        name = f"{Path(self.main).stem}.bbl"
        return self.text(name) if self.root is not None and (self.root / name).is_file() else None

    def text(self, name: str, *suffixes: str) -> tuple[str, str] | None:
        """The first file of this name, as it is or with one of the suffixes: how the draft calls it, and its text."""
        if self.root is None or not name or "\x00" in name:
            return None
        for full in (name, *(name + suffix for suffix in suffixes)):
            path = self.root / full
            try:
                if not path.is_file() or path.stat().st_size > MAX_BYTES or self.opened >= _MAX_FILES:
                    continue
                if self.within is not None and not path.resolve().is_relative_to(self.within.resolve()):
                    continue
                text, _ = decoded(path.read_bytes())
            except (OSError, ValueError):
                continue
            self.opened += 1
            return full, text
        self.missing.append(name)
        return None


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at any moment, whatever happens, either the old one or the new one is there, whole."""
    path = path.resolve()  # where it is a link, what it leads to is written
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        beside = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            if path.exists():
                shutil.copymode(path, beside)
            else:
                beside.chmod(0o666 & ~_umask())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CitewellError(f"{path} cannot be written: {error.strerror or error}; check the folder's permissions") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
