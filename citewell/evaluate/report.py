"""The report of an evaluation: one JSON object for programs, tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate import significance
from citewell.evaluate.outcomes import Experiment, Outcome
from citewell.evaluate.slices import DEPTH, Slices

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 200
"""The width of a printed report in characters."""
SHOWN = {
    "global": ("R@10", "R@20", "R@1000", "F1@20", "RR", "AP", "nDCG@10", "Success@10"),
    "local": ("R@5", "R@10", "R@100", "R@1000", "RR", "AP", "nDCG@10", "Success@10"),
    "paragraph": ("R@5", "R@10", "R@1000", "RR", "AP", "nDCG@10", "Rprec", "Success@10"),
    "evidence": ("R@10", "RR", "AP", "nDCG@10", "Success@1", "sentences:AP", "sentences:R@3", "oracle:AP", "oracle:R@3"),
}
"""The measures that the table of a task shows."""


@dataclass(repr=False)
class Report:
    """The results of an experiment, their comparison with a baseline, and the rules.

    It prints as tables, shows as HTML in a notebook, and becomes a data frame with `to_frame`.
    """

    set: str
    task: str
    split: str
    experiment: Experiment
    comparisons: list[significance.Comparison]
    baseline: str
    lenient: bool = False
    found_by: str = ""
    context_characters: int = 0
    with_bibliography: bool = False
    distractors: bool = False
    abstracts_only: bool = False
    sample: int | None = None
    seed: int = 0
    timed: bool = True
    """Whether the queries have dates, so that the time rules apply."""
    shown: tuple[str, ...] = ()
    """The measures that the table shows, if not those of the task."""
    by_citations: Slices | None = None
    """Recall by how often the relevant paper was cited before, if requested."""

    @classmethod
    def of(cls, name: str, task: str, split: str, experiment: Experiment, baseline: str, **rules: Any) -> Report:
        """Compare every system with `baseline`."""
        by_name = {outcome.name: outcome for outcome in experiment.outcomes}
        others = {name: outcome.values for name, outcome in by_name.items() if name != baseline}
        report = cls(name, task, split, experiment, [], baseline, **rules)
        report.comparisons = significance.compare(by_name[baseline].values, others, report.measures(), report.seed)
        return report

    def measures(self) -> tuple[str, ...]:
        """The measures that are shown, tested and have intervals."""
        return tuple(dict.fromkeys(self.shown)) or SHOWN[self.task]

    def as_json(self) -> dict[str, Any]:
        """The object that ``citewell evaluate --json`` prints."""
        outcomes = self.experiment.outcomes
        return {
            "set": self.set,
            "task": self.task,
            "split": self.split,
            "queries": len(self.experiment.queries),
            "strict": True,
            "lenient": self.lenient,
            "found_by": self.found_by,
            "context_characters": self.context_characters,
            "with_bibliography": self.with_bibliography,
            "distractors": self.distractors,
            "abstracts_only": self.abstracts_only,
            "sample": self.sample,
            "seed": self.seed,
            "pipelines": {outcome.name: _figures(outcome) for outcome in outcomes},
            "intervals": {
                outcome.name: significance.intervals(outcome.values, self._present(outcome), self.seed) for outcome in outcomes
            },
            "baseline": self.baseline,
            "comparisons": self.comparisons,
            "injected": {outcome.name: outcome.injected for outcome in outcomes},
            "removed": {outcome.name: outcome.removed for outcome in outcomes if outcome.seconds is None},
            "missing": {outcome.name: outcome.missing for outcome in outcomes if outcome.missing},
            **({"by_citations": self._by_citations(self.by_citations)} if self.by_citations else {}),
            "skipped": self.experiment.skipped,
            "seconds": self.experiment.seconds,
        }

    def heading(self) -> str:
        """The rules in one line."""
        count = len(self.experiment.queries)
        parts = [f"{self.set} · {self.task} · {self.split} · {'1 query' if count == 1 else f'{count:,} queries'}"]
        parts.append(f"sampled with seed {self.seed}" if self.sample else "all queries")
        parts.append("strict in time" if self.timed else "without dates")
        if self.lenient:
            parts.append("LENIENT: relevant papers that retrieval missed are put among the candidates before re-ranking")
        if self.found_by:
            parts.append(f"ONLY QUERIES whose relevant paper {self.found_by} retrieves: {self.experiment.skipped:,} left out")
        if self.context_characters:
            parts.append(f"CONTEXTS of at most {self.context_characters:,} characters on either side")
        if self.with_bibliography:
            parts.append("WITH BIBLIOGRAPHY: queries know the other references of the citing paper")
        if self.distractors:
            parts.append("with distractors")
        if self.abstracts_only:
            parts.append("without papers that have only a title")
        return " · ".join(parts)

    def _by_citations(self, slices: Slices) -> dict[str, Any]:
        recalls = {each.name: slices.recall(each.name).tolist() for each in self.experiment.outcomes}
        return {
            "depth": DEPTH,
            "cited_before": slices.bins.labels,
            "pairs": slices.pairs.tolist(),
            "recall": {name: [None if np.isnan(share) else share for share in row] for name, row in recalls.items()},
        }

    def _present(self, outcome: Outcome) -> list[str]:
        return [name for name in self.measures() if name in outcome.values]

    def __str__(self) -> str:
        """The tables as text."""
        from rich.console import Console

        console = Console(file=StringIO(), width=_WIDTH, color_system=None)
        with console.capture() as capture:
            print_report(self, console)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        names, rows = self.table()
        head = "".join(f"<th>{escape(name)}</th>" for name in ("system", *names, "CPU ms/query"))
        body = []
        for system, cells, milliseconds in rows:
            columns = [f"<td>{escape(system)}</td>"]
            for cell in cells:
                text = "–" if cell is None else f"{f'<b>{cell}</b>' if cell.best else cell} <small>±{cell.half()}</small>"
                columns.append(f"<td>{text}</td>")
            body.append(f"<tr>{''.join(columns)}<td>{milliseconds}</td></tr>")
        remarks = "".join(f"<p>{escape(line)}</p>" for line in _remarks(self))
        return (
            f"<p><b>{escape(self.heading())}</b></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>{remarks}"
        )

    def to_frame(self) -> Any:
        """All measures as a pandas data frame, a row for each system."""
        try:
            import pandas
        except ImportError:
            raise CitewellError("to_frame() needs pandas; install it with: pip install pandas") from None
        outcomes = self.experiment.outcomes
        frame = pandas.DataFrame([_figures(outcome) for outcome in outcomes], index=[outcome.name for outcome in outcomes])
        return frame.rename_axis("system")

    def table(self) -> tuple[list[str], list[tuple[str, list[Cell | None], str]]]:
        """The measures that are shown, and for each system its name, its cells and its CPU milliseconds per query."""
        outcomes = self.experiment.outcomes
        names = [name for name in self.measures() if any(name in outcome.values for outcome in outcomes)]
        means = {each.name: {name: each.mean(name) for name in names if name in each.values} for each in outcomes}
        best = {name: max(means[each].get(name, -1.0) for each in means) for name in names}
        marks = {(each.system, each.measure) for each in self.comparisons if each.significant}
        rows: list[tuple[str, list[Cell | None], str]] = []
        for outcome in outcomes:
            spread = significance.intervals(outcome.values, list(means[outcome.name]), self.seed)
            cells: list[Cell | None] = []
            for name in names:
                value = means[outcome.name].get(name)
                if value is None or np.isnan(value):
                    cells.append(None)
                else:
                    cells.append(Cell(value, *spread[name], value == best[name], (outcome.name, name) in marks))
            seconds = outcome.seconds_per_query()
            rows.append((outcome.name, cells, "external run" if seconds is None else f"{1000 * seconds:.1f}"))
        return names, rows


class Cell(NamedTuple):
    """The mean of one measure of one system in a table."""

    value: float
    low: float
    high: float
    """The 95% interval of the mean."""
    best: bool
    significant: bool
    """Whether it differs from the baseline."""

    def __str__(self) -> str:
        return f"{self.value:.4f}{'*' if self.significant else ' '}"

    def half(self) -> str:
        """Half of the width of the interval."""
        return f"{(self.high - self.low) / 2:.3f}".lstrip("0")


def print_report(report: Report, console: Console) -> None:
    """Print the systems next to each other with the best in bold, then the comparison of each with the baseline."""
    from rich.table import Table

    names, rows = report.table()
    console.print(report.heading(), style="bold", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("system")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("CPU ms/query", justify="right")
    for system, cells, milliseconds in rows:
        columns = [system]
        for cell in cells:
            if cell is None:
                columns.append("–")
            else:
                columns.append(f"{f'[bold]{cell}[/bold]' if cell.best else cell}\n[dim]±{cell.half()} [/dim]")
        table.add_row(*columns, milliseconds)
    console.print(table)
    for line in _remarks(report):
        console.print(line, style="dim", highlight=False)
    if report.by_citations:
        console.print()
        _print_by_citations(report, report.by_citations, console)
    if report.comparisons:
        console.print()
        _print_comparisons(report, console, names)


def _print_by_citations(report: Report, slices: Slices, console: Console) -> None:
    from rich.table import Table

    console.print(f"recall at {DEPTH} by how often the relevant paper was cited before", style="bold", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("system")
    for label, pairs in zip(slices.bins.labels, slices.pairs.tolist(), strict=True):
        table.add_column(f"{label}\n[dim]n = {pairs:,}[/dim]", justify="right", no_wrap=True)
    for outcome in report.experiment.outcomes:
        recall = slices.recall(outcome.name).tolist()
        table.add_row(outcome.name, *("–" if np.isnan(share) else f"{share:.4f}" for share in recall))
    console.print(table)


def _print_comparisons(report: Report, console: Console, names: Sequence[str]) -> None:
    from rich.table import Table

    console.print(
        f"differences from {report.baseline}; p-values are Holm-corrected over all rows", style="bold", highlight=False
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("system", "measure", "difference", "95% interval", "p randomisation", "p t-test", "p z-test"):
        table.add_column(heading, justify="left" if heading in ("system", "measure") else "right", no_wrap=True)
    for each in report.comparisons:
        if each.measure in names:
            table.add_row(
                each.system,
                each.measure,
                f"{each.difference:+.4f}",
                f"{each.low:+.4f} … {each.high:+.4f}",
                _p(each.p_randomisation),
                _p(each.p_t),
                "" if each.p_z is None else _p(each.p_z),
            )
    console.print(table)


def _remarks(report: Report) -> list[str]:
    lines = ["±: half of the 95% interval (bootstrap over queries)"]
    if report.comparisons:
        lines.append(f"bold: best · *: differs from {report.baseline} (paired randomisation test, Holm-corrected, p < .05)")
    if report.experiment.skipped and not report.found_by:
        lines.append(f"{report.experiment.skipped:,} queries skipped: too few of their relevant papers are in the library")
    for outcome in report.experiment.outcomes:
        if outcome.missing:
            lines.append(f"{outcome.name}: {outcome.missing:,} queries missing; they count as 0")
        if outcome.injected:
            lines.append(f"{outcome.name}: {outcome.injected:,} relevant papers that it missed were put among its candidates")
        if outcome.removed:
            lines.append(f"{outcome.name}: {outcome.removed:,} papers removed: not in the library, or hidden from the query")
    return lines


def _figures(outcome: Outcome) -> dict[str, float | None]:
    figures: dict[str, float | None] = {name: outcome.mean(name) for name in outcome.values}
    return {**figures, "seconds_per_query": outcome.seconds_per_query()}


def _p(value: float) -> str:
    return "< .0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"
