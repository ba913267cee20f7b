"""How the vectors of a library stand: how many papers have theirs, and how far the process is that makes more.

Who encodes holds the shelf's lock. The operating system takes it back when that process ends, however it ends, so a lock that
is held means that someone is at work. How far they are stands in a small file beside it, replaced by rename.
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
from citewell.library.index.postings import JOINED
from citewell.library.library import Library
from citewell.library.vectors.encode import SENTENCES, TEXTS, Encodes, Report, encode, lock_path, to_look_at
from citewell.library.vectors.store import Floats, Shelf, shelves
from citewell.models import encoder as encoders
from citewell.models.encoder import PaperEncoder
from citewell.models.inputs import PaperText

KEPT = (("citewell-static", "own+cited"), ("citewell-static", "sentences"), ("citewell", "own+cited"))
"""The vectors that an add brings up to date by itself: encoder and text, in the order in which they are made."""
_LOOK_EVERY = 0.3


class Progress(msgspec.Struct):
    """How far an encoding is."""

    pid: int
    started: float
    updated: float
    done: int
    total: int
    """Papers to look at; those that turn out to have their vector already go fast."""
    pace: float = 0.0
    """Seconds that a paper took where some were encoded last; 0 where none was yet."""

    def seconds_left(self) -> float | None:
        left = (self.total - self.done) * self.pace - (time.time() - self.updated)
        return max(0.0, left) if self.pace else None


class Standing(msgspec.Struct):
    """The vectors of one encoder and text."""

    encoder: str
    text: str
    papers: int
    """How many papers have their vector."""
    of: int
    """How many have such a text."""
    complete: bool
    """Whether there is nothing left to look at."""
    at_work: bool
    """Whether a process is encoding now."""
    seconds_left: float | None = None
    """How long that will take, where it can be told."""
    damage: str = ""
    """Why they cannot be read, and what to do; then they are not counted."""


def standings(library: Library) -> list[Standing]:
    """Of all vectors that the library has or should have."""
    return [_standing(library, name, text) for name, text in _shelves(library)]


def _shelves(library: Library) -> Iterator[tuple[str, str]]:
    wanted = kept()
    yield from wanted
    yield from (pair for pair in shelves(library.folder) if pair[1] in TEXTS and pair not in wanted)


def _standing(library: Library, name: str, text: str) -> Standing:
    # A joined text is indexed of those papers alone of which more than their own text is known.
    papers = library.index.listed("own" if text in (*JOINED, SENTENCES) else text)
    busy = at_work(library, name, text)
    try:
        shelf = Shelf(library.folder, name, text)
    except (CitewellError, DamagedFileError) as error:
        return Standing(name, text, 0, len(papers), complete=False, at_work=busy, damage=str(error))
    has = int(np.count_nonzero(shelf.known(papers)))
    progress = read_progress(library, name, text) if busy else None
    left = progress.seconds_left() if progress else None
    return Standing(name, text, has, len(papers), not _behind(library, shelf, text), busy, left)


def _behind(library: Library, shelf: Shelf, text: str) -> bool:
    """Whether the index has segments of the text that nobody has gone through."""
    return shelf.gone_through != to_look_at(library.index, text, shelf.gone_through)[0]


def lacking(library: Library) -> list[tuple[str, str]]:
    """The vectors that are to be kept up to date, can be, and are not, as the library is on disk now."""
    library.reload()
    return [(name, text) for name, text in kept() if _behind(library, Shelf(library.folder, name, text), text)]


def kept() -> list[tuple[str, str]]:
    """Encoders and texts of `KEPT`, as far as their weights are there."""
    return [pair for pair in KEPT if encoders.available(pair[0])]


def command_for(name: str, text: str) -> str:
    """The command that makes these vectors."""
    options = "" if (name, text) in KEPT else f" --encoder {name}" + ("" if text == "own" else f" --text {text}")
    return f"citewell library encode{options}"


def at_work(library: Library, name: str, text: str) -> bool:
    """Whether a process is making these vectors now."""
    path = _beside(library, name, text, "lock")
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # not ours to lock: a library that may only be read
        return False


def read_progress(library: Library, name: str, text: str) -> Progress | None:
    """How far the last process to encode is, or was when it ended."""
    try:
        return msgspec.json.decode(_beside(library, name, text, "json").read_bytes(), type=Progress)
    except (OSError, msgspec.DecodeError):
        return None


def follow(library: Library, name: str, text: str, start: Report, report: Report) -> None:
    """Wait while another process makes these vectors, and tell how far it is."""
    shown, total = 0, -1
    while at_work(library, name, text):
        if progress := read_progress(library, name, text):
            if progress.total != total or progress.done < shown:
                shown, total = 0, progress.total
                start(total)
            report(progress.done - shown)
            shown = progress.done
        time.sleep(_LOOK_EVERY)


def encode_openly(
    library: Library,
    name: str,
    text: str,
    start: Report = lambda papers: None,
    report: Report = lambda papers: None,
) -> int:
    """As `encode`, letting other processes see how far it is; `start` and `report` hear what they hear there."""
    path = _beside(library, name, text, "json")
    encoder = encoders.load(name)
    noticed = _NoticedReader(encoder) if isinstance(encoder, PaperEncoder) else _Noticed(encoder)
    rounds: list[Progress] = []

    def begin(papers: int) -> None:
        now = time.time()
        rounds.append(Progress(os.getpid(), now, now, 0, papers))
        _replace(path, rounds[-1])
        start(papers)

    def advance(papers: int) -> None:
        now, progress = time.time(), rounds[-1]
        # The first round encodes; what follows, a neighbour index, takes its time for every paper.
        if noticed.asked or len(rounds) > 1:
            progress.pace = (now - progress.updated) / max(1, papers)
        noticed.asked = False
        progress.updated = now
        progress.done += papers
        _replace(path, progress)
        report(papers)

    return encode(library, noticed, text, start=begin, report=advance)


class _Noticed:
    """An encoder that remembers whether it was asked: papers that were encoded before go too fast to judge the rest by."""

    def __init__(self, encoder: Encodes) -> None:
        self.name = encoder.name
        self.asked = False
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked = True
        return self._encoder.encode(texts)


class _NoticedReader(_Noticed):
    """The same of one that reads the parts of papers."""

    @property
    def contexts(self) -> int:
        assert isinstance(self._encoder, PaperEncoder)
        return self._encoder.contexts

    def papers(self, papers: Sequence[PaperText]) -> Floats:
        self.asked = True
        assert isinstance(self._encoder, PaperEncoder)
        return self._encoder.papers(papers)


def _beside(library: Library, name: str, text: str, ending: str) -> Path:
    """A file beside the shelf, as its lock is."""
    return lock_path(library.folder, name, text).with_suffix(f".{ending}")


def _replace(path: Path, progress: Progress) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(msgspec.json.encode(progress))
    part.rename(path)
