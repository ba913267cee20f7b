"""Where systems find what is wanted, and where they miss it: the results of an experiment cut into groups.

Every question makes a pair with each paper that it wants. A pair is described by what makes it easy or hard: how old the wanted
paper was, how often it was known to be cited, how many of the query's words it holds. `cut` then counts, for each range of
such a number, the pairs and how many of them each system found. Nothing here draws; `plots` does.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.evaluate.experiment import Experiment
from citewell.evaluate.measures import Values
from citewell.evaluate.strict import FOREVER, Cutoff, Timeline
from citewell.library.store.store import date_number
from citewell.text.analysis import terms

DEPTH = 10
"""A pair counts as found if the wanted paper has this rank or a better one."""

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
RANKS = np.union1d(np.geomspace(1, 1000, 61).round().astype(np.int64), TICKS)
"""Where a recall curve is sampled: evenly on a logarithmic scale, and at each round number."""

_Z = 1.959964
"""So many standard deviations to either side hold 95% of a normal distribution."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """Ranges of a number: each goes from its lowest value up to that of the next, the last one has no end."""

    lowest: tuple[float, ...]
    labels: tuple[str, ...]


YEAR_GAP = Bins((0, 1, 2, 3, 4, 6, 11, 21), ("0", "1", "2", "3", "4–5", "6–10", "11–20", "21+"))
CITATIONS = Bins((0, 1, 2, 3, 6, 11, 21, 51), ("0", "1", "2", "3–5", "6–10", "11–20", "21–50", "51+"))
FAME = Bins((0, 1, 5, 21), ("never", "1–4", "5–20", "more"))
"""How often the wanted paper was cited before, in the few ranges of a table."""
# Half of all pairs share fewer than a sixth of the query's words, hence the narrow ranges at the lower end.
OVERLAP = Bins(
    (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5), ("0–.05", ".05–.1", ".1–.15", ".15–.2", ".2–.3", ".3–.4", ".4–.5", ".5+")
)


@dataclass(frozen=True)
class Cited:
    """A wanted paper as a query may know it."""

    year: int
    citations: int
    """How many papers of the set cite it, up to the last year whose links may be seen."""
    terms: frozenset[int]
    """Of its title and abstract."""


@dataclass(frozen=True)
class Pairs:
    """Every pair of a question and a paper that it wants; all arrays have one entry a pair."""

    year_gap: Counts
    citations: Counts
    overlap: Values
    """The share of the query's distinct terms that the wanted paper's title and abstract hold."""
    ranks: dict[str, Counts]
    """What rank each system gave the paper, 0 where it did not return it."""
    skipped: int
    """How many questions are left out: the library holds fewer papers than they want, so that ranks cannot be told apart."""


@dataclass(frozen=True)
class Cut:
    """For each of some bins how many pairs fall into it, and how many of those each system found."""

    bins: Bins
    pairs: Counts
    found: dict[str, Counts]

    def share(self, system: str) -> Values:
        """The share that a system found in each bin, NaN in an empty one."""
        return self.found[system] / np.where(self.pairs > 0, self.pairs, np.nan)

    def interval(self, system: str) -> tuple[Values, Values]:
        return wilson(self.found[system], self.pairs)


def recall_curve(ranks: Sequence[Sequence[int]], at: Counts = RANKS) -> Values:
    """For each cut-off of `at` the mean over questions of the share of wanted papers that rank no lower."""
    gained = np.zeros(int(at.max()) + 1)
    for question in ranks:
        for rank in question:
            if 0 < rank < len(gained):
                gained[rank] += 1 / len(question)
    return np.cumsum(gained)[at] / max(1, len(ranks))


def pairs_of(experiment: Experiment, timeline: Timeline) -> Pairs:
    """The pairs of an experiment on a set that knows time."""
    kept = [
        at
        for at, (question, wanted) in enumerate(zip(experiment.questions, experiment.wanted, strict=True))
        if len(question.wanted) == len(wanted)
    ]
    asked = [experiment.questions[at] for at in kept]
    cited = cited_papers(timeline, {name for question in asked for name in question.wanted})
    gaps, citations, overlaps = [], [], []
    for question in asked:
        words = terms(question.query.text()).keys()
        for name in question.wanted:
            paper = cited[name]
            gaps.append(question.date // 10_000 - paper.year)
            citations.append(paper.citations)
            overlaps.append(len(words & paper.terms) / max(1, len(words)))
    ranks = {
        outcome.name: np.array([rank for at in kept for rank in outcome.ranks[at]], np.int64) for outcome in experiment.outcomes
    }
    return Pairs(
        np.array(gaps, np.int64),
        np.array(citations, np.int64),
        np.array(overlaps, np.float64),
        ranks,
        len(experiment.questions) - len(kept),
    )


def by_fame(experiment: Experiment, timeline: Timeline) -> Cut:
    """What each system finds of papers that were cited never, seldom or often before."""
    pairs = pairs_of(experiment, timeline)
    return cut(pairs.citations, FAME, pairs.ranks)


def cited_papers(timeline: Timeline, wanted: AbstractSet[str]) -> dict[str, Cited]:
    """The wanted papers by the names they are wanted under, in one pass over the set."""
    own: dict[str, tuple[list[str], int, frozenset[int]]] = {}
    # Who cites a paper comes before or after it in the file, and by any of its ids: so all links are kept, four bytes each.
    citing: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
    for number, paper in enumerate(timeline.papers(Cutoff(FOREVER, timeline.split.links_until))):
        for reference in paper.references:
            citing[reference.ids[0]].append(number)
        for name in wanted & set(paper.ids):
            year = date_number(paper.year, paper.date) // 10_000
            own[name] = paper.ids, year, frozenset(terms(f"{paper.title}\n{paper.abstract}"))
    return {
        name: Cited(year, len({one for alias in ids for one in citing.get(alias, ())}), words)
        for name, (ids, year, words) in own.items()
    }


def cut(values: Counts | Values, bins: Bins, ranks: Mapping[str, Counts], depth: int = DEPTH) -> Cut:
    """Sort pairs into bins by one of their numbers, and count what each system found among the first `depth`."""
    places = np.searchsorted(bins.lowest, values, side="right") - 1
    found = {
        system: np.bincount(places[(each > 0) & (each <= depth)], minlength=len(bins.lowest)) for system, each in ranks.items()
    }
    return Cut(bins, np.bincount(places, minlength=len(bins.lowest)), found)


def wilson(found: Counts, pairs: Counts) -> tuple[Values, Values]:
    """The 95% interval of a share by Wilson's score, NaN where there are no pairs; it takes pairs as independent."""
    size = np.where(pairs > 0, pairs, np.nan)
    share, spread = found / size, _Z**2 / size
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
