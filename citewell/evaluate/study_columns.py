"""What the columns of a published table are: a measure under our name, and the data that the study measured it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from citewell.evaluate.studies import Table

_NAMES = {
    "mrr": ("RR",),
    "mrr@10": ("RR@10",),
    "map": ("AP", "AP@10", "AP-BioASQ"),
    "map@10": ("AP@10",),
    "ndcg@10": ("nDCG@10", "nDCG-HC@10"),
    "r-prec": ("Rprec",),
    "overlap": ("Overlap@1000",),
}
"""The last word of a column to our names of the measure."""


class Column(NamedTuple):
    """A column of a published table."""

    name: str
    measure: str
    """One of the table's measures; empty if none of them is the column's."""
    data: str
    """What stands before the measure: the data set, or its split; empty if the table has one."""


def columns(table: Table) -> list[Column]:
    """The columns of a table with the measure of each."""
    return [_column(name, table.measures) for name in table.columns]


def _column(name: str, measures: Sequence[str]) -> Column:
    words = name.replace(" %", "").replace("term overlap", "overlap").split()
    measure = words[-1].lower().replace("recall@", "r@")
    known = {*_NAMES.get(measure, ()), measure}
    found = [each for each in measures if {each.rpartition(":")[2], each.rpartition(":")[2].lower()} & known]
    return Column(name, found[0] if found else "", " ".join(words[:-1]))
