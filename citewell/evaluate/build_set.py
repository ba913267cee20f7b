"""Makes a data set from a library: selects papers and citations, splits the years, writes the files.

The selection uses only numbers: papers, years and citations as arrays. Then the records are read from the store and
written one by one, so memory depends on the number of papers and not on the length of their texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.overlap import Titles
from citewell.evaluate.paragraph_tasks import DEFAULT_RULES, ParagraphRules, ParagraphsLeftOut, paragraph_lines
from citewell.evaluate.set_files import new_folder, toml, write_lines
from citewell.evaluate.sets import DataSet
from citewell.evaluate.statistics import Statistics, statistics, write
from citewell.export.jsonl import json_names, json_sentence
from citewell.library.library import Library
from citewell.library.store.store import Store
from citewell.papers import Paper, Sentence
from citewell.progress import SILENT, Progress
from citewell.sources.citewell_jsonl import Naming, naming_of
from citewell.types import IntArray, PaperNumbers

TRAIN, DEV = 0.8, 0.9
"""The shares of the citing papers, oldest first, at the end of the training years and of the dev years."""

_FIRST_YEAR, _LAST_YEAR = 1000, 2100
"""The range of valid years in the format."""
_NAME = re.compile(r"\w[\w.-]*")
_BATCH = 1000


@dataclass
class LeftOut(ParagraphsLeftOut):
    """How much of the library is not in the set, by reason."""

    papers_without_year: int = 0
    papers_in_other_sets: int = 0
    papers_without_link: int = 0
    """Papers that cite nothing in the set and, unless only citing papers are selected, are not cited in it."""
    papers_with_few_citations: int = 0
    """Papers below the minimum number of citations, and newer papers that cite none above it."""
    citations: int = 0
    """Citations of later papers, or of or by papers that are left out."""
    contexts: int = 0


@dataclass
class BuiltSet:
    """The new set."""

    folder: Path
    statistics: Statistics
    left_out: LeftOut
    problems: dict[Path, int]
    """File of another set to the number of its lines that could not be read; papers on them may be in the new set."""


@dataclass(frozen=True)
class Years:
    """The years of the citing papers of each split."""

    train_until: int
    dev: list[int]
    test: list[int]


@dataclass(frozen=True)
class Graph:
    """The selected papers, ascending, with their years; and their citations, ordered by citing and then by cited paper."""

    papers: PaperNumbers
    years: IntArray
    citing: PaperNumbers
    cited: PaperNumbers

    def years_of(self, papers: PaperNumbers) -> IntArray:
        return self.years[np.searchsorted(self.papers, papers)]

    def cited_by(self, paper: int) -> list[int]:
        first, last = np.searchsorted(self.citing, (paper, paper + 1))
        return [int(num) for num in self.cited[first:last]]

    def only(self, papers: PaperNumbers) -> Graph:
        """The subgraph of some of its papers."""
        selected, inside = np.isin(self.papers, papers), np.isin(self.citing, papers) & np.isin(self.cited, papers)
        return Graph(self.papers[selected], self.years[selected], self.citing[inside], self.cited[inside])


def make(
    library: Library,
    folder: Path,
    name: str,
    about: str = "",
    without: Sequence[Path] = (),
    citing_only: bool = False,
    progress: Progress = SILENT,
    min_citations: int = 0,
    rules: ParagraphRules = DEFAULT_RULES,
) -> BuiltSet:
    """Make a set from `library` in the new folder `folder`, without the papers of the sets `without`.

    With `min_citations`, only papers that were cited so often until the end of the training years can be recommended. `rules`
    say which paragraphs of full texts become queries.
    """
    folder = checked(folder, name)
    others = [DataSet.open(path) for path in without]
    with _snapshot(library.store) as store:
        left_out = LeftOut()
        graph = _selected(store, others, citing_only, left_out)
        if not len(graph.citing):
            hint = "leave out --citing-only or a --without, or " if citing_only or others else ""
            raise CitewellError(
                f"no papers of {library.folder} can be used: no paper cites another of its own or an earlier year; "
                f"{hint}add papers with years and references"
            )
        years = split_years(graph)
        if min_citations:
            graph = often_cited(graph, years, min_citations, left_out)
        with new_folder(folder) as building:
            _write_set(store, graph, years, building, name, about, left_out, progress, min_citations, rules)
            figures = statistics(building)
            write(figures, building / "statistics.json")
    problems = {other.folder / file: count for other in others for file, count in other.problems.items()}
    return BuiltSet(folder, figures, left_out, problems)


def checked(folder: Path, name: str) -> Path:
    """The folder of a new set, if its name is valid and nothing is there yet."""
    if not _NAME.fullmatch(name):
        raise CitewellError(f"{name!r} is not a valid name of a set; use letters, digits, '-', '_' and '.'")
    folder = folder.resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CitewellError(f"{folder} already exists and is not empty; choose a new folder or an empty one")
    return folder


# -- selection ------------------------------------------------------------------------------------------------------


def _selected(store: Store, others: Sequence[DataSet], citing_only: bool, left_out: LeftOut) -> Graph:
    """The papers and citations of the set; counts what is left out."""
    graph = _dated(store)
    everything = store.counts()
    left_out.papers_without_year = everything["papers"] - len(graph.papers)
    if others:
        fresh = _fresh(store, graph.papers, others)
        left_out.papers_in_other_sets = len(graph.papers) - len(fresh)
        graph = graph.only(fresh)
    before = len(graph.papers)
    # One round, as in the studies: papers that cite nothing afterwards stay, because repeating leaves almost nothing.
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


def _columns(rows: Iterable[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    both = np.fromiter((number for row in rows for number in row), np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def _fresh(store: Store, papers: PaperNumbers, others: Sequence[DataSet]) -> PaperNumbers:
    """The papers whose title is in no other set."""
    titles = Titles(paper.title for other in others for paper in other.papers())
    known = [num for num, title in store.db.execute("SELECT num, title FROM papers") if titles.overlap(title)]
    return np.setdiff1d(papers, np.array(known, np.int64))


# -- the split by years -------------------------------------------------------------------------------------------


def split_years(graph: Graph) -> Years:
    """Whole years of citing papers, split where the shares of the papers are closest to 80 and 90 percent."""
    years, counts = np.unique(graph.years_of(np.unique(graph.citing)), return_counts=True)
    if len(years) < 3:
        listed = " and ".join(map(str, years.tolist()))
        raise CitewellError(
            f"all citing papers are from {listed}; a set needs at least three years: add earlier or later papers"
        )
    share = np.cumsum(counts) / counts.sum()
    train = int(np.argmin(np.abs(share[:-2] - TRAIN)))
    dev = train + 1 + int(np.argmin(np.abs(share[train + 1 : -1] - DEV)))
    return Years(int(years[train]), years[train + 1 : dev + 1].tolist(), years[dev + 1 :].tolist())


def often_cited(graph: Graph, years: Years, minimum: int, left_out: LeftOut) -> Graph:
    """The papers with at least `minimum` citations, and the papers after the training years that cite one of them.

    As for MAG50 of HybridCite, the papers to recommend are those above the minimum, and the papers of the later years are
    queries whatever their own citations. Only citations by papers of the training years count: the citations that are to be
    predicted must not decide what can be recommended. The years of the splits are those of the set without the minimum.
    """
    trained = graph.years_of(graph.citing) <= years.train_until
    cited, counts = np.unique(graph.cited[trained], return_counts=True)
    often = cited[counts >= minimum]
    later = graph.papers[graph.years > years.train_until]
    links = np.isin(graph.cited, often) & np.isin(graph.citing, np.union1d(often, later))
    papers = np.union1d(often, np.intersect1d(graph.citing[links], later))
    if missing := [
        name for name in ("dev", "test") if not np.isin(graph.years_of(graph.citing[links]), getattr(years, name)).any()
    ]:
        raise CitewellError(
            f"no {missing[0]} paper cites one with {minimum} citations until {years.train_until}; lower --min-citations"
        )
    left_out.papers_with_few_citations = len(graph.papers) - len(papers)
    left_out.citations += len(links) - int(links.sum())
    return Graph(papers, graph.years_of(papers), graph.citing[links], graph.cited[links])


# -- the files ------------------------------------------------------------------------------------------------------


def _write_set(
    store: Store,
    graph: Graph,
    years: Years,
    folder: Path,
    name: str,
    about: str,
    left_out: LeftOut,
    progress: Progress,
    min_citations: int,
    rules: ParagraphRules,
) -> None:
    names = _names(store, graph.papers, naming_of(name))
    all_contexts = store.counts()["contexts"]
    progress.start("writing papers", len(names), "papers")
    write_lines(folder / "papers.jsonl.gz", _papers(store, graph, names), progress)
    progress.start("writing contexts", all_contexts, "contexts")
    contexts = write_lines(folder / "contexts.jsonl.gz", _contexts(store, graph, names), progress)
    left_out.contexts = all_contexts - contexts
    citing = np.unique(graph.citing).tolist()
    progress.start("cutting paragraphs", None, "paragraphs")
    queries = paragraph_lines(store, citing, graph.cited_by, names, rules, left_out)
    paragraphs = write_lines(folder / "paragraphs.jsonl.gz", queries, progress)
    progress.finish()
    for file, count in (("contexts", contexts), ("paragraphs", paragraphs)):
        if not count:
            (folder / f"{file}.jsonl.gz").unlink()
    cut: dict[str, str | bool | int] = {
        "sections": rules.sections,
        "min_cited": rules.min_cited,
        "transitions": rules.transitions,
    }
    lines: dict[str, str | bool | int | list[str] | list[int]] = {
        "name": name,
        "about": about,
        "tasks": ["global", *(["local"] if contexts else []), *(["paragraph"] if paragraphs else [])],
        "train_until": years.train_until,
        "dev": years.dev,
        "test": years.test,
        **({"min_citations": min_citations} if min_citations else {}),
        **({f"paragraph_{rule}": value for rule, value in cut.items()} if paragraphs else {}),
    }
    (folder / "set.toml").write_text("".join(f"{key} = {toml(value)}\n" for key, value in lines.items()), "utf-8")


def _names(store: Store, papers: PaperNumbers, naming: Naming) -> dict[int, str]:
    """The id of each paper in the set: its own id, or a number if another id has the same canonical form."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    selected = set(papers.tolist())
    for num, name in store.db.execute("SELECT num, id FROM papers ORDER BY num"):
        if num in selected:
            names[num] = name if naming(name) not in taken else f"paper-{num}"
            taken.add(naming(names[num]))
    return names


