"""Shared by the tests of the library: store records without a file, and inspect the result."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from citewell.library.store import schema
from citewell.library.store.intake import Intake
from citewell.papers import Context, Paper
from citewell.progress import Progress

TABLES = ("papers", "ids", "citations", "waiting", "contexts", "targets", "parked", "sentences", "meta")


@contextmanager
def store(folder: Path) -> Iterator[sqlite3.Connection]:
    """A new or existing store, open for writing."""
    folder.mkdir(exist_ok=True)
    db = schema.create(folder)
    # The tests that cut the power have their own files; here a sync would only cost time.
    db.execute("PRAGMA synchronous = OFF")
    try:
        yield db
    finally:
        db.close()


def take(db: sqlite3.Connection, *batches: Sequence[Paper | Context]) -> list[int]:
    """Store batches, a transaction each; returns the number of new papers in each."""
    intake = Intake(db)
    counts = []
    for batch in batches:
        with schema.transaction(db):
            counts.append(intake.take(batch))
    return counts


def dump(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in the store except what is still to be indexed."""
    return {table: sorted(db.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def write_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def memory() -> str | None:
    """A folder on a fast file system."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class RecordedProgress(Progress):
    """Progress that remembers what was reported."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self.calls.append(("start", step, total, unit))

    def advance(self, count: int = 1) -> None:
        self.calls.append(("advance", count))

    def update(self, done: int, total: int | None = None) -> None:
        self.calls.append(("update", done))
