"""The manifest: which segment files make up the index, committed by one rename.

Segments are immutable. A new manifest names the new ones and no longer names those that were merged; only when it has taken
its name are the old files deleted. A reader keeps what it has mapped; one that finds a file missing reads the manifest again.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.text import analysis

FOLDER = "index"
FILE = "manifest.json"
FORMAT = 4


class Entry(msgspec.Struct, frozen=True):
    """One segment file."""

    file: str
    field: str
    block: int
    papers: int
    """How many papers it lists, removed ones included."""
    texts: int
    """How many of them have a text in this field."""
    terms: int
    """How many terms those texts have in all."""
    bytes: int
    crc32: int
    languages: list[str] = []
    """The languages in which those texts were analysed."""


class Manifest(msgspec.Struct):
    """The whole index: its segments, oldest first."""

    format: int = FORMAT
    analysis: str = analysis.VERSION
    generation: int = 0
    segments: list[Entry] = []


def exists(library: Path) -> bool:
    """Whether a library has an index at all; the first writer makes an empty one."""
    return (library / FOLDER / FILE).exists()


def is_readable(library: Path) -> bool:
    """Whether there is an index that this version of citewell can use; one that is damaged is not for a writer to replace."""
    try:
        return exists(library) and not _is_foreign(msgspec.json.decode((library / FOLDER / FILE).read_bytes(), type=Manifest))
    except (msgspec.DecodeError, OSError):
        return True  # `load` says what is wrong with it


def load(library: Path) -> Manifest:
    """The manifest of a library; an empty one where nothing was indexed yet."""
    path = library / FOLDER / FILE
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except (msgspec.DecodeError, OSError) as error:
        raise CitewellError(f"the index of {library} cannot be read ({error}); run 'citewell library rebuild'") from None
    if _is_foreign(manifest):
        raise CitewellError(f"the index of {library} was made by another version of citewell; run 'citewell library rebuild'")
    return manifest


def _is_foreign(manifest: Manifest) -> bool:
    """Whether another version of citewell made the index."""
    return manifest.format != FORMAT or manifest.analysis != analysis.VERSION


def commit(library: Path, manifest: Manifest) -> None:
    """Make `manifest` the current one, durably."""
    folder = library / FOLDER
    folder.mkdir(exist_ok=True)
    write_atomically(folder / FILE, msgspec.json.format(msgspec.json.encode(manifest)))


def sweep(library: Path, manifest: Manifest) -> None:
    """Delete files of the index that `manifest` does not name: what was merged, or left by a crash."""
    named = {entry.file for entry in manifest.segments} | {FILE}
    for path in (library / FOLDER).iterdir():
        if path.name not in named:
            path.unlink(missing_ok=True)