def _papers(store: Store, graph: Graph, names: dict[int, str]) -> Iterator[dict[str, Any]]:
    nums = graph.papers.tolist()
    for start in range(0, len(nums), _BATCH):
        batch = nums[start : start + _BATCH]
        records = store.papers(batch)
        for num in batch:
            yield paper_record(records[num], names[num], [names[cited] for cited in graph.cited_by(num)], store.sentences(num))


def paper_record(paper: Paper, name: str, references: list[str], sentences: list[Sentence]) -> dict[str, Any]:
    """The line of a paper in papers.jsonl."""
    record: dict[str, Any] = {
        "id": name,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": json_names(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "references": references,
    }
    more = {
        "doi": next((each.removeprefix("doi:") for each in paper.ids if each.startswith("doi:")), ""),
        "date": paper.date,
        "keywords": paper.keywords,
        "sentences": [json_sentence(each) for each in sentences],
    }
    return record | {key: value for key, value in more.items() if value}


def _contexts(store: Store, graph: Graph, names: dict[int, str]) -> Iterator[dict[str, Any]]:
    """The contexts of selected citations, numbered, because the ids of their sources may not be unique."""
    # The cross join keeps SQLite from starting with the cited papers and sorting all texts.
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


@contextmanager
def _snapshot(store: Store) -> Iterator[Store]:
    """A snapshot of the store, independent of what is added to it in the meantime."""
    store.db.execute("BEGIN")
    try:
        yield store
    finally:
        store.db.execute("ROLLBACK")
