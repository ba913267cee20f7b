"""Pairs of a query and a cited paper with the years of both: what the analyses of publication years are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses import contract
from citewell.evaluate.analyses.systems import Answer, Systems, answers, years_of
from citewell.evaluate.strict import FOREVER
from citewell.text.analysis import tokens
from citewell.types import Float64Array, IntArray


@dataclass(frozen=True)
class YearPairs:
    """All arrays have one entry for each pair."""

    year: IntArray
    """The year of the cited paper."""
    gap: IntArray
    """The years between the cited and the citing paper."""
    jaccard: Float64Array
    """The Jaccard index of the words of the query and those of the cited paper's title and abstract."""
    ranks: dict[str, Float64Array]
    """System to the rank of the cited paper."""
    unreturned: dict[str, int]
    """System to how many of the papers it did not return; see `Answer.ranks`."""

    def note(self) -> str:
        """How papers that were not returned count, where there are any."""
        shares = [f"{name} {count / len(self.gap):.0%}" for name, count in self.unreturned.items() if count]
        return f"Not returned, so with the mean of the ranks that are left: {', '.join(shares)} of the pairs." if shares else ""


def year_pairs(request: contract.Request, systems: Systems) -> YearPairs:
    """The pairs of the queries of a set."""
    years, gaps, jaccards = [], [], []
    ranks: dict[str, list[Float64Array]] = {name: [] for name in systems.names}
    unreturned = dict.fromkeys(systems.names, 0)
    for answer in answers(request, systems.pipelines):
        if answer.judged.date == FOREVER:
            raise CitewellError("the queries of this set have no dates, so the gap in years is unknown")
        published = years_of(answer)  # a paper without a year is never relevant
        years.append(published)
        gaps.append(answer.year - published)
        jaccards.append(_jaccards(answer))
        for name in systems.names:
            of_query, missing = answer.ranks(name)
            ranks[name].append(of_query)
            unreturned[name] += missing
    if not years:
        raise CitewellError("no query can run: none of their relevant papers are in the set")
    every = {name: np.concatenate(parts) for name, parts in ranks.items()}
    return YearPairs(np.concatenate(years), np.concatenate(gaps), np.concatenate(jaccards), every, unreturned)


def _jaccards(answer: Answer) -> Float64Array:
    query = set(tokens(answer.judged.query.text()))
    records = answer.request.collection.records(answer.relevant)
    papers = [
        set(tokens(f"{record.title}\n{record.abstract}")) for record in map(records.__getitem__, answer.relevant.tolist())
    ]
    return np.array([len(query & paper) / max(1, len(query | paper)) for paper in papers], np.float64)
