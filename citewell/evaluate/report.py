"""What an evaluation found: as one JSON object for programs, and as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.evaluate import significance
from citewell.evaluate.experiment import Experiment, Outcome
from citewell.evaluate.slices import DEPTH, Cut

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = {
    "global": ("R@10", "R@20", "R@1000", "F1@20", "RR", "AP", "nDCG@10", "Success@10"),
    "local": ("R@5", "R@10", "R@100", "R@1000", "RR", "AP", "nDCG@10", "Success@10"),
    "paragraph": ("R@5", "R@10", "R@1000", "RR", "AP", "nDCG@10", "Rprec", "Success@10"),
    "evidence": ("R@10", "RR", "AP", "nDCG@10", "Success@1", "snippets:AP", "snippets:R@3", "given:AP", "given:R@3"),
}
"""The measures that the table of a task shows."""


@dataclass
class Report:
    """An experiment with its comparison against a baseline, and under which rules it was made."""

    set: str
    task: str
    split: str
    experiment: Experiment
    comparisons: list[significance.Comparison]
    baseline: str
    lenient: bool = False
    with_bibliography: bool = False
    distractors: bool = False
    sample: int | None = None
    seed: int = 0
    timed: bool = True
    """Whether the questions have dates, so that there is something to be strict in."""
    shown: tuple[str, ...] = ()
    """The measures that the table shows, where they are not the task's own."""
    fame: Cut | None = None
    """What was found by how often it was cited before, where that was asked for."""

    @classmethod
    def of(cls, name: str, task: str, split: str, experiment: Experiment, baseline: str, **rules: Any) -> Report:
        """Compare every system with `baseline`."""
        by_name = {outcome.name: outcome for outcome in experiment.outcomes}
        others = {name: outcome.values for name, outcome in by_name.items() if name != baseline}
        made = cls(name, task, split, experiment, [], baseline, **rules)
        made.comparisons = significance.compare(by_name[baseline].values, others, made.measures(), made.seed)
        return made

    def measures(self) -> tuple[str, ...]:
        """What is shown, tested and given intervals."""
        return tuple(dict.fromkeys(self.shown)) or SHOWN[self.task]

    def as_json(self) -> dict[str, Any]:
        """The contract's object, and more beside it."""
        return {
            "set": self.set,
            "task": self.task,
            "split": self.split,
            "queries": len(self.experiment.questions),
            "strict": True,
            "lenient": self.lenient,
            "with_bibliography": self.with_bibliography,
            "distractors": self.distractors,
            "sample": self.sample,
            "seed": self.seed,
            "pipelines": {outcome.name: _figures(outcome) for outcome in self.experiment.outcomes},
            "intervals": {
                outcome.name: significance.intervals(outcome.values, self._present(outcome), self.seed)
                for outcome in self.experiment.outcomes
            },
            "baseline": self.baseline,
            "comparisons": self.comparisons,
            "injected": {outcome.name: outcome.injected for outcome in self.experiment.outcomes},
            "refused": {outcome.name: outcome.refused for outcome in self.experiment.outcomes if outcome.seconds is None},
            "unanswered": {outcome.name: outcome.unanswered for outcome in self.experiment.outcomes if outcome.unanswered},
            **({"by_citations": self._by_citations(self.fame)} if self.fame else {}),
            "dropped": self.experiment.dropped,
            "seconds": self.experiment.seconds,
        }

    def heading(self) -> str:
        """The rules in one line."""
        count = len(self.experiment.questions)
        parts = [f"{self.set} · {self.task} · {self.split} · {'1 query' if count == 1 else f'{count:,} queries'}"]
        parts.append(f"sampled with seed {self.seed}" if self.sample else "all of them")
        parts.append("strict in time" if self.timed else "without dates")
        if self.lenient:
            parts.append("LENIENT: wanted papers that retrieval missed stand in the last place")
        if self.with_bibliography:
            parts.append("WITH BIBLIOGRAPHY: the other references of the citing paper are known")
        if self.distractors:
            parts.append("with distractors")
        return " · ".join(parts)

    def _by_citations(self, fame: Cut) -> dict[str, Any]:
        shares = {each.name: fame.share(each.name).tolist() for each in self.experiment.outcomes}
        return {
            "depth": DEPTH,
            "cited before": fame.bins.labels,
            "wanted": fame.pairs.tolist(),
            "found": {name: [None if np.isnan(share) else share for share in row] for name, row in shares.items()},
        }

    def _present(self, outcome: Outcome) -> list[str]:
        return [name for name in self.measures() if name in outcome.values]

    def print(self) -> None:
        """The tables, to the terminal."""
        from rich.console import Console

        print_report(self, Console())


