"""A change of files that can be looked at first: a unified diff, and then, if wanted, the files themselves."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from citewell.draft.files import Encoding, decoded, replace_file
from citewell.errors import CitewellError


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is (None where there is none yet), and as it is to be."""

    path: Path
    old: bytes | None
    new: bytes

    @classmethod
    def of(cls, path: Path, text: str) -> Change:
        """The file at `path` with this text, in the encoding that it has."""
        old = path.read_bytes() if path.exists() else None
        encoding = decoded(old)[1] if old is not None else Encoding()
        try:
            return cls(path, old, encoding.encode(text))
        except UnicodeEncodeError as error:
            letter = error.object[error.start : error.start + 1]
            raise CitewellError(f"{path} is in {encoding.name}, which has no {letter!r}; save it as UTF-8 first") from error

    def diff(self) -> Iterator[str]:
        """The change as lines of a unified diff."""
        before, after = decoded(self.old or b"")[0], decoded(self.new)[0]
        old_name = str(self.path) if self.old is not None else "/dev/null"
        for line in difflib.unified_diff(_lines(before), _lines(after), old_name, str(self.path)):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def write(self) -> None:
        """Put the new file in the old one's place, unless somebody changed that since."""
        now = self.path.read_bytes() if self.path.exists() else None
        if now != self.old:
            raise CitewellError(f"{self.path} was changed meanwhile; run the command again")
        replace_file(self.path, self.new)


def _lines(text: str) -> list[str]:
    """Lines as a diff has them: only a newline ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
