"""The files of a draft: their text, the files that they include, and how to write them back in their encoding."""

from __future__ import annotations

import codecs
import os
import re
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from citewell.errors import CitewellError
from citewell.files import replaced, sync_folder

MAX_BYTES = 20_000_000
_MAX_FILES = 500
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


_DECLARATION = re.compile(
    rb"\\(?:usepackage|RequirePackage)\s*\[([A-Za-z0-9-]+)[^\]\n]*\]\s*\{inputenc\}|\\inputencoding\s*\{([A-Za-z0-9-]+)\}"
    rb"|^[ \t]*%[^\n]{0,100}?coding[ \t]*[:=][ \t]*([A-Za-z0-9-]+)",
    re.MULTILINE,
)
_MAX_DECLARATION = 20_000
_INPUT_ENCODINGS = {
    "ansinew": "cp1252",
    "applemac": "mac-roman",
    "macce": "mac-latin2",
    **{
        f"latin{number}": f"iso8859-{part}"
        for number, part in zip(range(1, 11), (1, 2, 3, 4, 9, 10, 13, 14, 15, 16), strict=True)
    },
}
"""LaTeX's names of encodings for which Python has another one, or which mean another one to Python."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a text file: its byte order mark and its character set."""

    mark: bytes = b""
    name: str = "utf-8"

    def encode(self, text: str) -> bytes:
        """The bytes of a file with this text."""
        return self.mark + text.encode(self.name)


def decode(data: bytes, others: str = "") -> tuple[str, Encoding]:
    """The text of a file and its encoding: by its byte order mark, else UTF-8, else the one that it declares.

    `others` is the encoding of the files that belong to it. The last resort is Latin-1, which accepts any bytes.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(name), Encoding(mark, name)
            except UnicodeDecodeError:
                break
    try:
        return data.decode(), Encoding()
    except UnicodeDecodeError:
        pass
    for name in (_declared(data), others):
        try:
            if name and codecs.lookup(name).name not in ("utf-8", "utf-16"):
                return data.decode(name), Encoding(b"", name)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("latin-1"), Encoding(b"", "latin-1")


def encoding_of(data: bytes) -> str:
    """The encoding of a file and of those that it includes; it may declare one without having other letters than ASCII."""
    return _declared(data) or decode(data)[1].name


def _declared(data: bytes) -> str:
    """The encoding that a file names, in an option of inputenc or in a comment for editors; empty where there is none."""
    match = _DECLARATION.search(data, 0, _MAX_DECLARATION)
    name = (match[1] or match[2] or match[3]).decode("ascii").lower() if match else ""
    return _INPUT_ENCODINGS.get(name, name)


def read_bytes(path: Path) -> bytes:
    """The content of a file of reasonable size."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise CitewellError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB; choose the file with the text alone")
        return path.read_bytes()
    except OSError as error:
        raise CitewellError(f"cannot read {path}: {error.strerror or error}; check its name and permissions") from error


@dataclass(slots=True)
class Folder:
    """Where the files that a draft includes are looked for: next to the draft; nowhere without a `root`."""

    root: Path | None = None
    within: Path | None = None
    """Open only files in this folder, whatever the draft names; None allows any file."""
    main: str = ""
    """The file name of the draft itself."""
    encoding: str = ""
    """The encoding of the draft, if it is not Unicode: the files that it includes have the same."""
    opened: int = 0
    missing: list[str] = field(default_factory=list)
    """Files that the draft names and that do not exist."""

    def formatted_bibliography(self) -> tuple[str, str] | None:
        """The ``.bbl`` file that BibTeX made for a LaTeX document; archives often have it in place of the ``.bib`` file."""
        name = f"{Path(self.main).stem}.bbl"
        return self.text(name) if self.root is not None and (self.root / name).is_file() else None

    def package(self, name: str) -> str:
        """The text of a LaTeX class or package next to the draft, such as ``thesis.cls``; empty where it has none."""
        if self.root is None or not name or "\x00" in name or not (self.root / name).is_file():
            return ""
        opened = self.text(name)
        return opened[1] if opened is not None else ""

    def text(self, name: str, *suffixes: str) -> tuple[str, str] | None:
        """The full name and the text of the file `name`, as it is or with one of the suffixes; None where there is none."""
        if self.root is None or not name or "\x00" in name:
            return None
        for full_name in (name, *(name + suffix for suffix in suffixes)):
            path = self.root / full_name
            try:
                if not path.is_file() or path.stat().st_size > MAX_BYTES or self.opened >= _MAX_FILES:
                    continue
                if self.within is not None and not path.resolve().is_relative_to(self.within.resolve()):
                    continue
                text, _ = decode(path.read_bytes(), self.encoding)
            except (OSError, ValueError):
                continue
            self.opened += 1
            return full_name, text
        self.missing.append(name)
        return None


@dataclass
class DraftSource:
    """A manuscript to read: its content, its file name, and the folder of the files that it includes."""

    data: bytes = b""
    name: str = ""
    """The path or name of the file, for its suffix and for error messages; empty for pasted text."""
    folder: Folder = field(default_factory=Folder)

    @classmethod
    def of_text(cls, text: str) -> DraftSource:
        """A manuscript that was typed or pasted; no other file is opened for it."""
        source = cls()
        source.__dict__["text"] = text
        return source

    @classmethod
    def of_file(cls, path: Path, within: Path | None = None) -> DraftSource:
        """A file, with the files that it includes; only those in the folder `within`, where that is set."""
        data = read_bytes(path)
        return cls(data, str(path), Folder(path.parent, within, path.name, encoding_of(data)))

    @cached_property
    def text(self) -> str:
        """The content as text."""
        return decode(self.data)[0]

    @property
    def suffix(self) -> str:
        """The suffix of the file name in lower case, such as ``.tex``."""
        return Path(self.name).suffix.lower()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file in one step: a crash leaves either the old or the new file, complete.

    Permissions are kept. Where `path` is a symbolic link, the file that it points to is replaced.
    """
    path = path.resolve()
    try:
        # A read-only file cannot be opened again to flush it, so the flush comes before its permissions are set.
        with replaced(path, durable=False) as temporary:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, temporary)
        sync_folder(path.parent)
    except OSError as error:
        raise CitewellError(f"cannot write {path}: {error.strerror or error}; check the permissions of the folder") from error
