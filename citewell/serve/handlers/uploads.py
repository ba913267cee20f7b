"""Reads an uploaded manuscript: text, a Word file, or a zipped project.

The server never uses a name from the client as a path. The text files of a project are unpacked into a temporary folder;
names that point outside of it are skipped, and the manuscript can include only files from that folder.
"""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from citewell.draft import DraftSource, read, read_source
from citewell.draft.archives import open_archive
from citewell.draft.registry import detect, is_binary
from citewell.errors import CitewellError
from citewell.papers import Draft
from citewell.serve.errors import ApiError

_MAX_BYTES = 50_000_000
"""The largest size of a project's text files, unpacked."""
_MAX_FILES = 2_000
_TEXT_SUFFIXES = (
    ".tex",
    ".ltx",
    ".latex",
    ".bib",
    ".bibtex",
    ".bbl",
    ".md",
    ".markdown",
    ".qmd",
    ".rmd",
    ".typ",
    ".org",
    ".ipynb",
    ".txt",
    ".yaml",
    ".yml",
    ".json",
)
_MANUSCRIPT_SUFFIXES = (".tex", ".ltx", ".latex", ".qmd", ".rmd", ".md", ".markdown", ".typ", ".org", ".ipynb", ".txt")
_CHUNK = 1 << 16


def read_upload(name: str, data: bytes) -> Draft:
    """The draft in an uploaded file; `name` is the client's name of it, used in messages."""
    source = DraftSource(data, name)
    try:
        if data.startswith(b"PK\x03\x04") and not is_binary(detect(source)):
            return _project(data)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, UnicodeDecodeError) as error:
        raise ApiError(422, f"{name} is damaged or password-protected ({error}); save it again and retry.") from None
    return read_source(source)


def _project(data: bytes) -> Draft:
    with tempfile.TemporaryDirectory(prefix="citewell-") as temporary, open_archive(data) as packed:
        folder = Path(temporary).resolve()
        texts = {}
        for inner, text in _texts(packed):
            path = folder / inner
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
            except OSError:
                raise ApiError(422, f"The project cannot be unpacked: {inner} is both a file and a folder.") from None
            texts[inner] = text
        try:
            return read(folder / _main_file(texts), within=folder)
        except CitewellError as error:
            raise ApiError(422, str(error).replace(f"{folder}/", "")) from None


def _texts(packed: zipfile.ZipFile) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The text files in an archive with safe names; their bytes are counted as they are unpacked."""
    left = _MAX_BYTES
    for info in packed.infolist()[:_MAX_FILES]:
        inner = PurePosixPath(info.filename)
        if inner.suffix.lower() not in _TEXT_SUFFIXES or not _is_safe(info, inner):
            continue
        pieces = []
        with packed.open(info) as stream:
            while piece := stream.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    raise ApiError(
                        413, f"The project has more than {_MAX_BYTES // 1_000_000} MB of text; send a smaller part of it."
                    )
                pieces.append(piece)
        yield inner, b"".join(pieces)


def _is_safe(info: zipfile.ZipInfo, inner: PurePosixPath) -> bool:
    unsafe = inner.is_absolute() or ".." in inner.parts or any(sign in info.filename for sign in "\\:\x00")
    return not (unsafe or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16))


def _main_file(texts: dict[PurePosixPath, bytes]) -> PurePosixPath:
    """The manuscript: the file that begins a LaTeX document, otherwise the largest one at the top level."""
    manuscripts = [path for path in texts if path.suffix.lower() in _MANUSCRIPT_SUFFIXES]
    if not manuscripts:
        raise ApiError(422, "The archive contains no .tex, .md, .qmd or .txt file; zip the folder of your manuscript.")

    def rank(path: PurePosixPath) -> tuple[object, ...]:
        begins = b"\\documentclass" in texts[path] and b"\\begin{document}" in texts[path]
        return (
            not begins,
            _MANUSCRIPT_SUFFIXES.index(path.suffix.lower()),
            len(path.parts),
            path.stem != "main",
            -len(texts[path]),
            path,
        )

    return min(manuscripts, key=rank)
