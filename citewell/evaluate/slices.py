"""Where systems retrieve what is relevant and where they miss it: the results of an experiment in slices.

Every query makes a pair with each of its relevant papers. A pair is described by what makes it easy or hard: the age of the
relevant paper, its known citations, how many terms of the query it contains. `slice_pairs` counts, for each range of
such a number, the pairs and how many of them each system retrieved. `plots` draws the result.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from citewell.evaluate.measures import Values
from citewell.evaluate.outcomes import Experiment
from citewell.evaluate.strict import FOREVER, Cutoff, Timeline
from citewell.library.store.store import date_number
from citewell.text.analysis import terms
from citewell.types import IntArray

DEPTH = 10
"""A pair counts as retrieved if the relevant paper has this rank or a better one."""

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
RANKS = np.union1d(np.geomspace(1, 1000, 61).round().astype(np.int64), TICKS)
"""Where a recall curve is sampled: evenly on a logarithmic scale, and at each round number."""

_Z = 1.959964
"""95% of a normal distribution lie within this many standard deviations of the mean."""


@dataclass(frozen=True)
class Bins:
    """Ranges of a number: each goes from its lowest value up to that of the next; the last one has no end."""

    lowest: tuple[float, ...]
    labels: tuple[str, ...]


YEAR_GAP = Bins((0, 1, 2, 3, 4, 6, 11, 21), ("0", "1", "2", "3", "4–5", "6–10", "11–20", "21+"))
CITATIONS = Bins((0, 1, 2, 3, 6, 11, 21, 51), ("0", "1", "2", "3–5", "6–10", "11–20", "21–50", "51+"))
FEW_CITATIONS = Bins((0, 1, 5, 21), ("never", "1–4", "5–20", "more"))
"""How often the relevant paper was cited before, in the few ranges of a table."""
# Half of all pairs share less than a sixth of the query's terms, so the ranges are narrow at the lower end.
OVERLAP = Bins(
    (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5), ("0–.05", ".05–.1", ".1–.15", ".15–.2", ".2–.3", ".3–.4", ".4–.5", ".5+")
)


@dataclass(frozen=True)
class Cited:
    """A relevant paper as a query may know it."""

    year: int
    citations: int
    """How many papers of the set cite it, up to the last year whose links may be seen."""
    terms: frozenset[int]
    """The terms of its title and abstract."""


@dataclass(frozen=True)
class Pairs:
    """Every pair of a query and a relevant paper; all arrays have one entry for each pair."""

    year_gap: IntArray
    citations: IntArray
    overlap: Values
    """The share of the query's distinct terms that the relevant paper's title and abstract contain."""
    ranks: dict[str, IntArray]
    """System to the rank of the paper, 0 if it did not return it."""
    skipped: int
    """How many queries are left out: the library merged some of their relevant papers, so ranks cannot be assigned."""


@dataclass(frozen=True)
class Slices:
    """For each bin how many pairs are in it, and how many of those each system retrieved."""

    bins: Bins
    pairs: IntArray
    retrieved: dict[str, IntArray]

    def recall(self, system: str) -> Values:
        """The share of pairs that a system retrieved in each bin, NaN in an empty one."""
        return self.retrieved[system] / np.where(self.pairs > 0, self.pairs, np.nan)

    def interval(self, system: str) -> tuple[Values, Values]:
        return wilson(self.retrieved[system], self.pairs)


def recall_curve(ranks: Sequence[Sequence[int]], at: IntArray = RANKS) -> Values:
    """R@k for each cut-off k of `at`, as a mean over queries."""
    gained = np.zeros(int(at.max()) + 1)
    for of_query in ranks:
        for rank in of_query:
            if 0 < rank < len(gained):
                gained[rank] += 1 / len(of_query)
    return np.cumsum(gained)[at] / max(1, len(ranks))


def pairs_of(experiment: Experiment, timeline: Timeline) -> Pairs:
    """The pairs of an experiment on a set with dates."""
    places = [
        at
        for at, (judged, relevant) in enumerate(zip(experiment.queries, experiment.relevant, strict=True))
        if len(judged.relevant) == len(relevant)
    ]
    queries = [experiment.queries[at] for at in places]
    cited = cited_papers(timeline, {name for judged in queries for name in judged.relevant})
    gaps, citations, overlaps = [], [], []
    for judged in queries:
        query_terms = terms(judged.query.text()).keys()
        for name in judged.relevant:
            paper = cited[name]
            gaps.append(judged.date // 10_000 - paper.year)
            citations.append(paper.citations)
            overlaps.append(len(query_terms & paper.terms) / max(1, len(query_terms)))
    ranks = {
        outcome.name: np.array([rank for at in places for rank in outcome.ranks[at]], np.int64)
        for outcome in experiment.outcomes
    }
    return Pairs(
        np.array(gaps, np.int64),
        np.array(citations, np.int64),
        np.array(overlaps, np.float64),
        ranks,
        len(experiment.queries) - len(places),
    )


def by_citation_count(experiment: Experiment, timeline: Timeline) -> Slices:
    """Recall of each system by how often the relevant paper was cited before."""
    pairs = pairs_of(experiment, timeline)
    return slice_pairs(pairs.citations, FEW_CITATIONS, pairs.ranks)


def cited_papers(timeline: Timeline, relevant: AbstractSet[str]) -> dict[str, Cited]:
    """The relevant papers by the names that the judgements use, in one pass over the set."""
    own: dict[str, tuple[list[str], int, frozenset[int]]] = {}
    # A citing paper comes before or after the cited one in the file, and uses any of its ids: so all links are collected,
    # at four bytes each.
    citing: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
    for number, paper in enumerate(timeline.papers(Cutoff(FOREVER, timeline.split.links_until))):
        for reference in paper.references:
            citing[reference.ids[0]].append(number)
        for name in relevant & set(paper.ids):
            year = date_number(paper.year, paper.date) // 10_000
            own[name] = paper.ids, year, frozenset(terms(f"{paper.title}\n{paper.abstract}"))
    return {
        name: Cited(year, len({one for alias in ids for one in citing.get(alias, ())}), words)
        for name, (ids, year, words) in own.items()
    }


def slice_pairs(values: IntArray | Values, bins: Bins, ranks: Mapping[str, IntArray], depth: int = DEPTH) -> Slices:
    """Sort pairs into bins by one of their numbers, and count what each system retrieved at rank `depth` or better."""
    places = np.searchsorted(bins.lowest, values, side="right") - 1
    retrieved = {
        system: np.bincount(places[(each > 0) & (each <= depth)], minlength=len(bins.lowest)) for system, each in ranks.items()
    }
    return Slices(bins, np.bincount(places, minlength=len(bins.lowest)), retrieved)


def wilson(retrieved: IntArray, pairs: IntArray) -> tuple[Values, Values]:
    """Wilson's 95% score interval of a share, NaN where there are no pairs; it treats pairs as independent."""
    size = np.where(pairs > 0, pairs, np.nan)
    share, spread = retrieved / size, _Z**2 / size
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