def print_report(report: Report, console: Console) -> None:
    """The systems side by side, the best bold; then each against the baseline."""
    from rich.table import Table

    outcomes = report.experiment.outcomes
    names = [name for name in report.measures() if any(name in outcome.values for outcome in outcomes)]
    console.print(report.heading(), style="bold", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("system")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("CPU ms/query", justify="right")
    means = {outcome.name: {name: outcome.mean(name) for name in names if name in outcome.values} for outcome in outcomes}
    best = {name: max(means[each].get(name, -1.0) for each in means) for name in names}
    spread = {each.name: significance.intervals(each.values, list(means[each.name]), report.seed) for each in outcomes}
    marks = {(each.system, each.measure) for each in report.comparisons if each.significant}
    for outcome in outcomes:
        row = [outcome.name]
        for name in names:
            value = means[outcome.name].get(name)
            if value is None or np.isnan(value):
                row.append("–")
                continue
            text = f"{value:.4f}{'*' if (outcome.name, name) in marks else ' '}"
            low, high = spread[outcome.name][name]
            row.append(f"{f'[bold]{text}[/bold]' if value == best[name] else text}\n[dim]±{_short((high - low) / 2)} [/dim]")
        seconds = outcome.seconds_per_query()
        table.add_row(*row, "made elsewhere" if seconds is None else f"{1000 * seconds:.1f}")
    console.print(table)
    for line in _remarks(report):
        console.print(line, style="dim", highlight=False)
    if report.fame:
        console.print()
        _print_fame(report, report.fame, console)
    if report.comparisons:
        console.print()
        _print_comparisons(report, console, names)


def _print_fame(report: Report, fame: Cut, console: Console) -> None:
    from rich.table import Table

    console.print(
        f"found among the first {DEPTH}, by how often the wanted paper was cited before", style="bold", highlight=False
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("system")
    for label, pairs in zip(fame.bins.labels, fame.pairs.tolist(), strict=True):
        table.add_column(f"{label}\n[dim]n = {pairs:,}[/dim]", justify="right", no_wrap=True)
    for outcome in report.experiment.outcomes:
        table.add_row(
            outcome.name, *("–" if np.isnan(share) else f"{share:.4f}" for share in fame.share(outcome.name).tolist())
        )
    console.print(table)


def _print_comparisons(report: Report, console: Console, names: Sequence[str]) -> None:
    from rich.table import Table

    console.print(f"against {report.baseline}; p-values are Holm-corrected over all rows", style="bold", highlight=False)
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
        lines.append(f"bold: the best · *: differs from {report.baseline} (paired randomisation, Holm-corrected, p < .05)")
    if report.experiment.dropped:
        lines.append(f"{report.experiment.dropped:,} questions were not asked: too few of their answers are in the library")
    for outcome in report.experiment.outcomes:
        if outcome.unanswered:
            lines.append(f"{outcome.name}: {outcome.unanswered:,} questions without an answer")
        if outcome.injected:
            lines.append(f"{outcome.name}: {outcome.injected:,} wanted papers that it had missed were put into the last places")
        if outcome.refused:
            lines.append(f"{outcome.name}: {outcome.refused:,} papers taken out: unknown, or hidden from the query")
    return lines


def _figures(outcome: Outcome) -> dict[str, float | None]:
    figures: dict[str, float | None] = {name: outcome.mean(name) for name in outcome.values}
    return {**figures, "seconds_per_query": outcome.seconds_per_query()}


def _short(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


def _p(value: float) -> str:
    return "< .0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"
