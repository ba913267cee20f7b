"""A manuscript that came as bytes: text, a Word file, or a zipped project.

Nothing that the client names is ever a path of ours. A project is unpacked, as far as it is text, into a temporary folder that
no name in it can lead out of, and its manuscript may take in only what lies there.
"""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from citewell.draft import docx, form_of, parse, read
from citewell.draft.archives import archive
from citewell.draft.files import decoded
from citewell.errors import CitewellError
from citewell.papers import Draft
from citewell.serve.messages import RefusedError

_MOST_BYTES = 50_000_000
"""So much text a project may hold, unpacked."""
_MOST_FILES = 2_000
_TEXTS = (
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
    ".txt",
    ".yaml",
    ".yml",
    ".json",
)
_MANUSCRIPTS = (".tex", ".ltx", ".latex", ".qmd", ".rmd", ".md", ".markdown", ".txt")
_CHUNK = 1 << 16


def read_upload(name: str, data: bytes) -> Draft:
    """The draft in a file that was sent; `name` is what the client calls it."""
    try:
        if docx.looks_like(data):
            return docx.read(data, name)
        if data.startswith(b"PK\x03\x04"):
            return _project(data)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, UnicodeDecodeError) as error:
        raise RefusedError(422, f"{name} is a damaged or locked archive ({error}); save it anew") from None
    text, _ = decoded(data)
    if "\x00" in text:
        raise RefusedError(422, f"{name} is not a text file; send .tex, .md, .txt, .docx or a .zip of a LaTeX project")
    if not text.strip():
        raise RefusedError(422, f"{name} is empty; put the title on its first line and the text below it")
    return parse(text, form_of(text, name))


def _project(data: bytes) -> Draft:
    with tempfile.TemporaryDirectory(prefix="citewell-") as place, archive(data) as packed:
        folder = Path(place).resolve()
        found = {}
        for inner, text in _texts(packed):
            path = folder / inner
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
            except OSError:
                raise RefusedError(422, f"the project cannot be unpacked: {inner} is in the way of another file") from None
            found[inner] = text
        try:
            return read(folder / _main(found), within=folder)
        except CitewellError as error:
            raise RefusedError(422, str(error).replace(f"{folder}/", "")) from None


def _texts(packed: zipfile.ZipFile) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The texts in an archive, of a name that leads nowhere else; their bytes are counted as they come out of it."""
    left = _MOST_BYTES
    for info in packed.infolist()[:_MOST_FILES]:
        inner = PurePosixPath(info.filename)
        if inner.suffix.lower() not in _TEXTS or not _is_plain(info, inner):
            continue
        pieces = []
        with packed.open(info) as stream:
            while piece := stream.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    raise RefusedError(
                        413, f"the project holds more than {_MOST_BYTES // 1_000_000} MB of text; send less of it"
                    )
                pieces.append(piece)
        yield inner, b"".join(pieces)


def _is_plain(info: zipfile.ZipInfo, inner: PurePosixPath) -> bool:
    odd = inner.is_absolute() or ".." in inner.parts or any(sign in info.filename for sign in "\\:\x00")
    return not (odd or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16))


def _main(texts: dict[PurePosixPath, bytes]) -> PurePosixPath:
    """Which file is the manuscript: the one that begins a LaTeX document, else the highest and largest."""
    manuscripts = [path for path in texts if path.suffix.lower() in _MANUSCRIPTS]
    if not manuscripts:
        raise RefusedError(422, "the archive holds no .tex, .md, .qmd or .txt file; zip the folder of your manuscript")

    def rank(path: PurePosixPath) -> tuple[object, ...]:
        begins = b"\\documentclass" in texts[path] and b"\\begin{document}" in texts[path]
        return (
            not begins,
            _MANUSCRIPTS.index(path.suffix.lower()),
            len(path.parts),
            path.stem != "main",
            -len(texts[path]),
            path,
        )

    return min(manuscripts, key=rank)
