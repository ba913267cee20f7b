"""Queries grouped by date: each group runs against the library as it was known on that date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries
from citewell.evaluate.strict import Cutoff
from citewell.library.index.scoring import load_compiled
from citewell.pipeline.pipeline import Pipeline


def runners_by_date(
    queries: Sequence[JudgedQuery],
    libraries: SetLibraries,
    pipelines: Sequence[Pipeline],
    measures: Sequence[str] = (),
    lenient: bool = False,
    with_sentences: bool = False,
) -> Iterator[tuple[Runner, list[JudgedQuery]]]:
    """The queries of each date, earliest first, with a runner on the library of that date."""
    load_compiled()
    ordered = sorted(queries, key=lambda judged: judged.date)
    groups = {date: list(group) for date, group in groupby(ordered, key=lambda judged: judged.date)}
    with libraries.at(list(groups), pipelines) as opened:
        for library, (date, group) in zip(opened, groups.items(), strict=True):
            cutoff = Cutoff(date, libraries.links_until)
            yield Runner(library, libraries.naming, cutoff, measures, lenient, with_sentences), group
