"""The time rules: what a query may see.

A query sees papers up to its own date, and links and contexts of citing papers up to the last year that its split may use,
but never its own record, references or contexts. The library that it runs against contains nothing else, so not even a
document frequency depends on later papers. `Timeline` knows the date of each paper of a set and filters its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from citewell.evaluate.sets import DataSet, Split
from citewell.library.store.identity import same_years, title_key
from citewell.library.store.store import date_number
from citewell.papers import Context, Paper, Reference
from citewell.text.author_terms import families
from citewell.types import Mask

END_OF_YEAR = 9999
FOREVER = 9999_9999
"""The date of a query of a set without dates."""


@dataclass(frozen=True)
class Cutoff:
    """The last date of a paper, and the last year of a citing paper whose links count; without `links` no time rule applies."""

    papers: int
    links: int | None


def query_date(date: int) -> int:
    """The last date that a query of this date (yyyymmdd, zeros for unknown parts) may see."""
    if date % 10_000 == 0:
        return date + END_OF_YEAR
    return date if date % 100 else date + 99


def sees_paper(date: int, cutoff: Cutoff) -> bool:
    """Whether a query with this cut-off sees a paper of this date (0: unknown)."""
    return cutoff.links is None or 0 < date <= cutoff.papers


def sees_papers(dates: npt.NDArray[np.int32], cutoff: Cutoff) -> Mask:
    """`sees_paper` for many papers."""
    return (dates > 0) & (dates <= cutoff.papers) if cutoff.links is not None else np.ones(len(dates), bool)


def sees_links(citing: int, cutoff: Cutoff) -> bool:
    """Whether the citations and contexts of a paper of this date may be used."""
    return cutoff.links is None or 0 < citing // 10_000 <= cutoff.links


def goes_back(citing: int, cited: int) -> bool:
    """Whether the cited paper existed when the citing paper appeared."""
    return 0 < cited <= query_date(citing)


def when(paper: Paper) -> int:
    """The date of a paper as yyyymmdd, zeros for unknown parts; the later one if its year and its date disagree."""
    return max(date_number(paper.year, ""), date_number(year_of(paper.date), paper.date))


def has_only_title(paper: Paper) -> bool:
    """Whether a paper has neither an abstract nor sentences of a full text."""
    return not (paper.abstract.strip() or paper.sentences)


def year_of(date: str) -> int | None:
    return int(date[:4]) if date[:4].isdecimal() else None


class SameWorks:
    """The citing papers of the queries, and every other record of the same works: a preprint cites what the paper cites.

    Records are the same work if they share an identifier, or a title, an author and about the same year, or if both are the
    same as a third record; the library merges records in the same way. So `find` repeats until it adds nothing new.
    """

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._by_title: dict[int, list[Paper]] = {}

    def add(self, paper: Paper) -> None:
        self.ids.update(paper.ids)
        if (title := title_key(paper.title)) is not None:
            self._by_title.setdefault(title, []).append(replace(paper, abstract="", references=[], sentences=[], extra={}))

    def find(self, records: Callable[[], Iterable[Paper]]) -> None:
        """Add all records of the same works; repeats until there are no more."""
        grown = True
        while grown:
            grown = False
            for paper in records():
                if self.ids.issuperset(paper.ids):
                    continue
                known = self._by_title.get(title_key(paper.title) or 0, ())
                if not self.ids.isdisjoint(paper.ids) or any(_may_be_same(paper, other) for other in known):
                    self.add(paper)
                    grown = True


def _may_be_same(one: Paper, other: Paper) -> bool:
    """Whether two papers with the same title may be one work, by their years and authors."""
    names, other_names = families(one.authors), families(other.authors)
    near = same_years([one.year] if one.year else [], [other.year] if other.year else [])
    return near and (not names or not other_names or not names.isdisjoint(other_names))


class Timeline:
    """The dates of all papers of a set, and the citing papers of a split.

    With `abstracts_only` no query sees a paper of which the set has only the title.
    """

    def __init__(self, dataset: DataSet, split: Split, distractors: bool = False, abstracts_only: bool = False) -> None:
        self.dataset = dataset
        self.split = split
        self.abstracts_only = abstracts_only
        self.dates: dict[str, int] = {}
        """Canonical id to date; 0 if it is unknown, the earliest if records disagree."""
        self.names: dict[str, str] = {}
        """Canonical id to the id in the set."""
        self.citing: dict[str, Paper] = {}
        """The papers of the split's years."""
        self._distractors = distractors
        self._same_works = SameWorks()
        for paper in dataset.papers():
            date = when(paper)
            has_queries = date // 10_000 in split.years
            for name in paper.ids:
                self.dates[name] = min(filter(None, (date, self.dates.get(name, 0))), default=0)
                self.names.setdefault(name, paper.id)
                if has_queries:
                    self.citing.setdefault(name, paper)
            if has_queries:
                self._same_works.add(paper)
        if split.links_until is not None:
            self._same_works.find(lambda: dataset.papers(distractors))

    def true_references(self, citing: int, references: list[Reference]) -> list[str]:
        """The ids of the references that are in the set and not later than the citing paper."""
        names = (next((name for name in reference.ids if name in self.dates), "") for reference in references)
        return self.backwards(citing, names)

    def backwards(self, citing: int, cited: Iterable[str]) -> list[str]:
        """The cited ids that are in the set and not later than the citing paper, without duplicates."""
        return list(dict.fromkeys(name for name in cited if name in self.dates and goes_back(citing, self.dates[name])))

    def papers(self, cutoff: Cutoff) -> Iterator[Paper]:
        """The papers that a query with this cut-off sees, with the references that it may see."""
        for paper in self.dataset.papers(self._distractors):
            date = when(paper)
            if self.abstracts_only and has_only_title(paper):
                continue
            if cutoff.links is None:
                yield paper
            elif sees_paper(date, cutoff):
                known = sees_links(date, cutoff) and self._same_works.ids.isdisjoint(paper.ids)
                references = self.true_references(date, paper.references) if known else []
                yield replace(paper, references=[Reference([name]) for name in references], contexts=[])

    def contexts(self, cutoff: Cutoff) -> Iterator[Context]:
        """The contexts that a query with this cut-off may see."""
        for context in self.dataset.contexts():
            if cutoff.links is None:
                yield context
                continue
            date = self.dates.get(context.citing, 0)
            if sees_links(date, cutoff) and context.citing not in self._same_works.ids:
                cited = self.true_references(date, context.cited)
                if cited:
                    yield replace(context, cited=[Reference([name]) for name in cited])
