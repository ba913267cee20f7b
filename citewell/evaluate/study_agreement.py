"""How far our figures agree with those of a study: whether the methods come out in the same order.

The data differ, so the figures themselves cannot be compared; the order of the methods can. Kendall's tau is 1 for the same
order, 0 for none, -1 for the reverse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from citewell.evaluate.reproduce import MEASURED, STRICT, STUDY, ReproducedRow, ReproducedTable
from citewell.evaluate.study_columns import columns

FEWEST = 3
"""With fewer methods an order says nothing."""


class Agreement(NamedTuple):
    """The order of the methods of a table by one measure: in the study on its data, and here on a set."""

    set: str
    rule: str
    measure: str
    data: str
    """The study's data: empty if the table has one."""
    methods: int
    tau: float
    """Kendall's tau-b; NaN if all methods are equal."""
    moved: str = ""
    """The method whose rank differs most, with both ranks; empty if none differs."""


def agreements(reproduced: ReproducedTable) -> Iterator[Agreement]:
    """For each set, rule and published column, how far the orders agree."""
    for rule in reproduced.rules:
        for name in reproduced.queries[rule]:
            for place, column in enumerate(columns(reproduced.table)):
                rows = [row for row in reproduced.rows if _both(row, rule, name, column.measure, place)]
                if len(rows) >= FEWEST:
                    theirs = [row.row.values[place] for row in rows]
                    ours = [row.value(rule, name, column.measure) for row in rows]
                    moved = _moved([row.row.method for row in rows], theirs, ours)
                    tau = kendall_tau(theirs, ours)
                    yield Agreement(name, rule, column.measure, column.data, len(rows), tau, moved)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-b of two lists of values."""
    signs = [(_sign(a - b), _sign(c - d)) for (a, c), (b, d) in combinations(zip(one, other, strict=True), 2)]
    untied = math.sqrt(sum(first != 0 for first, _ in signs) * sum(second != 0 for _, second in signs))
    return sum(first * second for first, second in signs) / untied if untied else math.nan


def summary(tables: Sequence[ReproducedTable]) -> str:
    """A paragraph on a whole study: how many rows were measured, and how far the orders agree."""
    with_pipeline = [row for each in tables for row in each.rows if row.row.pipeline]
    measured = [row for row in with_pipeline if row.status == MEASURED and (row.figures[STRICT] or row.figures[STUDY])]
    rows = sum(len(each.rows) for each in tables)
    text = f"Of {rows} rows in {len(tables)} tables, {len(with_pipeline)} have a pipeline here; measured: {len(measured)}."
    taus = [each.tau for table in tables for each in agreements(table) if not math.isnan(each.tau)]
    if taus:
        same = sum(tau == 1 for tau in taus)
        text += (
            f" The order of the methods was compared {len(taus)} times (each published column with each set and rule):"
            f" Kendall's tau is {sum(taus) / len(taus):.2f} on average, from {min(taus):.2f} to {max(taus):.2f};"
            f" the order is the same in {same} of them."
        )
    return text


def sentences(reproduced: ReproducedTable) -> list[str]:
    """One sentence for each set, rule and measure of a table."""
    grouped: dict[tuple[str, str, str], list[Agreement]] = {}
    for each in agreements(reproduced):
        grouped.setdefault((each.set, each.rule, each.measure), []).append(each)
    return [_sentence(group) for group in grouped.values()]


def _sentence(group: Sequence[Agreement]) -> str:
    first = group[0]
    rule = ", by the study's rule" if first.rule == STUDY else ""
    taus = ", ".join(f"{each.tau:.2f}{f' ({each.data})' if each.data else ''}" for each in group)
    furthest = min(group, key=lambda each: each.tau)
    moved = f" Furthest apart{f' ({furthest.data})' if furthest.data else ''}: {furthest.moved}." if furthest.moved else ""
    count = first.methods if len({each.methods for each in group}) == 1 else "the"
    return (
        f"{first.set}{rule}, {first.measure}: Kendall's tau of our order of {count} methods with the study's is {taus}.{moved}"
    )


def _both(row: ReproducedRow, rule: str, name: str, measure: str, place: int) -> bool:
    """Whether a row has both a published figure and ours."""
    return place < len(row.row.values) and not (math.isnan(row.row.values[place]) or math.isnan(row.value(rule, name, measure)))


def _moved(methods: Sequence[str], theirs: Sequence[float], ours: Sequence[float]) -> str:
    """The method whose rank differs most."""
    ranks = [
        (1 + sum(other > its for other in theirs), 1 + sum(other > own for other in ours))
        for its, own in zip(theirs, ours, strict=True)
    ]
    place = max(range(len(ranks)), key=lambda at: abs(ranks[at][0] - ranks[at][1]))
    published, here = ranks[place]
    return f"{methods[place]}, rank {published} in the study and {here} here" if published != here else ""


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
