"""What a query may see: the rules in time, in one place.

A query sees papers up to its own date, and links and contexts of citing papers up to the last year that its split may use;
never its own record, references or contexts. The library that answers it holds nothing else, so that not even the rarity of a
word can tell of what was still to come. `Timeline` knows when each paper of a set appeared and cuts the set's records to size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from citewell.evaluate.sets import DataSet, Split
from citewell.library.identity import families, same_years, title_key
from citewell.library.store import date_number
from citewell.papers import Context, Paper, Reference

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


def twins(asking: Iterable[Paper], others: Iterable[Paper]) -> set[str]:
    """The ids of those others that are the same work as one that asks: a preprint cites what the paper will cite."""
    by_title: dict[int | None, list[Paper]] = {}
    for paper in asking:
        by_title.setdefault(title_key(paper.title), []).append(paper)
    by_title.pop(None, None)
    found: set[str] = set()
    for paper in others:
        if any(_may_be_same(paper, own) for own in by_title.get(title_key(paper.title), ())):
            found.update(paper.ids)
    return found


def _may_be_same(one: Paper, other: Paper) -> bool:
    """Whether two papers of the same title are one work, as far as their years and authors tell."""
    some, others = families(one.authors), families(other.authors)
    near = same_years([one.year] if one.year else [], [other.year] if other.year else [])
    return near and (not some or not others or not some.isdisjoint(others))


class Timeline:
    """When every paper of a set appeared, and the records of those that a split asks about."""

    def __init__(self, dataset: DataSet, split: Split) -> None:
        self.dataset = dataset
        self.split = split
        self.dates: dict[str, int] = {}
        """Canonical id to date; 0 where it is unknown."""
        self.citing: dict[str, Paper] = {}
        """The papers of the split's years that cite something."""
        for paper in dataset.papers():
            date = date_number(paper.year, paper.date)
            asking = paper.year in split.years and bool(paper.references)
            for name in paper.ids:
                self.dates[name] = date
                if asking:
                    self.citing[name] = paper
        self._twins: set[str] = set() if split.links_until is None else twins(self.citing.values(), dataset.papers())

    def true_references(self, citing: int, references: list[Reference]) -> list[str]:
        """The ids of those references that are in the set and do not lie in the future of the citing paper."""
        found = (next((name for name in reference.ids if name in self.dates), "") for reference in references)
        return self.backwards(citing, found)

    def backwards(self, citing: int, cited: Iterable[str]) -> list[str]:
        """Those of the cited ids that are in the set and not later than the citing paper, each once."""
        return list(dict.fromkeys(name for name in cited if name in self.dates and goes_back(citing, self.dates[name])))

    def papers(self, cutoff: Cutoff, distractors: bool = False) -> Iterator[Paper]:
        """The papers that a query at the cut-off sees, with the references that it may know of."""
        for paper in self.dataset.papers(distractors):
            date = date_number(paper.year, paper.date)
            if cutoff.links is None:
                yield paper
            elif sees_paper(date, cutoff):
                known = sees_links(date, cutoff) and self._twins.isdisjoint(paper.ids)
                references = self.true_references(date, paper.references) if known else []
                yield replace(paper, references=[Reference([name]) for name in references], contexts=[])

    def contexts(self, cutoff: Cutoff) -> Iterator[Context]:
        """The contexts that a query at the cut-off may know of."""
        for context in self.dataset.contexts():
            if cutoff.links is None:
                yield context
            elif (date := self.dates.get(context.citing)) and sees_links(date, cutoff) and context.citing not in self._twins:
                cited = self.true_references(date, context.cited)
                if cited:
                    yield replace(context, cited=[Reference([name]) for name in cited])
