"""How a reproduced study is printed, and what programs read of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from citewell.evaluate.reproduce import STRICT, STUDY, Figures, Plan, ReproducedTable
from citewell.evaluate.studies import Study
from citewell.evaluate.study_agreement import agreements, sentences, summary
from citewell.evaluate.study_analyses import ReproducedAnalysis
from citewell.evaluate.study_grid import cells, grid, rules, weights

if TYPE_CHECKING:
    from rich.console import Console

OTHER_DATA = "the study's figures and ours are from different data"
QUICK = "QUICK: few queries, shallow re-ranking, models trained for a few steps. These figures only show that everything runs."


def as_json(
    name: str, study: Study, tables: Sequence[ReproducedTable], analyses: Sequence[ReproducedAnalysis], plan: Plan
) -> dict[str, Any]:
    """Everything that a program may want of a reproduced study."""
    return {
        "study": name,
        "citation": study.citation,
        "note": OTHER_DATA,
        "quick": plan.quick,
        "sample": plan.sample,
        "seed": plan.seed,
        "differences": study.differences,
        "agreement": summary(tables),
        "tables": [_table_as_json(each) for each in tables],
        "analyses": [_analysis_as_json(each) for each in analyses],
    }


def _table_as_json(reproduced: ReproducedTable) -> dict[str, Any]:
    table = reproduced.table
    return {
        "name": table.name,
        "caption": table.caption,
        "task": table.task,
        "split": table.split,
        "lenient": table.lenient,
        "found_by": table.found_by,
        "abstracts_only": table.abstracts_only,
        "context_characters": table.context_characters,
        "note": table.note,
        "percent": table.percent,
        "queries": reproduced.queries[STRICT],
        "queries_by_study_rule": reproduced.queries[STUDY],
        "failed": reproduced.failed,
        "agreement": [each._asdict() for each in agreements(reproduced)],
        "rows": [
            {
                "method": row.row.method,
                "published": dict(zip(table.columns, row.row.values, strict=False)),
                "pipeline": row.row.pipeline,
                "settings": row.row.settings,
                "weights": weights(row.row),
                "status": row.status,
                "failed": row.failed,
                "runs": row.runs,
                "ours": _means(row.figures[STRICT], table.measures),
                "ours_by_study_rule": _means(row.figures[STUDY], table.measures),
                "intervals": _intervals(row.figures[STRICT], table.measures),
            }
            for row in reproduced.rows
        ],
    }


def _means(figures: Figures, measures: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return {
        name: {measure: result.values[measure].mean for measure in measures if measure in result.values}
        for name, result in figures.items()
    }


def _intervals(figures: Figures, measures: Sequence[str]) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    return {
        name: {measure: (value.low, value.high) for measure in measures if (value := result.values.get(measure))}
        for name, result in figures.items()
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
    study: Study,
    tables: Sequence[ReproducedTable],
    analyses: Sequence[ReproducedAnalysis],
    console: Console,
    quick: bool = False,
    left_out: Sequence[str] = (),
) -> None:
    """Print every table of the study with our figures at the right, then its other analyses, and how far they agree."""
    console.print(study.citation, style="bold", highlight=False)
    console.print(study.about, highlight=False)
    for table in tables:
        console.print()
        _print_table(table, console, quick)
    for analysis in analyses:
        console.print()
        _print_analysis(analysis, console, quick)
    console.print()
    console.print("Where the figures differ, and why", style="bold", highlight=False)
    for paragraph in filter(None, (study.differences, summary(tables))):
        console.print(paragraph, highlight=False)
    if left_out:
        console.print("What was not measured", style="bold", highlight=False)
    for line in left_out:
        console.print(line, highlight=False, markup=False)


def _print_table(reproduced: ReproducedTable, console: Console, quick: bool) -> None:
    import rich.box
    from rich.table import Table as RichTable

    console.print(f"{reproduced.table.name}: {reproduced.table.caption}", style="bold", highlight=False)
    _print_quick(quick, console)
    conditions = rules(reproduced)
    ours = f"OTHER DATA, {conditions}" if conditions else "no available set has this task, or no pipeline of the table can run"
    console.print(f"ours: {ours}", style="yellow", highlight=False)
    if reproduced.table.note:
        console.print(reproduced.table.note, style="yellow", highlight=False)
    for name, reason in reproduced.failed.items():
        console.print(f"ours: {name} was not measured: {reason}", style="yellow", highlight=False)
    content = grid(reproduced)
    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in content.published:
        table.add_column(column, justify="right")
    table.add_column("our pipeline", style="cyan")
    for column in content.ours:
        table.add_column(column, justify="right", style="cyan")
    for row in content.rows:
        table.add_row(*row)
    console.print(table)
    for line in sentences(reproduced):
        console.print(line, highlight=False)


def _print_analysis(reproduced: ReproducedAnalysis, console: Console, quick: bool) -> None:
    analysis = reproduced.analysis
    console.print(f"{analysis.name}: {analysis.caption}", style="bold", highlight=False)
    _print_quick(quick, console)
    if analysis.published:
        console.print("published:", highlight=False)
        _print_cells(analysis.published.columns, cells(analysis.published.rows, False), console, "")
    if not reproduced.available:
        console.print(f"ours: missing: {analysis.analysis}", style="yellow", highlight=False)
    elif not reproduced.results and not reproduced.failed:
        console.print("ours: no available set has this task", style="yellow", highlight=False)
    for name, reason in reproduced.failed.items():
        console.print(f"ours: {name} was not analysed: {reason}", style="yellow", highlight=False)
    for name, result in reproduced.results.items():
        console.print(f"ours: OTHER DATA, {name}, {analysis.split} split, strict in time", style="yellow", highlight=False)
        _print_cells(result.columns, cells(result.rows, analysis.percent), console, "cyan")
        if result.note:
            console.print(result.note, highlight=False)


def _print_quick(quick: bool, console: Console) -> None:
    if quick:
        console.print(QUICK, style="bold red", highlight=False)


def _print_cells(columns: Sequence[str], rows: Sequence[Sequence[str]], console: Console, style: str) -> None:
    import rich.box
    from rich.table import Table as RichTable

    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False, style=style)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
