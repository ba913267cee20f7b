"""What a user accepted and dismissed, recorded in the library's folder, and only with the user's consent.

The folder ``feedback`` of a library has ``consent.json`` while the user consents, and ``judgements.jsonl``, one
`citewell.judgements.Judgement` a line, which only the user can read. Processes take turns by a lock; a mark is one write that
is either complete or undone. A mark that is taken back is not deleted: a later line with the mark ``unclear`` replaces it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.judgements import JudgedText, Judgement, Mark, encode, latest, read_judgements

FOLDER = "feedback"
FILE = "judgements.jsonl"
_CONSENT, _LOCK = "consent.json", "lock"
_PATIENCE = 5.0
"""Seconds to wait for another process that writes."""
_BLOCK = 65_536

NOTICE = (
    "While this is on, each suggestion that you cite or dismiss is recorded in {file}, which only you can read, together with"
    " the title, abstract and authors of your draft, the text around the gap and the ids of the papers that the draft cites;"
    " nothing leaves this machine."
)
"""What a user consents to."""


class FeedbackError(CitewellError):
    """A mark that could not be recorded, or records that could not be deleted."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """The ``errno`` of the operating system; 0 if it reported none."""


@dataclass(frozen=True, slots=True)
class Status:
    """Whether feedback is recorded, and what has been."""

    on: bool
    since: str
    """When the user consented, as an ISO time in UTC; empty if feedback is off."""
    file: str
    relevant: int
    """Marks that count: the last one for each gap and paper, without those that were taken back."""
    irrelevant: int


class Feedback:
    """The feedback of one library.

    >>> feedback = Feedback(library.folder)                                  # doctest: +SKIP
    >>> feedback.turn_on()                                                   # doctest: +SKIP
    >>> feedback.record(text, "doi:10.1000/harbour", "relevant")             # doctest: +SKIP
    """

    def __init__(self, library: Path) -> None:
        self.folder = library / FOLDER
        self.file = self.folder / FILE

    @property
    def on(self) -> bool:
        """Whether the user consents."""
        return (self.folder / _CONSENT).is_file()

    @property
    def notice(self) -> str:
        """What the user consents to, in one sentence."""
        return NOTICE.format(file=self.file)

    def turn_on(self) -> None:
        """Record from now on: the user consents to `notice`."""
        with self._writing("feedback cannot be turned on"):
            if not self.on:
                consent = {"since": _now(), "notice": self.notice}
                write_atomically(self.folder / _CONSENT, msgspec.json.encode(consent) + b"\n")

    def turn_off(self) -> None:
        """Record nothing from now on; what was recorded stays."""
        if self.folder.is_dir():
            with self._writing("feedback cannot be turned off"):
                (self.folder / _CONSENT).unlink(missing_ok=True)

    def record(self, text: JudgedText, paper: str, mark: Mark, query: str = "") -> str:
        """Record a mark of a paper for a query, and return the id of the query; without consent do nothing and return "".

        `query` is the id of the query; by default it follows from the text. A mark that replaces an earlier one needs no text.
        """
        if not self.on:
            return ""
        name = query or query_id(text)
        with self._writing("the feedback was not recorded"):
            if not self.on:  # turned off while this waited
                return ""
            if not any((text.title, text.abstract, text.context, text.topic, text.question)):
                text = self._text_of(name) or text
            _append(self.file, encode(Judgement("", name, text, paper, mark, "desk", _now())))
        return name

    def _text_of(self, query: str) -> JudgedText | None:
        """The text of an earlier mark for a query."""
        if self.file.is_file():
            _drop_incomplete_line(self.file)
            for judgement in read_judgements([self.file]):
                if judgement.query == query:
                    return judgement.text
        return None

    def records(self) -> list[Judgement]:
        """The last mark for each query and paper, without those that were taken back."""
        if not self.file.is_file():
            return []
        with self._writing("the feedback cannot be read"):
            _drop_incomplete_line(self.file)
            return [each for each in latest(read_judgements([self.file])) if each.mark != "unclear"]

    def status(self) -> Status:
        """Whether feedback is recorded, and what has been."""
        since = ""
        with suppress(FileNotFoundError, msgspec.DecodeError):
            since = str(msgspec.json.decode((self.folder / _CONSENT).read_bytes()).get("since", ""))
        marks = [each.mark for each in self.records()]
        return Status(self.on, since, str(self.file), marks.count("relevant"), marks.count("irrelevant"))

    def delete(self) -> int:
        """Delete everything that was recorded, retracted marks too; returns the number of lines. Consent stays as it is."""
        if not self.file.exists():
            return 0
        with self._writing("the feedback was not deleted"):
            lines = self.file.read_bytes().count(b"\n")
            self.file.unlink(missing_ok=True)
        return lines

    @contextmanager
    def _writing(self, failure: str) -> Iterator[None]:
        """Wait for other processes; errors of the operating system become one line."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self.folder / _LOCK, timeout=_PATIENCE):
                yield
        except Timeout:
            raise FeedbackError(f"{failure}: another process has locked {self.folder}; try again", errno.EAGAIN) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise FeedbackError(
                f"{failure}: {self.folder}: {reason}; free some space or check the permissions of the folder", error.errno or 0
            ) from None


def query_id(text: JudgedText) -> str:
    """The id of a desk query: equal texts have equal ids, whatever the draft cites elsewhere."""
    parts = (text.task, text.title, text.abstract, text.context, text.topic, text.question)
    return f"desk-{blake2b(chr(0).join(parts).encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def citing_text(
    task: str, title: str, abstract: str, context: str, authors: Sequence[str] = (), known: Sequence[str] = ()
) -> JudgedText:
    """The record of a query of a draft; `context` is the topic sentence in the paragraph task."""
    topic, gap = (context, "") if task == "paragraph" else ("", context)
    return JudgedText(task, title, abstract, gap, topic, authors=tuple(authors), known=tuple(known))


def _append(path: Path, line: bytes) -> None:
    """Append a line and flush it to disk; if that fails, the file is as before."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o600)
    try:
        size = _end_of_last_line(handle)
        try:
            if os.write(handle, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def _drop_incomplete_line(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        _end_of_last_line(handle)
    finally:
        os.close(handle)


def _end_of_last_line(handle: int) -> int:
    """The size of a file after an incomplete last line, left by a power failure, has been removed."""
    size = end = os.fstat(handle).st_size
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(handle, start, os.SEEK_SET)
        at = os.read(handle, end - start).rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    if end < size:
        os.ftruncate(handle, end)
    return end


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
