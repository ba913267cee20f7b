"""Cutting a data set from a library: which papers and citations stay, where the years are split, and the files of it.

What stays is decided on numbers alone: papers, years and citations as arrays. Then the records are read from the store and
written one by one, so that memory goes by how many papers there are and not by how much they say.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.evaluate.overlap import Titles
from citewell.evaluate.sets import DataSet
from citewell.evaluate.statistics import Statistics, statistics, write
from citewell.library.add import Progress
from citewell.library.library import Library
from citewell.library.store.store import Store
from citewell.papers import Paper, Sentence
from citewell.sources.citewell_jsonl import Naming, naming_of

TRAIN, DEV = 0.8, 0.9
"""The shares of the citing papers, oldest first, up to the end of the training years and of the dev years."""

_FIRST_YEAR, _LAST_YEAR = 1000, 2100
"""What the format takes for a year."""
_NAME = re.compile(r"\w[\w.-]*")
_BATCH = 1000

Numbers = npt.NDArray[np.int64]


@dataclass
class LeftOut:
    """What of the library is not in the set, and why."""

    papers_without_year: int = 0
    papers_in_other_sets: int = 0
    papers_without_link: int = 0
    """They cite nothing of the set, and (unless only citing papers were asked for) nothing of it cites them."""
    citations: int = 0
    """Of later papers, or of or by papers that are left out."""
    contexts: int = 0


@dataclass
class Made:
    """The set that was made."""

    folder: Path
    statistics: Statistics
    left_out: LeftOut
    problems: dict[Path, int]
    """How many lines of which files of the other sets could not be read; their papers may be in the set."""


@dataclass(frozen=True)
class Years:
    """The years of the citing papers of each split."""

    train_until: int
    dev: list[int]
    test: list[int]


@dataclass(frozen=True)
class Graph:
    """The papers that stay, ascending, with their years; and their citations, ordered by citing and then by cited paper."""

    papers: Numbers
    years: Numbers
    citing: Numbers
    cited: Numbers

    def years_of(self, papers: Numbers) -> Numbers:
        return self.years[np.searchsorted(self.papers, papers)]

    def cited_by(self, paper: int) -> list[int]:
        first, last = np.searchsorted(self.citing, (paper, paper + 1))
        return [int(num) for num in self.cited[first:last]]

    def only(self, papers: Numbers) -> Graph:
        """The part of the graph that lies between some of its papers."""
        kept, inside = np.isin(self.papers, papers), np.isin(self.citing, papers) & np.isin(self.cited, papers)
        return Graph(self.papers[kept], self.years[kept], self.citing[inside], self.cited[inside])


def make(
    library: Library,
    folder: Path,
    name: str,
    about: str = "",
    without: Sequence[Path] = (),
    citing_only: bool = False,
    progress: Progress | None = None,
) -> Made:
    """Cut a set from `library` into the new folder `folder`, leaving out the papers of the sets `without`."""
    if not _NAME.fullmatch(name):
        raise CitewellError(f"{name!r} cannot be the name of a set; use letters, digits, '-', '_' and '.'")
    folder = folder.resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CitewellError(f"{folder} is there already; name a new folder, or an empty one")
    others = [DataSet.open(path) for path in without]
    with _snapshot(library.store) as store:
        left_out = LeftOut()
        graph = _chosen(store, others, citing_only, left_out)
        if not len(graph.citing):
            hint = "leave --citing-only or a --without out, or " if citing_only or others else ""
            raise CitewellError(
                f"nothing of {library.folder} would be left, since no paper cites another of its year or before; "
                f"{hint}add papers with years and references"
            )
        years = split_years(graph)
        with _appearing(folder) as making:
            _write_set(store, graph, years, making, name, about, left_out, progress)
            found = statistics(making)
            write(found, making / "statistics.json")
    problems = {other.folder / file: count for other in others for file, count in other.problems.items()}
    return Made(folder, found, left_out, problems)


# -- what stays -----------------------------------------------------------------------------------------------------


def _chosen(store: Store, others: Sequence[DataSet], citing_only: bool, left_out: LeftOut) -> Graph:
    """The papers and citations that the set is made of; notes what is left out."""
    graph = _dated(store)
    everything = store.counts()
    left_out.papers_without_year = everything["papers"] - len(graph.papers)
    if others:
        fresh = _fresh(store, graph.papers, others)
        left_out.papers_in_other_sets = len(graph.papers) - len(fresh)
        graph = graph.only(fresh)
    before = len(graph.papers)
    # One round, as the studies do it: papers that then cite nothing any more stay, since repeating leaves next to nothing.
    graph = graph.only(np.unique(graph.citing) if citing_only else np.union1d(graph.citing, graph.cited))
    left_out.papers_without_link = before - len(graph.papers)
    left_out.citations = everything["citations"] - len(graph.citing)
    return graph


def _dated(store: Store) -> Graph:
    """The papers with a year, and their citations of papers of the same year or earlier."""
    query = "SELECT num, year FROM papers WHERE year BETWEEN ? AND ? ORDER BY num"
    papers, years = _columns(store.db.execute(query, (_FIRST_YEAR, _LAST_YEAR)))
    citing, cited = _columns(store.db.execute("SELECT citing, cited FROM citations ORDER BY citing, cited"))
    graph = Graph(papers, years, citing, cited).only(papers)
    back = graph.years_of(graph.cited) <= graph.years_of(graph.citing)
    return Graph(papers, years, graph.citing[back], graph.cited[back])


def _columns(rows: Iterable[tuple[int, int]]) -> tuple[Numbers, Numbers]:
    both = np.fromiter((number for row in rows for number in row), np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def _fresh(store: Store, papers: Numbers, others: Sequence[DataSet]) -> Numbers:
    """Those of the papers whose title no other set has."""
    titles = Titles(paper.title for other in others for paper in other.papers())
    known = [num for num, title in store.db.execute("SELECT num, title FROM papers") if titles.overlap(title)]
    return np.setdiff1d(papers, np.array(known, np.int64))


# -- where the years are split --------------------------------------------------------------------------------------


def split_years(graph: Graph) -> Years:
    """SubPipeline years of citing papers, cut where the shares of the papers come nearest to 80 and 90 percent."""
    years, counts = np.unique(graph.years_of(np.unique(graph.citing)), return_counts=True)
    if len(years) < 3:
        listed = " and ".join(map(str, years.tolist()))
        raise CitewellError(f"all citing papers are of {listed}; a set needs three years or more: add earlier or later papers")
    share = np.cumsum(counts) / counts.sum()
    train = int(np.argmin(np.abs(share[:-2] - TRAIN)))
    dev = train + 1 + int(np.argmin(np.abs(share[train + 1 : -1] - DEV)))
    return Years(int(years[train]), years[train + 1 : dev + 1].tolist(), years[dev + 1 :].tolist())


# -- the files ------------------------------------------------------------------------------------------------------


def _write_set(
    store: Store,
    graph: Graph,
    years: Years,
    folder: Path,
    name: str,
    about: str,
    left_out: LeftOut,
    progress: Progress | None,
) -> None:
    names = _names(store, graph.papers, naming_of(name))
    all_contexts = store.counts()["contexts"]
    if progress:
        progress.total(len(names) + all_contexts)
        progress.reading("papers")
    _write_lines(folder / "papers.jsonl.gz", _papers(store, graph, names), progress)
    if progress:
        progress.reading("contexts")
    contexts = _write_lines(folder / "contexts.jsonl.gz", _contexts(store, graph, names), progress)
    left_out.contexts = all_contexts - contexts
    if not contexts:
        (folder / "contexts.jsonl.gz").unlink()
    lines: dict[str, str | int | list[str] | list[int]] = {
        "name": name,
        "about": about,
        "tasks": ["global", "local"] if contexts else ["global"],
        "train_until": years.train_until,
        "dev": years.dev,
        "test": years.test,
    }
    (folder / "set.toml").write_text("".join(f"{key} = {_toml(value)}\n" for key, value in lines.items()), "utf-8")


def _names(store: Store, papers: Numbers, naming: Naming) -> dict[int, str]:
    """What each paper is called in the set: its id, or a number where another's id means the same to a reader of the set."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    kept = set(papers.tolist())
    for num, name in store.db.execute("SELECT num, id FROM papers ORDER BY num"):
        if num in kept:
            names[num] = name if naming(name) not in taken else f"paper-{num}"
            taken.add(naming(names[num]))
    return names


