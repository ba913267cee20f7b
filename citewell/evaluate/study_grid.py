"""A reproduced table as rows of text, which the console and the report print: published columns left, ours right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from citewell.evaluate.reproduce import MISSING, NONE, STRICT, STUDY, ReproducedRow, ReproducedTable
from citewell.evaluate.studies import Row, Table
from citewell.evaluate.tuning import label
from citewell.models.archives import card_of
from citewell.models.weights import folder
from citewell.pipeline.contract import TrainedModel, Vectors
from citewell.pipeline.registry import definitions, pipeline


class Grid(NamedTuple):
    """A table of text."""

    published: list[str]
    """The study's columns."""
    ours: list[str]
    """Our columns."""
    rows: list[list[str]]
    """The method, the published figures, our pipeline, and our figures."""


def grid(reproduced: ReproducedTable) -> Grid:
    """The cells of a table."""
    table = reproduced.table
    places = [(name, rule) for rule in reproduced.rules for name in reproduced.queries[rule]]
    places = sorted(places, key=lambda place: list(reproduced.queries[STRICT] | reproduced.queries[STUDY]).index(place[0]))
    percent = " %" if table.percent else ""
    own = f", {rule_name(table)}"
    ours = [
        f"{name} {measure}{percent}{'' if len(reproduced.rules) == 1 else own if rule == STUDY else ', strict'}"
        for name, rule in places
        for measure in table.measures
    ]
    # A row without figures in a table that has some is ours: the study does not have it.
    of_study = any(row.row.values for row in reproduced.rows)
    rows = []
    for row in reproduced.rows:
        published = [printed(value) for value in row.row.values] or ["–" if of_study else "?"] * len(table.columns)
        figures = [
            figure(row.value(rule, name, measure), table.percent, "") for name, rule in places for measure in table.measures
        ]
        rows.append([row.row.method, *published, described(row), *figures])
    return Grid(table.columns, ours, rows)


def rule_name(table: Table) -> str:
    """The study's own rule in a word or two."""
    return "inserted" if table.lenient else f"found by {table.found_by}"


def rules(reproduced: ReproducedTable) -> str:
    """On which queries and under which rules our figures were measured; empty if there are none."""
    table = reproduced.table
    sets = ", ".join(f"{name} ({count:,} queries)" for name, count in reproduced.queries[STRICT].items())
    if not sets:
        return ""
    lenient = "missed papers are inserted among the candidates before re-ranking" if table.lenient else ""
    counts = ", ".join(f"{name} {count:,}" for name, count in reproduced.queries[STUDY].items())
    found = f"only the queries whose relevant paper {table.found_by} retrieves ({counts})" if table.found_by else ""
    own = f"; by the study's rule ({rule_name(table)}): {lenient or found}" if lenient or found else ""
    titles = ", without papers that have only a title, like the study" if table.abstracts_only else ""
    cut = f", contexts of at most {table.context_characters} characters on either side" if table.context_characters else ""
    return f"{sets}, {table.split} split, strict in time{titles}{cut}{own}"


def described(row: ReproducedRow) -> str:
    """Our pipeline of a row and whose weights it uses, or why there are no figures."""
    if row.status == NONE:
        return ""
    if row.status == MISSING:
        return f"missing: {label(row.row.pipeline, row.row.settings)}"
    used = [f"{name}{origin(name)}" for name in weights(row.row)]
    notes = [f"weights: {', '.join(used)}"] if used and not row.runs else []
    notes += [f"rankings made elsewhere: {', '.join(row.runs)}"] if row.runs else []
    notes += [f"{name}: {reason}" for name, reason in row.failed.items()]
    named = label(row.row.pipeline, row.row.settings)
    return f"{named} ({'; '.join(notes)})" if notes else named


def weights(row: Row) -> list[str]:
    """The models whose weights our pipeline of a row uses, which need not be those of the study."""
    needed = pipeline(row.pipeline, **row.settings).requirements() if row.pipeline in definitions() else []
    names = [need.encoder if isinstance(need, Vectors) else need.name for need in needed if not isinstance(need, TrainedModel)]
    return list(dict.fromkeys(names))


def origin(name: str) -> str:
    """From which weights a model was trained, as its card says: a row must not pass for that of a better base."""
    card = card_of(folder(name)) or {}
    base = card.get("recipe", {}).get("base", "")
    return f" from {base}" if base else ""


def cells(rows: Sequence[Sequence[str | float]], percent: bool) -> list[list[str]]:
    """The rows of an analysis as text; the first column names the row."""
    return [[_cell(value, percent and place > 0) for place, value in enumerate(row)] for row in rows]


def _cell(value: str | float, percent: bool) -> str:
    """One cell of an analysis. Whole numbers are counts, which are no percentages."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return (figure(value, True, "") if percent else printed(value)) if math.isfinite(value) else "–"


def printed(value: float) -> str:
    """A figure as the study prints it."""
    return "?" if math.isnan(value) else f"{value:g}" if abs(value) < 0.001 or value >= 10 else f"{value:.4f}".rstrip("0")


def figure(value: float, percent: bool, missing: str) -> str:
    """One of our figures."""
    return missing if math.isnan(value) else f"{100 * value:.2f}" if percent else f"{value:.4f}"
