"""Plots of an evaluation, each as PNG and as SVG.

The numbers come from `slices` and `significance`; this module only draws them. A system has the same colour, marker and
line in every plot of a report. Figures are made without pyplot, and the same report gives the same bytes of SVG.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate import significance
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.measures import Values
from citewell.evaluate.outcomes import Outcome
from citewell.evaluate.report import Report
from citewell.evaluate.slices import (
    CITATIONS,
    DEPTH,
    OVERLAP,
    RANKS,
    TICKS,
    YEAR_GAP,
    Pairs,
    Slices,
    pairs_of,
    recall_curve,
    slice_pairs,
)
from citewell.types import Float64Array

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
except ModuleNotFoundError as error:
    raise CitewellError(extras.advice(error) or str(error)) from None

DPI = 150
SIZE = (9.0, 5.0)
"""Width and height of a plot in inches; it is higher if the legend needs it."""

OUTLINE = "#d55e00"
"""Colour of the frame around the best cell of a heat map."""

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
"""The colour-blind safe palette of Okabe and Ito, without yellow, which is hard to see on white."""
_MARKERS = "os^DvPX"
_LINES = ("-", "--", ":")
_GREY = "#666666"
_LOOK: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.1,
    "font.size": 10,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: the file is a third of the size and can be searched
    "svg.hashsalt": "citewell",
    "text.parse_math": False,  # a run may be called a$b$
    "xtick.color": "#333333",
    "xtick.major.size": 0,
    "ytick.color": "#333333",
    "ytick.major.size": 0,
}

_FORMS = {"bm25-title": "title", "bm25-key-terms": "key terms", "bm25": ""}
_WHOLE = {"global": "title + abstract", "local": "context + title", "paragraph": "topic sentence, title + abstract"}
"""The full text of a query in each task (`Query.text`); an evidence query has no other form."""
_FORM_MEASURES = ("R@10", "R@100", "R@1000", "F1@20")


def draw_report(report: Report, evaluation: Evaluation, folder: Path) -> list[Path]:
    """Draw all plots of a report; returns the files."""
    made = _recall(report, folder / "recall-at-k")
    until = evaluation.timeline.split.links_until
    if report.task != "evidence" and until is not None:
        made += _slices(report, pairs_of(report.experiment, evaluation.timeline), until, folder)
    forms = [outcome for name in _FORMS for outcome in report.experiment.outcomes if outcome.name == name]
    if len(forms) > 1 and report.task in _WHOLE:
        made += _query_forms(report, forms, folder / "query-forms")
    return made


def heat_map(
    values: Float64Array,
    x_name: str,
    x_values: Sequence[object],
    y_name: str,
    y_values: Sequence[object],
    title: str,
    measure: str,
    path_without_suffix: Path,
) -> list[Path]:
    """Draw a grid of two parameters, one row for each value of y."""
    best = best_cell(values)
    caption = measure
    if best:
        at = f"{x_name} = {x_values[best[1]]}, {y_name} = {y_values[best[0]]}"
        caption += f" · outlined: best, {values[best]:.4f} at {at}"
    size = max(5.5, 1.8 + 0.75 * len(x_values)), 1.8 + 0.45 * len(y_values)
    with _drawing(path_without_suffix, title, caption, size) as (_, axes):
        if best:
            corner = best[1] - 0.5, best[0] - 0.5
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=OUTLINE, linewidth=3, zorder=3, clip_on=False))
        colours = matplotlib.colormaps["Blues"].with_extremes(bad="#f2f2f2")
        shade = Normalize(*_spread(values))
        axes.imshow(np.ma.masked_invalid(values), cmap=colours, norm=shade, aspect="auto", origin="lower")
        for (row, column), value in np.ndenumerate(values):
            dark = (
                np.isfinite(value) and _luminance(colours(shade(value))) < 0.18
            )  # below this, white has more contrast than black
            text = f"{value:.4f}" if np.isfinite(value) else "–"
            axes.text(column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=9)
        axes.set_xticks(range(len(x_values)), [str(value) for value in x_values])
        axes.set_yticks(range(len(y_values)), [str(value) for value in y_values])
        axes.set(xlabel=x_name, ylabel=y_name)
        axes.grid(False)
        axes.spines[:].set_visible(False)
    return _files(path_without_suffix)


class Bar(NamedTuple):
    """A mean and its 95% interval."""

    value: float
    low: float
    high: float


def draw_bars(
    title: str,
    measure: str,
    groups: Sequence[str],
    panels: Mapping[str, Mapping[str, Sequence[Bar | None]]],
    path_without_suffix: Path,
) -> list[Path]:
    """Draw grouped bars: a panel for each set, and in each group a bar for each system; None leaves a gap."""
    with matplotlib.rc_context(_LOOK):
        figure = Figure((SIZE[0], 4.2), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (name, systems) in zip(every_axes, panels.items(), strict=True):
            width = 0.84 / len(systems)
            for place, (system, bars) in enumerate(systems.items()):
                x = np.arange(len(groups)) + (place - (len(systems) - 1) / 2) * width
                known = [(at, bar) for at, bar in zip(x.tolist(), bars, strict=True) if bar is not None]
                places, values = [at for at, _ in known], [bar.value for _, bar in known]
                axes.bar(places, values, 0.9 * width, label=_wrapped(system), color=_mark(place)["color"])
                axes.vlines(places, [bar.low for _, bar in known], [bar.high for _, bar in known], color="#222222", linewidth=1)
            axes.set_xticks(range(len(groups)), groups)
            axes.set_title(name, loc="left")
            axes.grid(False, axis="x")
        every_axes[0].set_ylabel(measure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        _legend(every_axes[-1])
        _note(figure, "vertical lines: 95% intervals (bootstrap over queries)")
        return _save(figure, path_without_suffix)


def best_cell(values: Float64Array) -> tuple[int, int] | None:
    """Row and column of the highest value; of equal ones the one that tuning tries first: the lowest x, then the lowest y."""
    if not np.isfinite(values).any():
        return None
    column, row = np.unravel_index(np.nanargmax(values.T), values.T.shape)
    return int(row), int(column)


def _recall(report: Report, path: Path) -> list[Path]:
    with _drawing(path, "Recall at k", report.heading(), _size(report)) as (_, axes):
        marked = np.flatnonzero(np.isin(RANKS, TICKS)).tolist()
        for place, outcome in enumerate(report.experiment.outcomes):
            curve = recall_curve(outcome.ranks)
            axes.plot(
                RANKS,
                curve,
                label=_wrapped(outcome.name),
                markevery=marked,
                markersize=4.5,
                linewidth=1.6,
                clip_on=False,
                **_mark(place),
            )
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
        axes.set_xticks([], minor=True)
        axes.set(xlabel="k", ylabel="recall: share of relevant papers at rank ≤ k", xlim=(0.95, 1050))
        axes.set_ylim(bottom=0)
        _legend(axes)
    return _files(path)


def _slices(report: Report, pairs: Pairs, links_until: int, folder: Path) -> list[Path]:
    drawn = (
        ("by-year-gap", "age of the relevant paper", "years between citing and cited paper", YEAR_GAP, pairs.year_gap),
        (
            "by-citation-count",
            "citations of the relevant paper",
            f"papers of the set, up to {links_until}, that cite the relevant paper",
            CITATIONS,
            pairs.citations,
        ),
        (
            "by-term-overlap",
            "terms shared with the relevant paper",
            "share of the query's distinct terms in the relevant paper's title and abstract",
            OVERLAP,
            pairs.overlap,
        ),
    )
    made: list[Path] = []
    for name, title, label, bins, values in drawn:
        part = slice_pairs(values, bins, pairs.ranks)
        made += _slice(report, part, pairs.skipped, f"Recall at {DEPTH} by {title}", label, folder / name)
    return made


def _slice(report: Report, part: Slices, skipped: int, title: str, label: str, path: Path) -> list[Path]:
    with _drawing(path, title, report.heading(), _size(report)) as (figure, axes):
        outcomes = report.experiment.outcomes
        step = min(0.09, 0.72 / len(outcomes))
        faint, highest = (0.55 if len(outcomes) <= 6 else 0.3), 0.0
        for place, outcome in enumerate(outcomes):
            share, (low, high) = part.recall(outcome.name), part.interval(outcome.name)
            x = np.arange(len(share)) + (place - (len(outcomes) - 1) / 2) * step
            mark = _mark(place)
            axes.vlines(x, low, high, color=mark["color"], linewidth=1.2, alpha=faint)
            axes.plot(x, share, label=_wrapped(outcome.name), markersize=4.5, linewidth=0.9, clip_on=False, **mark)
            highest = max(highest, float(np.nanmax(high, initial=0.0)))
        axes.set_xticks(
            range(len(part.pairs)),
            [f"{name}\nn = {size:,}" for name, size in zip(part.bins.labels, part.pairs.tolist(), strict=True)],
        )
        axes.set(xlabel=label, ylabel=f"share of pairs at rank ≤ {DEPTH}", xlim=(-0.5, len(part.pairs) - 0.5))
        axes.set_ylim(0, min(1.02, 1.05 * highest) or 1)
        axes.grid(False, axis="x")
        _legend(axes)
        note = "n: pairs of a query and a relevant paper · vertical lines: 95% intervals (Wilson)"
        if skipped:
            note += f"\n{skipped:,} queries left out: the library merged some of their relevant papers"
        _note(figure, note)
    return _files(path)


def _query_forms(report: Report, forms: Sequence[Outcome], path: Path) -> list[Path]:
    names = [name for name in _FORM_MEASURES if all(name in outcome.values for outcome in forms)]
    systems = [outcome.name for outcome in report.experiment.outcomes]
    width = 0.8 / len(forms)
    with _drawing(path, "Which part of the query is searched for", report.heading(), _size(report)) as (figure, axes):
        for place, outcome in enumerate(forms):
            spread = significance.intervals(outcome.values, names, report.seed)
            x = np.arange(len(names)) + (place - (len(forms) - 1) / 2) * width
            means = [outcome.mean(name) for name in names]
            label = f"{_FORMS[outcome.name] or _WHOLE[report.task]}\n({outcome.name})"
            axes.bar(x, means, 0.92 * width, label=label, color=_mark(systems.index(outcome.name))["color"])
            axes.vlines(x, *zip(*(spread[name] for name in names), strict=True), color="#222222", linewidth=1)
            for at, mean, name in zip(x, means, names, strict=True):
                axes.annotate(
                    f"{mean:.3f}",
                    (at, np.fmax(mean, spread[name][1])),
                    (0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8.5,
                )
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="mean over queries")
        axes.set_ylim(bottom=0)
        axes.grid(False, axis="x")
        _legend(axes)
        _note(figure, "vertical lines: 95% intervals (bootstrap over queries)")
    return _files(path)


@contextmanager
def _drawing(path: Path, title: str, rules: str, size: tuple[float, float]) -> Iterator[tuple[Figure, Axes]]:
    """A figure to draw on, with its title in bold and the rules in grey below; it is saved at the end."""
    with matplotlib.rc_context(_LOOK):
        figure = Figure(size, dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _head(axes, title, rules, size[0])
        yield figure, axes
        _save(figure, path)


def _save(figure: Figure, path: Path) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    png, svg = files = _files(path)
    figure.savefig(png)
    figure.savefig(svg, metadata={"Date": None})
    return files


def _files(path: Path) -> list[Path]:
    # Not with_suffix, which would treat the end of "b-0.75" as a suffix.
    return [path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg")]


def _size(report: Report) -> tuple[float, float]:
    """A size with enough space for the legend: each system takes a gap and the lines of its name."""
    lines = [_wrapped(outcome.name).count("\n") + 1 for outcome in report.experiment.outcomes]
    return SIZE[0], max(SIZE[1], 2 + 0.1 * len(lines) + 0.18 * sum(lines))


def _mark(place: int) -> dict[str, Any]:
    """The style of the system at this place: after seven the colours repeat, with other lines and hollow markers."""
    turn, colour = divmod(place, len(_COLOURS))
    return {
        "color": _COLOURS[colour],
        "linestyle": _LINES[turn % len(_LINES)],
        "marker": _MARKERS[colour],
        "markerfacecolor": "white" if turn else _COLOURS[colour],
    }


def _head(axes: Axes, title: str, rules: str, inches: float) -> None:
    """Write both at the left, in lines that fit the width."""
    lines = textwrap.wrap(rules, int(12 * inches))
    below = axes.annotate("\n".join(lines), (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points")
    below.set(va="bottom", color=_GREY, fontsize=9)
    below.set_in_layout(False)  # otherwise a long line squeezes the axes; the pad of the title makes space for it
    title = "\n".join(textwrap.wrap(title, int(7.5 * inches)))
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=12 + 12 * len(lines))


def _legend(axes: Axes) -> None:
    """Draw the legend to the right of the axes, where it covers nothing."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, handlelength=2.4, labelspacing=0.6)


def _wrapped(name: str) -> str:
    """A name in short lines: that of an external run can have any length."""
    return textwrap.fill(name, 30)


def _note(figure: Figure, text: str) -> None:
    figure.supxlabel(text, x=0.01, ha="left", fontsize=8.5, color=_GREY)


def _spread(values: Values) -> tuple[float, float]:
    """The lowest and the highest value; different even if all are equal."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return low, high if high > low else low + 1


def _luminance(colour: tuple[float, float, float, float]) -> float:
    """The brightness of a colour (relative luminance as WCAG defines it)."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
