"""The status of a library's vectors: how many papers have theirs, and the progress of the process that computes more.

The process that encodes holds a lock. The operating system releases it when that process ends, however it ends, so a held lock
means that a process is at work. Its progress is in a small file next to the lock, replaced by rename.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.library.index.postings import JOINED
from citewell.library.library import Library
from citewell.library.vectors.encode import Encodes, encode, lock_path, to_look_at
from citewell.library.vectors.store import VectorStore, vector_stores
from citewell.library.vectors.texts import SENTENCES, TEXTS
from citewell.models import encoder as encoders
from citewell.models.encoder import PaperEncoder
from citewell.models.inputs import PaperText
from citewell.progress import SILENT, Progress
from citewell.types import Float32Array

DEFAULT_VECTORS = (("citewell-static", "own+cited"), ("citewell-static", "sentences"), ("citewell", "own+cited"))
"""The vectors that `citewell add` keeps up to date: encoder and text, in the order of computation."""
_LOOK_EVERY = 0.3


class EncodingProgress(msgspec.Struct):
    """The progress of an encoding."""

    pid: int
    started: float
    updated: float
    done: int
    total: int
    """Papers to check; those that already have their vector are skipped quickly."""
    pace: float = 0.0
    """Seconds per paper when papers were last encoded; 0 before that."""

    def seconds_left(self) -> float | None:
        left = (self.total - self.done) * self.pace - (time.time() - self.updated)
        return max(0.0, left) if self.pace else None


class VectorStatus(msgspec.Struct):
    """The status of the vectors of one encoder and text."""

    encoder: str
    text: str
    papers: int
    """How many papers have their vector."""
    of: int
    """How many papers have the text."""
    complete: bool
    """Whether nothing is left to check."""
    at_work: bool
    """Whether a process is encoding now."""
    seconds_left: float | None = None
    """The estimated time left, where it is known."""
    damage: str = ""
    """Why they cannot be read, and what to do; they are then not counted."""


def vector_status(library: Library) -> list[VectorStatus]:
    """The status of all vectors that the library has or should have."""
    return [_status(library, name, text) for name, text in _vector_sets(library)]


def _vector_sets(library: Library) -> Iterator[tuple[str, str]]:
    defaults = default_vectors()
    yield from defaults
    yield from (pair for pair in vector_stores(library.folder) if pair[1] in TEXTS and pair not in defaults)


def _status(library: Library, name: str, text: str) -> VectorStatus:
    # A joined text is indexed only for papers that have more than their own text.
    papers = library.index.listed("own" if text in (*JOINED, SENTENCES) else text)
    busy = at_work(library, name, text)
    try:
        store = VectorStore(library.folder, name, text)
    except (CitewellError, DamagedFileError) as error:
        return VectorStatus(name, text, 0, len(papers), complete=False, at_work=busy, damage=str(error))
    has = int(np.count_nonzero(store.known(papers)))
    progress = read_progress(library, name, text) if busy else None
    left = progress.seconds_left() if progress else None
    return VectorStatus(name, text, has, len(papers), not _behind(library, store, text), busy, left)


def _behind(library: Library, store: VectorStore, text: str) -> bool:
    """Whether the index has segments whose papers have not all been encoded."""
    return store.encoded_segments != to_look_at(library.index, text, store.encoded_segments)[0]


def lacking(library: Library) -> list[tuple[str, str]]:
    """The vectors of `DEFAULT_VECTORS` that can be computed and are out of date, as the library is on disk now."""
    library.reload()
    return [(name, text) for name, text in default_vectors() if _behind(library, VectorStore(library.folder, name, text), text)]


def default_vectors() -> list[tuple[str, str]]:
    """The encoders and texts of `DEFAULT_VECTORS` whose weights are installed."""
    return [pair for pair in DEFAULT_VECTORS if encoders.available(pair[0])]


def command_for(name: str, text: str) -> str:
    """The command that computes these vectors."""
    options = "" if (name, text) in DEFAULT_VECTORS else f" --encoder {name}" + ("" if text == "own" else f" --text {text}")
    return f"citewell library encode{options}"


def at_work(library: Library, name: str, text: str) -> bool:
    """Whether a process is computing these vectors now."""
    path = _file_next_to(library, name, text, "lock")
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a library that is read-only
        return False


def read_progress(library: Library, name: str, text: str) -> EncodingProgress | None:
    """The progress of the last process that encoded, also after it ended."""
    try:
        return msgspec.json.decode(_file_next_to(library, name, text, "json").read_bytes(), type=EncodingProgress)
    except (OSError, msgspec.DecodeError):
        return None


def follow(library: Library, name: str, text: str, progress: Progress = SILENT) -> None:
    """Wait while another process computes these vectors, and show its progress."""
    shown: tuple[int, int] | None = None
    while at_work(library, name, text):
        if state := read_progress(library, name, text):
            if shown is None or shown[1] != state.total or state.done < shown[0]:
                progress.start(f"encoding with {name}", state.total, "papers")
            progress.update(state.done, state.total)
            shown = state.done, state.total
        time.sleep(_LOOK_EVERY)


def encode_with_progress(library: Library, name: str, text: str, progress: Progress = SILENT) -> int:
    """As `encode`, with a progress file that other processes can read."""
    encoder = encoders.load(name)
    tracked = _TrackedPaperEncoder(encoder) if isinstance(encoder, PaperEncoder) else _TrackedEncoder(encoder)
    return encode(library, tracked, text, progress=_ProgressFile(_file_next_to(library, name, text, "json"), tracked, progress))


class _ProgressFile(Progress):
    """Writes the progress of an encoding to a file, and passes it on."""

    def __init__(self, path: Path, encoder: _TrackedEncoder, shown: Progress) -> None:
        self._path, self._encoder, self._shown = path, encoder, shown
        self._steps = 0
        self._state: EncodingProgress | None = None

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        now = time.time()
        self._steps += 1
        self._state = EncodingProgress(os.getpid(), now, now, 0, total or 0)
        self._write(self._state)
        self._shown.start(step, total, unit)

    def advance(self, count: int = 1) -> None:
        assert self._state is not None
        now, state = time.time(), self._state
        # The first step encodes; the next, a neighbour index, takes time for every paper.
        if self._encoder.ran or self._steps > 1:
            state.pace = (now - state.updated) / max(1, count)
        self._encoder.ran = False
        state.updated = now
        state.done += count
        self._write(state)
        self._shown.advance(count)

    def _write(self, state: EncodingProgress) -> None:
        write_atomically(self._path, msgspec.json.encode(state), durable=False)


class _TrackedEncoder:
    """An encoder that records whether it ran: papers that have their vector already say nothing about the time left."""

    def __init__(self, encoder: Encodes) -> None:
        self.name = encoder.name
        self.ran = False
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> Float32Array:
        self.ran = True
        return self._encoder.encode(texts)


class _TrackedPaperEncoder(_TrackedEncoder):
    """The same for an encoder that reads the parts of papers."""

    @property
    def contexts(self) -> int:
        assert isinstance(self._encoder, PaperEncoder)
        return self._encoder.contexts

    def papers(self, papers: Sequence[PaperText]) -> Float32Array:
        self.ran = True
        assert isinstance(self._encoder, PaperEncoder)
        return self._encoder.papers(papers)


def _file_next_to(library: Library, name: str, text: str, ending: str) -> Path:
    """A file next to the vectors, like their lock."""
    return lock_path(library.folder, name, text).with_suffix(f".{ending}")
