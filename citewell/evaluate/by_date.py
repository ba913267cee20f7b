"""Questions with the libraries of their moments: each is put to what was known on its own date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from citewell.evaluate.bench import Bench
from citewell.evaluate.pools import Pools
from citewell.evaluate.queries import Question
from citewell.evaluate.strict import Cutoff
from citewell.library.index.scoring import load_compiled
from citewell.pipeline.pipeline import Pipeline


def moments(
    asked: Sequence[Question],
    pools: Pools,
    pipelines: Sequence[Pipeline],
    names: Sequence[str] = (),
    lenient: bool = False,
    with_sentences: bool = False,
) -> Iterator[tuple[Bench, list[Question]]]:
    """The questions of each date, the earliest first, with the bench where these pipelines can be asked."""
    load_compiled()
    ordered = sorted(asked, key=lambda question: question.date)
    by_date = {date: list(group) for date, group in groupby(ordered, key=lambda question: question.date)}
    with pools.at(list(by_date), pipelines) as libraries:
        for library, (date, group) in zip(libraries, by_date.items(), strict=True):
            yield Bench(library, pools.naming, Cutoff(date, pools.links_until), names, lenient, with_sentences), group
