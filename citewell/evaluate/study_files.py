"""The files of a reproduced study: ``report.md`` with every table and plot, the plots as SVG and PNG, and ``results.json``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.evaluate.reproduce import Plan, ReproducedTable
from citewell.evaluate.studies import Study
from citewell.evaluate.study_agreement import sentences, summary
from citewell.evaluate.study_analyses import ReproducedAnalysis
from citewell.evaluate.study_grid import cells, grid, rules
from citewell.evaluate.study_report import OTHER_DATA, QUICK, as_json
from citewell.files import write_atomically

REPORT, RESULTS, PLOTS = "report.md", "results.json", "plots"


def write_study(
    name: str,
    study: Study,
    tables: Sequence[ReproducedTable],
    analyses: Sequence[ReproducedAnalysis],
    plan: Plan,
    folder: Path,
    left_out: Sequence[str] = (),
) -> list[Path]:
    """Write all files; returns them. `left_out`: lines on what was not trained."""
    from citewell.evaluate.study_plots import draw_analysis, draw_table, plot_title

    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    parts = [f"# {study.citation}", study.about, *([f"**{QUICK}**"] if plan.quick else []), _introduction(plan)]
    made: list[Path] = []
    for table in tables:
        title = plot_title(table.table.name, table.table.caption, plan.quick)
        drawn = draw_table(table, title, folder / PLOTS / _file_name(table.table.name))
        made += drawn
        parts += [*_table(table, plan.quick), *_picture(drawn, table.table.name)]
    for analysis in analyses:
        title = plot_title(analysis.analysis.name, analysis.analysis.caption, plan.quick)
        drawn = draw_analysis(analysis, title, folder / PLOTS / _file_name(analysis.analysis.name))
        made += drawn
        parts += [*_analysis(analysis, plan.quick), *_picture(drawn, analysis.analysis.name)]
    parts += ["## Where the figures differ, and why", *filter(None, (study.differences, summary(tables)))]
    if left_out:
        parts += ["## What was not measured", "\n".join(f"- {line}" for line in left_out)]
    write_atomically(folder / REPORT, ("\n\n".join(parts) + "\n").encode(), durable=False)
    results = msgspec.json.format(msgspec.json.encode(as_json(name, study, tables, analyses, plan)), indent=1)
    write_atomically(folder / RESULTS, results + b"\n", durable=False)
    return [folder / REPORT, folder / RESULTS, *made]


def _introduction(plan: Plan) -> str:
    sample = f"{plan.sample:,} queries for each set and task (seed {plan.seed})" if plan.sample else "all queries"
    return (
        f"Published figures left, ours right: {OTHER_DATA}. Ours: {sample}. In the plots, grey hollow markers are the study's"
        " figures, coloured ones are ours with 95% intervals (bootstrap over queries)."
    )


def _table(reproduced: ReproducedTable, quick: bool) -> list[str]:
    table, conditions = reproduced.table, rules(reproduced)
    content = grid(reproduced)
    header = ["method", *content.published, "our pipeline", *content.ours]
    ours = f"Ours: other data, {conditions}." if conditions else "Ours: no available set has this task, or no pipeline can run."
    failed = [f"{name} was not measured: {reason}" for name, reason in reproduced.failed.items()]
    numbers = [False, *[True] * len(content.published), False, *[True] * len(content.ours)]
    return [
        f"## {table.name}",
        f"{table.caption}.",
        *([f"**{QUICK}**"] if quick else []),
        ours,
        *filter(None, [table.note]),
        *failed,
        _markdown(header, content.rows, numbers),
        *(["\n".join(f"- {line}" for line in lines)] if (lines := sentences(reproduced)) else []),
    ]


def _analysis(reproduced: ReproducedAnalysis, quick: bool) -> list[str]:
    analysis = reproduced.analysis
    parts = [f"## {analysis.name}", f"{analysis.caption}.", *([f"**{QUICK}**"] if quick else [])]
    if published := analysis.published:
        parts += ["Published:", _cells(published.columns, cells(published.rows, False))]
    if not reproduced.available:
        parts += [f"Ours: missing: {analysis.analysis}."]
    elif not reproduced.results and not reproduced.failed:
        parts += ["Ours: no available set has this task."]
    parts += [f"Ours: {name} was not analysed: {reason}" for name, reason in reproduced.failed.items()]
    for name, result in reproduced.results.items():
        parts += [f"Ours: other data, {name}, {analysis.split} split, strict in time:"]
        parts += [_cells(result.columns, cells(result.rows, analysis.percent)), *filter(None, [result.note])]
    return parts


def _cells(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _markdown(columns, rows, [False, *[True] * (len(columns) - 1)])


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    lines = [header, ["---:" if each else "---" for each in right], *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in line)} |" for line in lines
    )


def _picture(drawn: Sequence[Path], name: str) -> list[str]:
    return [f"![{name}]({PLOTS}/{path.name})" for path in drawn if path.suffix == ".svg"]


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
