"""Plots of a reproduced study: a panel for each measure of a table, a row for each method, the study's figures next to ours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from citewell.evaluate.analyses.contract import Result
from citewell.evaluate.plots import _GREY, _LOOK, DPI, _mark, _save  # also says what to install without matplotlib
from citewell.evaluate.reproduce import STRICT, STUDY, ReproducedRow, ReproducedTable
from citewell.evaluate.study_analyses import ReproducedAnalysis
from citewell.evaluate.study_columns import columns
from citewell.evaluate.study_grid import origin, rule_name, rules, weights

_PUBLISHED = ("o", "s", "D", "^", "v", "P")
"""The markers of the study's data sets; they are hollow and grey, ours are filled and coloured."""
_ROW = 0.3
"""Inches of a row."""


class _Series(NamedTuple):
    """The figures of one data set by one measure, one for each method."""

    name: str
    measure: str
    values: list[float]
    intervals: list[tuple[float, float]]
    mark: dict[str, Any]


def draw_table(reproduced: ReproducedTable, title: str, path_without_suffix: Path) -> list[Path]:
    """Draw a table; returns the files, none if there is not one figure to draw."""
    table = reproduced.table
    series = [*_published(reproduced), *_ours(reproduced)]
    drawn = [name for name in table.measures if any(each.measure == name for each in series)]
    if not drawn:
        return []
    methods = [_label(row) for row in reproduced.rows]
    lines = sum(method.count("\n") + 1 for method in methods)
    across = len(drawn) if len(drawn) < 4 else 2
    down = math.ceil(len(drawn) / across)
    heading = _heading(title, _conditions(reproduced), 11.0)
    height = 1.5 + 0.2 * len(heading[1]) + down * (0.7 + _ROW * max(lines, 3)) + 0.22 * math.ceil(len(_names(series)) / 3)
    with matplotlib.rc_context(_LOOK):
        figure = Figure((11.0, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(down, across, sharey=True, squeeze=False).ravel().tolist()
        for axes, measure in zip(grid, drawn, strict=False):
            _panel(axes, [each for each in series if each.measure == measure], methods, measure, table.percent)
        for axes in grid[len(drawn) :]:
            axes.set_visible(False)
        _finish(figure, heading, series, height)
        return _save(figure, path_without_suffix)


def draw_analysis(reproduced: ReproducedAnalysis, title: str, path_without_suffix: Path) -> list[Path]:
    """Draw an analysis, the study's figures and ours in panels of their own; returns the files, none if it has no plot."""
    kind = next((result.plot for result in reproduced.results.values() if result.plot), "")
    if not kind:
        return []
    analysis = reproduced.analysis
    panels: dict[str, Result] = {}
    if analysis.published:
        panels["published"] = Result(analysis.published.columns, analysis.published.rows)
    panels |= {f"ours: {name}": result for name, result in reproduced.results.items()}
    percent = 100.0 if analysis.percent else 1.0
    heading = _heading(title, f"ours: other data, {analysis.split} split, strict in time", 11.0)
    height = 4.6 + 0.2 * len(heading[1])
    with matplotlib.rc_context(_LOOK):
        figure = Figure((11.0, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        for axes, (name, result) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            _curves(axes, result, kind, 1.0 if name == "published" else percent)
            axes.set_title(name, loc="left", fontsize=10)
        _finish(figure, heading, [], height)
        return _save(figure, path_without_suffix)


def plot_title(name: str, caption: str, quick: bool) -> str:
    """The title of a plot."""
    return f"{'QUICK, not a result: ' if quick else ''}{name}. {caption}"


def _label(row: ReproducedRow) -> str:
    """The method; and where we measured it with weights, whose: they need not be those of the study."""
    used = [f"{name}{origin(name)}" for name in weights(row.row)] if any(row.figures.values()) else []
    lines = textwrap.wrap(row.row.method, 44)
    return "\n".join([*lines, *(textwrap.wrap(f"(ours: {', '.join(used)})", 44) if used else [])])


def _published(reproduced: ReproducedTable) -> list[_Series]:
    named = columns(reproduced.table)
    data = list(dict.fromkeys(column.data for column in named))
    series = []
    for place, column in enumerate(named):
        values = [row.row.values[place] if place < len(row.row.values) else math.nan for row in reproduced.rows]
        if column.measure and not all(map(math.isnan, values)):
            mark = {"marker": _PUBLISHED[data.index(column.data) % len(_PUBLISHED)], "color": _GREY, "markerfacecolor": "white"}
            series.append(_Series(f"published{f': {column.data}' if column.data else ''}", column.measure, values, [], mark))
    return series


def _ours(reproduced: ReproducedTable) -> list[_Series]:
    table = reproduced.table
    names = list(reproduced.queries[STRICT] | reproduced.queries[STUDY])
    factor = 100.0 if table.percent else 1.0
    series = []
    for rule in reproduced.rules:
        for name in (name for name in names if name in reproduced.queries[rule]):
            mark = {"marker": "o" if rule == STRICT else "D", "color": _mark(names.index(name))["color"]}
            if rule == STUDY:
                mark["markerfacecolor"] = "white"
            own = f", {rule_name(table)}" if rule == STUDY else ", strict" if len(reproduced.rules) > 1 else ""
            for measure in table.measures:
                values = [factor * row.value(rule, name, measure) for row in reproduced.rows]
                if all(map(math.isnan, values)):
                    continue
                spread = [
                    result.values.get(measure) if (result := row.figures[rule].get(name)) else None for row in reproduced.rows
                ]
                intervals = [
                    (factor * value.low, factor * value.high)
                    if value and value.low is not None and value.high is not None
                    else (math.nan, math.nan)
                    for value in spread
                ]
                series.append(_Series(f"ours: {name}{own}", measure, values, intervals, mark))
    return series


def _panel(axes: Axes, series: Sequence[_Series], methods: Sequence[str], measure: str, percent: bool) -> None:
    """One measure: a row for each method, the study's figures above ours."""
    step = min(0.16, 0.72 / max(1, len(series)))
    rows = np.arange(len(methods))
    for row in rows[::2]:
        axes.axhspan(row - 0.5, row + 0.5, color="#f5f5f5", linewidth=0, zorder=0)
    for place, each in enumerate(series):
        y = rows + (place - (len(series) - 1) / 2) * step
        if each.intervals:
            low, high = zip(*each.intervals, strict=True)
            axes.hlines(y, low, high, color=each.mark["color"], linewidth=1.2, alpha=0.45)
        axes.plot(each.values, y, linestyle="", markersize=5.5, label=each.name, clip_on=False, **each.mark)
    axes.set_yticks(rows, methods)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_title(f"{measure}{' %' if percent else ''}", loc="left", fontsize=10, fontweight="bold")
    axes.grid(False, axis="y")


def _curves(axes: Axes, result: Result, kind: str, factor: float) -> None:
    """The columns of an analysis as lines or grouped bars; the first column is the x axis."""
    labels = [str(row[0]) for row in result.rows]
    numbers = [_number(label) for label in labels]
    numeric = kind == "lines" and not any(map(math.isnan, numbers))
    x = np.array(numbers) if numeric else np.arange(len(labels), dtype=float)
    of_numbers = [
        place for place in range(1, len(result.columns)) if not any(isinstance(row[place], str) for row in result.rows)
    ]
    # Next to fractions, whole numbers are counts, which are on another scale.
    of_counts = [place for place in of_numbers if all(isinstance(row[place], int) for row in result.rows)]
    of_figures = of_numbers if of_counts == of_numbers and factor == 1 else [at for at in of_numbers if at not in of_counts]
    width = 0.8 / max(1, len(of_figures))
    for at, place in enumerate(of_figures):
        y = np.array([factor * float(row[place]) for row in result.rows])
        if kind == "lines":
            axes.plot(x, y, label=result.columns[place], markersize=4.5, linewidth=1.4, **_mark(at))
        else:
            offset = (at - (len(of_figures) - 1) / 2) * width
            axes.bar(x + offset, y, 0.92 * width, label=result.columns[place], color=_mark(at)["color"])
    if not numeric:
        crowded = sum(map(len, labels)) > 40
        axes.set_xticks(x, labels, rotation=40 if crowded else 0, ha="right" if crowded else "center")
    axes.set_xlabel(result.columns[0])
    axes.legend(loc="best", fontsize=8.5)


def _finish(figure: Figure, heading: tuple[str, list[str]], series: Sequence[_Series], height: float) -> None:
    """The title, the conditions below it, and one legend for all panels."""
    title, conditions = heading
    figure.suptitle(title, x=0.01, y=1 - 0.08 / height, ha="left", va="top", fontsize=12, fontweight="bold")
    lines = title.count("\n") + 1
    figure.text(0.01, 1 - (0.15 + 0.2 * lines) / height, "\n".join(conditions), ha="left", va="top", fontsize=9, color=_GREY)
    legend = _names(series)
    top = (0.3 + 0.2 * lines + 0.16 * len(conditions)) / height
    bottom = (0.12 + 0.22 * math.ceil(len(legend) / 3)) / height if legend else 0.02
    figure.set_layout_engine("constrained", rect=(0, bottom, 1, 1 - top - bottom))
    if legend:
        handles = [Line2D([], [], linestyle="", markersize=6, label=name, **mark) for name, mark in legend.items()]
        figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=3, fontsize=9)


def _heading(title: str, conditions: str, inches: float) -> tuple[str, list[str]]:
    return "\n".join(textwrap.wrap(title, int(9 * inches))), textwrap.wrap(conditions, int(14 * inches))


def _conditions(reproduced: ReproducedTable) -> str:
    ours = rules(reproduced)
    return f"ours: other data, {ours}; bars: 95% intervals" if ours else "ours: not measured"


def _names(series: Sequence[_Series]) -> Mapping[str, dict[str, Any]]:
    """Each name of the legend and its mark, once."""
    return {each.name: each.mark for each in series}


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan
