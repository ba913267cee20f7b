"""Changes of files that the user can review before they are written: a unified diff, then the files themselves."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from citewell.draft.files import Encoding, decode, replace_file
from citewell.errors import CitewellError
from citewell.papers import Query


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is (None where it does not exist yet), and as it will be."""

    path: Path
    old: bytes | None
    new: bytes
    texts: tuple[str, str, str] | None = None
    """For a file that is not text: the name of the file it is made from, and the text of both for the diff."""

    others: str = ""
    """The encoding, where it cannot be told from the file alone."""

    @classmethod
    def of(cls, path: Path, text: str, others: str = "") -> Change:
        """The file at `path` with a new text, in its present encoding; `others` is that of the files that belong to it."""
        old = path.read_bytes() if path.exists() else None
        encoding = decode(old, others)[1] if old is not None else Encoding()
        try:
            return cls(path, old, encoding.encode(text), others=encoding.name)
        except UnicodeEncodeError as error:
            letter = error.object[error.start : error.start + 1]
            raise CitewellError(
                f"{path} is encoded in {encoding.name}, which has no {letter!r}; save it as UTF-8 first"
            ) from error

    @classmethod
    def of_word_file(cls, path: Path, new: bytes, original: Path, text: str) -> Change:
        """A Word file at `path`, made from `original`; the diff compares the Markdown that both are read as."""
        from citewell.draft.docx_document import convert

        old = path.read_bytes() if path.exists() else None
        return cls(path, old, new, (str(original), text, convert(new, str(path)).markdown.text))

    def diff(self) -> str:
        """The change as a unified diff, which ``patch`` and ``git apply`` accept."""
        return "".join(self._diff_lines())

    def write(self) -> None:
        """Replace the file, unless it has changed in the meantime."""
        now = self.path.read_bytes() if self.path.exists() else None
        if now != self.old:
            raise CitewellError(f"{self.path} has changed in the meantime; run the command again")
        replace_file(self.path, self.new)

    def __repr__(self) -> str:
        return f"Change({str(self.path)!r})\n{self.diff()}"

    def _diff_lines(self) -> Iterator[str]:
        if self.texts is not None:
            old_name, before, after = self.texts
        else:
            before, after = decode(self.old or b"", self.others)[0], decode(self.new, self.others)[0]
            old_name = str(self.path) if self.old is not None else "/dev/null"
        for line in difflib.unified_diff(_lines(before), _lines(after), old_name, str(self.path)):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


class Accepted(NamedTuple):
    """A paper that the user chose for a gap, by its rank or its id."""

    query: Query
    paper: str
    """The id of the paper."""


@dataclass(slots=True)
class Patch:
    """The result of `Manuscript.accept`: new texts of the draft and its bibliography, and the changes of files on disk."""

    keys: dict[str, str]
    """The citation key of each accepted paper, by paper id."""
    texts: dict[str, str]
    """The new text of each file of the draft that changes, by its name in `Draft.sources`."""
    bibliography: str
    """The new text of the bibliography."""
    changes: list[Change] = field(default_factory=list)
    """The files that change; empty for a manuscript without a file."""
    notes: list[str] = field(default_factory=list)
    """Gaps that stay open, and why."""
    accepted: list[Accepted] = field(default_factory=list)
    """The papers that were chosen for single gaps; the first suggestions for all gaps (``best``) are not among them."""

    def diff(self) -> str:
        """All changes as one unified diff."""
        return "".join(change.diff() for change in self.changes)

    def write(self) -> None:
        """Write all changed files."""
        for change in self.changes:
            change.write()


def _lines(text: str) -> list[str]:
    """The lines of a text as a diff counts them: only a newline character ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