def _papers(store: Store, graph: Graph, names: dict[int, str]) -> Iterator[dict[str, Any]]:
    nums = graph.papers.tolist()
    for start in range(0, len(nums), _BATCH):
        batch = nums[start : start + _BATCH]
        found = store.papers(batch)
        for num in batch:
            yield _paper(found[num], names[num], [names[cited] for cited in graph.cited_by(num)], store.sentences(num))


def _paper(paper: Paper, name: str, references: list[str], sentences: list[Sentence]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": name,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": paper.authors,
        "year": paper.year,
        "venue": paper.venue,
        "references": references,
    }
    more = {
        "doi": next((each.removeprefix("doi:") for each in paper.ids if each.startswith("doi:")), ""),
        "date": paper.date,
        "keywords": paper.keywords,
        "sentences": [{"text": each.text, "section": each.section} if each.section else each.text for each in sentences],
    }
    return record | {key: value for key, value in more.items() if value}


def _contexts(store: Store, graph: Graph, names: dict[int, str]) -> Iterator[dict[str, Any]]:
    """The contexts of citations that stay, numbered: the names that their sources gave them may be the same."""
    # The cross join keeps SQLite from going by the cited papers and sorting all texts.
    targets = store.db.execute(
        "SELECT contexts.num, contexts.citing, section, text, cited FROM contexts CROSS JOIN targets ON context = contexts.num"
        " WHERE cited IS NOT NULL AND text <> '' ORDER BY contexts.num"
    )
    count = 0
    for (_, citing, section, text), rows in groupby(targets, key=lambda row: row[:4]):
        if cited := {row[4] for row in rows}.intersection(graph.cited_by(citing)):
            listed = [names[num] for num in sorted(cited)]
            yield {"id": f"c{count}", "citing": names[citing], "cited": listed, "text": text, "section": section}
            count += 1


def _write_lines(path: Path, records: Iterable[dict[str, Any]], progress: Progress | None) -> int:
    """Write JSON lines, the same bytes for the same records at any time; returns how many."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        for count, record in enumerate(records, 1):
            out.write(encode(record) + b"\n")
            if progress and count % _BATCH == 0:
                progress.read(count, count)
    return count


def _toml(value: str | int | list[str] | list[int]) -> str:
    """A value as TOML writes it: as JSON does, but for one character."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode().replace("\x7f", "\\u007f")


@contextmanager
def _snapshot(store: Store) -> Iterator[Store]:
    """The store as it is now, whatever is added to it meanwhile."""
    store.db.execute("BEGIN")
    try:
        yield store
    finally:
        store.db.execute("ROLLBACK")


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder to write into, beside `folder`; it takes that name when all is written, and goes when something fails."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            # The temporary folder is the user's alone; one made inside of it is as readable as any other.
            making = Path(scratch) / folder.name
            making.mkdir()
            yield making
            if folder.exists():
                folder.rmdir()
            making.rename(folder)
    except OSError as error:
        raise CitewellError(f"cannot write {folder}: {error.strerror or error}; name another folder") from None
