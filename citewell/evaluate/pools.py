"""The libraries that answer the queries of a set: one for each moment from which the set is looked at.

The library at the end of a year is built once and kept in the cache, under a name made of the set's content, of the rules and
of the code that read it. Queries that know their day get a copy of last year's library that grows day by day.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from citewell.evaluate.strict import END_OF_YEAR, Cutoff, Timeline, when
from citewell.library import Library
from citewell.library.add import Progress
from citewell.papers import Context, Paper
from citewell.pipeline.pipeline import Pipeline

_MADE_BY = (
    "library/store",
    "library/index",
    "library/add.py",
    "sources",
    "text",
    "evaluate/strict.py",
    "evaluate/sets.py",
    "identifiers.py",
    "papers.py",
)
"""The code that decides what the library of a set holds."""


def cache_folder() -> Path:
    """``$CITEWELL_CACHE``, or the user's cache folder."""
    given = os.environ.get("CITEWELL_CACHE")
    return (Path(given) if given else user_cache_path("citewell", appauthor=False)) / "sets"


class Pools:
    """The libraries of one set and split."""

    def __init__(self, timeline: Timeline, distractors: bool = False, progress: Progress | None = None) -> None:
        self._timeline = timeline
        self.naming = timeline.dataset.naming()
        self._distractors = distractors
        self._progress = progress
        self._digest = timeline.dataset.digest(distractors)
        self.links_until = timeline.split.links_until
        self.seconds = 0.0
        """CPU time that went into building."""

    @contextmanager
    def at(self, dates: list[int], pipelines: Sequence[Pipeline] = ()) -> Iterator[Iterator[Library]]:
        """The library as it stood at each of `dates`, which must ascend, with all that `pipelines` need of it."""
        with tempfile.TemporaryDirectory(prefix="citewell-", dir=_made(cache_folder())) as scratch:
            yield self._at(dates, pipelines, Path(scratch))

    def _at(self, dates: list[int], pipelines: Sequence[Pipeline], scratch: Path) -> Iterator[Library]:
        # A library that grows day by day keeps the models of the last year's, of which it is a copy.
        models = {name for pipeline in pipelines for name in pipeline.models()}
        growing: _Growing | None = None
        ahead: list[Path] = []
        for date in dates:
            before = time.process_time()
            if date % 10_000 == END_OF_YEAR:
                library = self.cached(date, models)
                self._prepare(library, pipelines)
            else:
                year = date // 10_000
                if growing is None or growing.year != year:
                    folder = scratch / str(year)
                    shutil.copytree(self.cached((year - 1) * 10_000 + END_OF_YEAR, models).folder, folder)
                    growing = _Growing(Library(folder), year, self._of_year(year))
                    ahead = self._ahead(year, pipelines)
                library = growing.until(date)
            for pipeline in pipelines:
                pipeline.prepare(library, ahead)
            self.seconds += time.process_time() - before
            with library:
                yield library

    def cached(self, date: int, models: Iterable[str] = ()) -> Library:
        """The library as it stood at the end of a year, from the cache or made now."""
        cutoff = Cutoff(date, self._timeline.split.links_until)
        folder = cache_folder() / self._name(cutoff)
        with FileLock(f"{_made(cache_folder()) / folder.name}.lock"):
            if not folder.exists():
                making = folder.with_name(f"{folder.name}.making")
                shutil.rmtree(making, ignore_errors=True)
                self._build(Library(making), cutoff)
                making.rename(folder)
            with Library(folder) as library:
                self._train(library, models)
        return Library(folder)

    def _train(self, library: Library, models: Iterable[str]) -> None:
        """Train the models that are missing, or were made by another recipe."""
        for name in sorted(models):
            from citewell.train.monitoring import Watcher
            from citewell.train.training import made_by, train

            if not made_by(library, name):
                train(library, name, self._progress if isinstance(self._progress, Watcher) else None)

    def _ahead(self, year: int, pipelines: Sequence[Pipeline]) -> list[Path]:
        """A library that has all of a year already, to lend what pipelines need of each paper to the one that grows."""
        if not any(pipeline.prepares() for pipeline in pipelines):
            return []
        with self.cached(year * 10_000 + END_OF_YEAR) as whole:
            self._prepare(whole, pipelines)
            return [whole.folder]

    def _prepare(self, library: Library, pipelines: Sequence[Pipeline]) -> None:
        """Let pipelines make what they need of a library, from other libraries of the set where these have it."""
        if not any(pipeline.prepares() for pipeline in pipelines):
            return
        prefix = f"{safe_name(self._timeline.dataset.name)}-"
        donors = [path for path in sorted(cache_folder().glob(f"{prefix}*")) if path.is_dir() and path != library.folder]
        for pipeline in pipelines:
            pipeline.prepare(library, donors)

    def _build(self, library: Library, cutoff: Cutoff) -> None:
        timeline = self._timeline
        if self._progress:
            size = timeline.dataset.records(self._distractors)
            self._progress.total(size)
            self._progress.reading(f"{timeline.dataset.name} for its library")
        with library:
            library.take(_both(timeline, cutoff), self._progress)
        if self._progress:
            self._progress.read(size, size)

    def _of_year(self, year: int) -> list[tuple[int, Paper]]:
        """The papers of one year by date, those without a day first."""
        cutoff = Cutoff(year * 10_000 + END_OF_YEAR, self._timeline.split.links_until)
        dated = ((when(paper), paper) for paper in self._timeline.papers(cutoff))
        return sorted((pair for pair in dated if pair[0] >= year * 10_000), key=lambda pair: pair[0])

    def _name(self, cutoff: Cutoff) -> str:
        split = self._timeline.split
        rules = blake2b(f"{cutoff}{sorted(split.years)}{_code()}".encode(), digest_size=8).hexdigest()
        years = f"{cutoff.papers // 10_000}-links-{cutoff.links}" if cutoff.links is not None else "whole"
        wide = "-distractors" if self._distractors else ""
        return f"{safe_name(self._timeline.dataset.name)}-{years}{wide}-{self._digest}-{rules}"


class _Growing:
    """A library to which the papers of a year are added as they appear."""

    def __init__(self, library: Library, year: int, coming: list[tuple[int, Paper]]) -> None:
        self._library = library
        self.year = year
        self._coming = coming

    def until(self, date: int) -> Library:
        due = [paper for when, paper in self._coming if when <= date]
        self._coming = self._coming[len(due) :]
        if due:
            self._library.take(due)
        return self._library


def _both(timeline: Timeline, cutoff: Cutoff) -> Iterator[Paper | Context]:
    yield from timeline.papers(cutoff)
    yield from timeline.contexts(cutoff)


@lru_cache(maxsize=1)
def _code() -> str:
    """A name for the code that makes libraries."""
    state = blake2b(digest_size=8)
    for name in _MADE_BY:
        place = files("citewell").joinpath(name)
        for path in [place] if place.is_file() else sorted(place.iterdir(), key=lambda path: path.name):
            if path.name.endswith(".py"):
                state.update(path.read_bytes())
    return state.hexdigest()


def safe_name(name: str) -> str:
    """A name as a part of a file's name."""
    return "".join(letter if letter.isalnum() or letter in "-_+" else "-" for letter in name)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
