"""The libraries that the queries of a set run against: one for each date of a query.

The library at the end of a year is built once and stays in the cache. Its name is a hash of the set's content, the time rules
and the code that reads it. Queries with an exact date use a copy of last year's library that grows day by day.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from citewell.evaluate.strict import END_OF_YEAR, Cutoff, Timeline, when
from citewell.library import Library
from citewell.library.trained_models import read_card
from citewell.papers import Context, Paper
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress

BUILDING = ".building"
"""The suffix of a library that is not complete yet."""

_CODE = (
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
"""The code that determines the content of a set's library."""


def cache_folder() -> Path:
    """``$CITEWELL_CACHE``, or the user's cache folder."""
    folder = os.environ.get("CITEWELL_CACHE")
    return (Path(folder) if folder else user_cache_path("citewell", appauthor=False)) / "sets"


Train = Callable[[Library, str, Progress], None]
"""Makes a model of a library by the recipe of this name, unless the library has it already."""


class SetLibraries:
    """The libraries of one set and split."""

    def __init__(
        self,
        timeline: Timeline,
        distractors: bool = False,
        progress: Progress = SILENT,
        train: Train | None = None,
    ) -> None:
        self._timeline = timeline
        self.naming = timeline.dataset.naming()
        self._distractors = distractors
        self._progress = progress
        self._train = train
        self._digest = timeline.dataset.digest(distractors)
        self.links_until = timeline.split.links_until
        self.steps = 0
        """How many steps were reported to `progress`."""
        self.seconds = 0.0
        """CPU time spent on building."""

    @contextmanager
    def at(self, dates: list[int], pipelines: Sequence[Pipeline] = ()) -> Iterator[Iterator[Library]]:
        """The library at each of `dates`, which must ascend, prepared for `pipelines`."""
        with tempfile.TemporaryDirectory(prefix="citewell-", dir=_created(cache_folder())) as scratch:
            yield self._at(dates, pipelines, Path(scratch))

    def _at(self, dates: list[int], pipelines: Sequence[Pipeline], scratch: Path) -> Iterator[Library]:
        # A library that grows day by day has the models of last year's library, of which it is a copy.
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
        """The library at the end of a year, from the cache or built now."""
        cutoff = Cutoff(date, self._timeline.split.links_until)
        folder = cache_folder() / self._name(cutoff)
        with FileLock(f"{_created(cache_folder()) / folder.name}.lock"):
            if not folder.exists():
                building = folder.with_name(f"{folder.name}{BUILDING}")
                shutil.rmtree(building, ignore_errors=True)
                self._build(Library(building), cutoff)
                building.rename(folder)
            if self._train is not None:
                with Library(folder) as library:
                    for name in sorted(models):
                        self.steps += 1
                        self._train(library, name, self._progress)
        return Library(folder)

    def ends(self, dates: Iterable[int]) -> list[int]:
        """The ends of the years whose libraries serve queries of these dates: models are trained on them."""
        return sorted({date if date % 10_000 == END_OF_YEAR else date // 10_000 * 10_000 - 1 for date in dates})

    def model_files(self, ends: Iterable[int], models: Iterable[str]) -> dict[tuple[int, str], str]:
        """For the library at the end of each year and each model, the name of the model's file; empty if it is not trained."""
        folders = {date: cache_folder() / self._name(Cutoff(date, self._timeline.split.links_until)) for date in ends}
        cards = {(date, name): read_card(folder / "models" / name) for date, folder in folders.items() for name in models}
        return {place: card.file if card else "" for place, card in cards.items()}

    def has_model(self, date: int, model: str, is_current: Callable[[Library, str], bool]) -> bool:
        """Whether the library at the end of a year is built and has a model that `is_current` accepts."""
        folder = cache_folder() / self._name(Cutoff(date, self._timeline.split.links_until))
        if not folder.is_dir():
            return False
        with Library(folder) as library:
            return is_current(library, model)

    def _ahead(self, year: int, pipelines: Sequence[Pipeline]) -> list[Path]:
        """A library that has the whole year already; the growing one copies from it what pipelines need of each paper."""
        if not any(pipeline.prepares() for pipeline in pipelines):
            return []
        with self.cached(year * 10_000 + END_OF_YEAR) as whole:
            self._prepare(whole, pipelines)
            return [whole.folder]

    def _prepare(self, library: Library, pipelines: Sequence[Pipeline]) -> None:
        """Prepare a library for pipelines, with vectors of other libraries of the set where they have them."""
        if not any(pipeline.prepares() for pipeline in pipelines):
            return
        prefix = f"{safe_name(self._timeline.dataset.name)}-"
        donors = [path for path in sorted(cache_folder().glob(f"{prefix}*")) if path.is_dir() and path != library.folder]
        self.steps += 1
        for pipeline in pipelines:
            pipeline.prepare(library, donors, self._progress)

    def _build(self, library: Library, cutoff: Cutoff) -> None:
        dataset = self._timeline.dataset
        year = f" {cutoff.papers // 10_000}" if cutoff.links is not None else ""
        progress = _BuildProgress(self._progress, f"library of {dataset.name}{year}", dataset.records(self._distractors))
        self.steps += 1
        with library:
            library.take(_records(self._timeline, cutoff), progress)
        progress.finish()

    def _of_year(self, year: int) -> list[tuple[int, Paper]]:
        """The papers of one year by date; those without a day come first."""
        cutoff = Cutoff(year * 10_000 + END_OF_YEAR, self._timeline.split.links_until)
        dated = ((when(paper), paper) for paper in self._timeline.papers(cutoff))
        return sorted((pair for pair in dated if pair[0] >= year * 10_000), key=lambda pair: pair[0])

    def _name(self, cutoff: Cutoff) -> str:
        split = self._timeline.split
        rules = blake2b(f"{cutoff}{sorted(split.years)}{_code()}".encode(), digest_size=8).hexdigest()
        years = f"{cutoff.papers // 10_000}-links-{cutoff.links}" if cutoff.links is not None else "whole"
        wide = "-distractors" if self._distractors else ""
        wide += "-abstracts" if self._timeline.abstracts_only else ""
        return f"{safe_name(self._timeline.dataset.name)}-{years}{wide}-{self._digest}-{rules}"


class _BuildProgress(Progress):
    """The progress of building a library: names it in each step, and knows how many records it is made from."""

    def __init__(self, progress: Progress, name: str, records: int) -> None:
        self._progress = progress
        self._name = name
        self._records = records

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        known = self._records if total is None and unit == "records" else total
        self._progress.start(f"{self._name}: {step}", known, unit)

    def advance(self, count: int = 1) -> None:
        self._progress.advance(count)

    def update(self, done: int, total: int | None = None) -> None:
        self._progress.update(done, total)

    def finish(self) -> None:
        self._progress.finish()

    def message(self, line: str) -> None:
        self._progress.message(line)


def _records(timeline: Timeline, cutoff: Cutoff) -> Iterator[Paper | Context]:
    yield from timeline.papers(cutoff)
    yield from timeline.contexts(cutoff)


class _Growing:
    """A library that receives the papers of a year as they appear."""

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


@lru_cache(maxsize=1)
def _code() -> str:
    """Fingerprint of the code that builds libraries."""
    state = blake2b(digest_size=8)
    for name in _CODE:
        place = files("citewell").joinpath(name)
        for path in [place] if place.is_file() else sorted(place.iterdir(), key=lambda path: path.name):
            if path.name.endswith(".py"):
                state.update(path.read_bytes())
    return state.hexdigest()


def safe_name(name: str) -> str:
    """A name in a form that is safe in file names."""
    return "".join(letter if letter.isalnum() or letter in "-_+" else "-" for letter in name)


def _created(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
