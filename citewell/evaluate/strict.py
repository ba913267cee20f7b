"""What a query may see: the rules in time, in one place.

A query sees papers up to its own date, and links and contexts of citing papers up to the last year that its split may use;
never its own record, references or contexts. The library that answers it holds nothing else, so that not even the rarity of a
word can tell of what was still to come. `Timeline` knows when each paper of a set appeared and cuts the set's records to size.
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
from citewell.text.names import families

END_OF_YEAR = 9999
FOREVER = 9999_9999
"""The date of a query to a set that knows no time."""


@dataclass(frozen=True)
class Cutoff:
    """The last date of a paper, and the last year of a citing paper whose links count; no `links` means no rule of time."""

    papers: int
    links: int | None


def query_date(date: int) -> int:
    """The last moment that a query of this date (yyyymmdd, zeros for what is unknown) may see."""
    if date % 10_000 == 0:
        return date + END_OF_YEAR
    return date if date % 100 else date + 99


def sees_paper(date: int, cutoff: Cutoff) -> bool:
    """Whether a paper of this date (0: unknown) is there for a query at the cut-off."""
    return cutoff.links is None or 0 < date <= cutoff.papers


def sees_papers(dates: npt.NDArray[np.int32], cutoff: Cutoff) -> npt.NDArray[np.bool_]:
    """The same for many papers at once."""
    return (dates > 0) & (dates <= cutoff.papers) if cutoff.links is not None else np.ones(len(dates), bool)


def sees_links(citing: int, cutoff: Cutoff) -> bool:
    """Whether what a paper of this date says of others may be used."""
    return cutoff.links is None or 0 < citing // 10_000 <= cutoff.links


def goes_back(citing: int, cited: int) -> bool:
    """Whether a citation points to a paper that was there when the citing one appeared, as a true one does."""
    return 0 < cited <= query_date(citing)


def when(paper: Paper) -> int:
    """The date of a paper as yyyymmdd, zeros for what is unknown; of a year and a date that disagree the later one."""
    return max(date_number(paper.year, ""), date_number(year_of(paper.date), paper.date))


def year_of(date: str) -> int | None:
    return int(date[:4]) if date[:4].isdecimal() else None


class Twins:
    """The papers that ask, and every other record of the same works: a preprint cites what the paper will cite.

    Records are the same work if they share an identifier, or a title, about the year and an author; and if both are the same
    as a third, as the library has it. So a pass over a set is repeated until it finds nothing new.
    """

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._by_title: dict[int, list[Paper]] = {}

    def add(self, paper: Paper) -> None:
        self.ids.update(paper.ids)
        if (title := title_key(paper.title)) is not None:
            self._by_title.setdefault(title, []).append(replace(paper, abstract="", references=[], sentences=[], extra={}))

    def find(self, records: Callable[[], Iterable[Paper]]) -> None:
        """Go through records, again and again, until no further one is the same work."""
        grown = True
        while grown:
            grown = False
            for paper in records():
                if self.ids.issuperset(paper.ids):
                    continue
                known = self._by_title.get(title_key(paper.title) or 0, ())
                if not self.ids.isdisjoint(paper.ids) or any(_may_be_same(paper, twin) for twin in known):
                    self.add(paper)
                    grown = True


def _may_be_same(one: Paper, other: Paper) -> bool:
    """Whether two papers of the same title are one work, as far as their years and authors tell."""
    some, others = families(one.authors), families(other.authors)
    near = same_years([one.year] if one.year else [], [other.year] if other.year else [])
    return near and (not some or not others or not some.isdisjoint(others))


class Timeline:
    """When every paper of a set appeared, and the records of those that a split asks about."""

    def __init__(self, dataset: DataSet, split: Split, distractors: bool = False) -> None:
        self.dataset = dataset
        self.split = split
        self.dates: dict[str, int] = {}
        """Canonical id to date; 0 where it is unknown, the earliest where records disagree."""
        self.names: dict[str, str] = {}
        """Canonical id to the id that the set uses."""
        self.citing: dict[str, Paper] = {}
        """The papers of the split's years."""
        self._distractors = distractors
        self._twins = Twins()
        for paper in dataset.papers():
            date = when(paper)
            asking = date // 10_000 in split.years
            for name in paper.ids:
                self.dates[name] = min(filter(None, (date, self.dates.get(name, 0))), default=0)
                self.names.setdefault(name, paper.id)
                if asking:
                    self.citing.setdefault(name, paper)
            if asking:
                self._twins.add(paper)
        if split.links_until is not None:
            self._twins.find(lambda: dataset.papers(distractors))

    def true_references(self, citing: int, references: list[Reference]) -> list[str]:
        """The ids of those references that are in the set and do not lie in the future of the citing paper."""
        found = (next((name for name in reference.ids if name in self.dates), "") for reference in references)
        return self.backwards(citing, found)

    def backwards(self, citing: int, cited: Iterable[str]) -> list[str]:
        """Those of the cited ids that are in the set and not later than the citing paper, each once."""
        return list(dict.fromkeys(name for name in cited if name in self.dates and goes_back(citing, self.dates[name])))

    def papers(self, cutoff: Cutoff) -> Iterator[Paper]:
        """The papers that a query at the cut-off sees, with the references that it may know of."""
        for paper in self.dataset.papers(self._distractors):
            date = when(paper)
            if cutoff.links is None:
                yield paper
            elif sees_paper(date, cutoff):
                known = sees_links(date, cutoff) and self._twins.ids.isdisjoint(paper.ids)
                references = self.true_references(date, paper.references) if known else []
                yield replace(paper, references=[Reference([name]) for name in references], contexts=[])

    def contexts(self, cutoff: Cutoff) -> Iterator[Context]:
        """The contexts that a query at the cut-off may know of."""
        for context in self.dataset.contexts():
            if cutoff.links is None:
                yield context
                continue
            date = self.dates.get(context.citing, 0)
            if sees_links(date, cutoff) and context.citing not in self._twins.ids:
                cited = self.true_references(date, context.cited)
                if cited:
                    yield replace(context, cited=[Reference([name]) for name in cited])
