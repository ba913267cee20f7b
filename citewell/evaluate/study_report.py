"""How a reproduced study is printed, and what programs read of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from citewell.evaluate.reproduce import MISSING, NONE, ReproducedTable
from citewell.evaluate.studies import Row, Study
from citewell.evaluate.study_analyses import ReproducedAnalysis
from citewell.evaluate.tuning import label
from citewell.pipeline.contract import TrainedModel, Vectors
from citewell.pipeline.registry import definitions, pipeline

if TYPE_CHECKING:
    from rich.console import Console

OTHER_DATA = "the study's figures and ours are from different data"


def as_json(
    name: str,
    study: Study,
    tables: Sequence[ReproducedTable],
    analyses: Sequence[ReproducedAnalysis],
    sample: int | None,
    seed: int,
) -> dict[str, Any]:
    """Everything that a program may want of a reproduced study."""
    return {
        "study": name,
        "citation": study.citation,
        "note": OTHER_DATA,
        "sample": sample,
        "seed": seed,
        "tables": [
            {
                "name": each.table.name,
                "caption": each.table.caption,
                "task": each.table.task,
                "split": each.table.split,
                "lenient": each.table.lenient,
                "found_by": each.table.found_by,
                "abstracts_only": each.table.abstracts_only,
                "percent": each.table.percent,
                "queries": each.queries,
                "failed": each.failed,
                "rows": [
                    {
                        "method": row.row.method,
                        "published": dict(zip(each.table.columns, row.row.values, strict=False)),
                        "pipeline": row.row.pipeline,
                        "settings": row.row.settings,
                        "weights": weights(row.row),
                        "status": row.status,
                        "ours": row.ours,
                    }
                    for row in each.rows
                ],
            }
            for each in tables
        ],
        "analyses": [_analysis_as_json(each) for each in analyses],
    }


def _analysis_as_json(reproduced: ReproducedAnalysis) -> dict[str, Any]:
    analysis = reproduced.analysis
    return {
        "name": analysis.name,
        "caption": analysis.caption,
        "analysis": analysis.analysis,
        "available": reproduced.available,
        "task": analysis.task,
        "split": analysis.split,
        "settings": analysis.settings,
        "percent": analysis.percent,
        "published": analysis.published,
        "ours": reproduced.results,
        "failed": reproduced.failed,
    }


def print_study(
    study: Study, tables: Sequence[ReproducedTable], analyses: Sequence[ReproducedAnalysis], console: Console
) -> None:
    """Print every table of the study with our figures at the right, then its other analyses."""
    console.print(study.citation, style="bold", highlight=False)
    console.print(study.about, highlight=False)
    for table in tables:
        console.print()
        _print_table(table, console)
    for analysis in analyses:
        console.print()
        _print_analysis(analysis, console)


def _print_table(reproduced: ReproducedTable, console: Console) -> None:
    import rich.box
    from rich.table import Table as RichTable

    sets = ", ".join(f"{name} ({count:,} queries)" for name, count in reproduced.queries.items())
    console.print(f"{reproduced.table.name}: {reproduced.table.caption}", style="bold", highlight=False)
    asked = reproduced.table
    lenient = ", lenient like the study: missed papers are put among the candidates before re-ranking" if asked.lenient else ""
    found = f", only the queries whose relevant paper {asked.found_by} retrieves, like the study" if asked.found_by else ""
    titles = ", without papers that have only a title, like the study" if asked.abstracts_only else ""
    rules = f"OTHER DATA, {sets}, {asked.split} split, strict in time{lenient}{found}{titles}"
    console.print(f"ours: {rules if sets else 'no available set has this task'}", style="yellow", highlight=False)
    for name, reason in reproduced.failed.items():
        console.print(f"ours: {name} was not measured: {reason}", style="yellow", highlight=False)
    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in reproduced.table.columns:
        table.add_column(column, justify="right")
    table.add_column("our pipeline", style="cyan")
    for name in reproduced.queries:
        for measure in asked.measures:
            table.add_column(f"{name} {measure}{' %' if asked.percent else ''}", justify="right", style="cyan")
    for row in reproduced.rows:
        published = [*row.row.values, *[math.nan] * (len(reproduced.table.columns) - len(row.row.values))]
        status = {MISSING: f"missing: {row.row.pipeline}", NONE: ""}.get(row.status, _described(row.row))
        figures = [
            _figure(row.ours.get(name, {}).get(measure), asked.percent)
            for name in reproduced.queries
            for measure in asked.measures
        ]
        table.add_row(row.row.method, *map(_printed, published), status, *figures)
    console.print(table)


def _print_analysis(reproduced: ReproducedAnalysis, console: Console) -> None:
    analysis = reproduced.analysis
    console.print(f"{analysis.name}: {analysis.caption}", style="bold", highlight=False)
    if analysis.published:
        console.print("published:", highlight=False)
        _print_cells(analysis.published.columns, analysis.published.rows, False, console, "")
    if not reproduced.available:
        console.print(f"ours: missing: {analysis.analysis}", style="yellow", highlight=False)
    elif not reproduced.results and not reproduced.failed:
        console.print("ours: no available set has this task", style="yellow", highlight=False)
    for name, reason in reproduced.failed.items():
        console.print(f"ours: {name} was not analysed: {reason}", style="yellow", highlight=False)
    for name, result in reproduced.results.items():
        console.print(f"ours: OTHER DATA, {name}, {analysis.split} split, strict in time", style="yellow", highlight=False)
        _print_cells(result.columns, result.rows, analysis.percent, console, "cyan")
        if result.note:
            console.print(result.note, highlight=False)


def _print_cells(
    columns: Sequence[str], rows: Sequence[Sequence[str | float]], percent: bool, console: Console, style: str
) -> None:
    import rich.box
    from rich.table import Table as RichTable

    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False, style=style)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*(_cell(value, percent and place > 0) for place, value in enumerate(row)))
    console.print(table)


def _cell(value: str | float, percent: bool) -> str:
    """One cell of an analysis. Whole numbers are counts, which are no percentages."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return (_figure(value, True) if percent else _printed(value)) if math.isfinite(value) else "–"


def _printed(value: float) -> str:
    """A figure as the study prints it."""
    return "?" if math.isnan(value) else f"{value:g}" if abs(value) < 0.001 or value >= 10 else f"{value:.4f}".rstrip("0")


def _figure(value: float | None, percent: bool) -> str:
    return "" if value is None or math.isnan(value) else f"{100 * value:.2f}" if percent else f"{value:.4f}"


def weights(row: Row) -> list[str]:
    """The models whose weights our pipeline of a row uses, which need not be those of the study."""
    needed = pipeline(row.pipeline, **row.settings).requirements() if row.pipeline in definitions() else []
    names = [need.encoder if isinstance(need, Vectors) else need.name for need in needed if not isinstance(need, TrainedModel)]
    return list(dict.fromkeys(names))


def _described(row: Row) -> str:
    """Our pipeline of a row, and whose weights it uses."""
    used = weights(row)
    return f"{label(row.pipeline, row.settings)}{f' (weights: {chr(44).join(used)})' if used else ''}"
