"""The papers of a library or of files, one after the other: what a new set is made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from citewell.library.add import input_files
from citewell.library.library import Library
from citewell.papers import Paper, Problem
from citewell.sources import InputError, Source, find_reader

_BATCH = 1000


def from_library(library: Library) -> Iterator[Paper]:
    """Every paper of a library."""
    nums = [num for (num,) in library.store.db.execute("SELECT num FROM papers ORDER BY num")]
    for start in range(0, len(nums), _BATCH):
        yield from library.store.papers(nums[start : start + _BATCH]).values()


def from_files(paths: Sequence[Path], problems: list[str]) -> Iterator[Paper]:
    """Every paper of files that citewell reads; adds a line to `problems` for each record that cannot be read."""
    for file in input_files(paths):
        try:
            with Source(file.path, file.namespace) as source:
                reader = find_reader(source.head)
                if reader is None:
                    problems.append(f"{file.path}: no reader knows its format; it was skipped")
                    continue
                for record in reader.read(source):
                    if isinstance(record, Paper):
                        yield record
                    elif isinstance(record, Problem):
                        where = f"{file.path}, line {record.line}" if record.line else str(file.path)
                        problems.append(f"{where}: {record.reason}; it was skipped")
        except InputError as error:
            problems.append(f"{file.path}: {error}; the rest of it was skipped")
