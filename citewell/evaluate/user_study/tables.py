"""The report of a study as tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from citewell.evaluate.user_study.report import Combined, Judge, StudyReport

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_report(report: StudyReport, console: Console) -> None:
    """Print the measures, the differences, the judges and their agreement, with the rules below each table."""
    settings = report.study.settings
    contexts = len(report.study.contexts)
    console.print(
        f"{escape(settings.name)} · {settings.task} · {report.judged:,} of {contexts:,} contexts judged"
        f" ({report.judged_by_all:,} by all) · {len(report.judges)} judge{'s' if len(report.judges) != 1 else ''}"
        f" · {settings.k} papers of each system",
        style="bold",
        highlight=False,
    )
    _print_measures("mean over the judges of each context", report, report.mean, console)
    if len(report.judges) > 1:
        _print_measures("by majority of the judges of each context", report, report.majority, console)
    for line in _rules(report):
        console.print(line, style="dim", highlight=False)
    if report.comparisons:
        _print_comparisons(report, console)
    _print_judges(report, console)
    if len(report.judges) > 1:
        _print_agreement(report, console)


def _rules(report: StudyReport) -> list[str]:
    other = "irrelevant" if report.unclear == "relevant" else "relevant"
    return [
        "±: half of the 95% interval (bootstrap over contexts)",
        "MAP: over the relevant papers in the list, as in HybridCite · coverage: contexts with a relevant suggestion",
        f"recall: relevant papers as a share of those of {' + '.join(report.components)}, added up as in HybridCite"
        " · pooled recall: of the different relevant papers of all systems",
        f"'unclear' counts as {report.unclear}; --unclear {other} counts it the other way",
        "A context counts for the judges who marked all its papers; one without a relevant paper counts 0."
        " By majority a paper is relevant if more than half of them say so.",
    ]


def _print_measures(title: str, report: StudyReport, combined: Combined, console: Console) -> None:
    console.print(f"\n{title}", style="bold", highlight=False)
    table = _table("system", *report.measures)
    best = {name: max(means[name] for means in combined.means.values()) for name in report.measures}
    for system, means in combined.means.items():
        cells = []
        for name in report.measures:
            low, high = combined.intervals[system][name]
            value = f"{means[name]:.3f}"
            half = f"{(high - low) / 2:.3f}".lstrip("0")
            cells.append(f"{f'[bold]{value}[/bold]' if means[name] == best[name] else value} [dim]±{half}[/dim]")
        table.add_row(system, *cells)
    console.print(table)


def _print_comparisons(report: StudyReport, console: Console) -> None:
    console.print("\ndifferences between systems (mean over judges); p-values are Holm-corrected over all rows", style="bold")
    table = _table("systems", "measure", "difference", "95% interval", "p randomisation", "p t-test", left=2)
    for each in report.comparisons:
        table.add_row(
            each.system,
            each.measure,
            f"{each.difference:+.3f}{'*' if each.significant else ' '}",
            f"{each.low:+.3f} … {each.high:+.3f}",
            _p(each.p_randomisation),
            _p(each.p_t),
        )
    console.print(table)
    console.print("*: p < .05 by the paired randomisation test over contexts", style="dim", highlight=False)


def _print_judges(report: StudyReport, console: Console) -> None:
    console.print("\njudges", style="bold")
    main = report.measures[0]
    systems = report.study.settings.systems
    table = _table(
        "judge",
        *("done", "begun", "skipped", "insufficient", "open"),
        *("relevant", "not relevant", "unclear"),
        *(f"{main} {system}" for system in systems),
    )
    for judge in report.judges:
        counts = [f"{count:,}" for count in (*judge.contexts.values(), *judge.marks.values())]
        table.add_row(escape(judge.name), *counts, *(_mean(judge, system, main) for system in systems))
    console.print(table)
    console.print("contexts by status, then marked papers by mark", style="dim", highlight=False)


def _mean(judge: Judge, system: str, measure: str) -> str:
    return f"{judge.means[system][measure]:.3f}" if judge.means else "–"


def _print_agreement(report: StudyReport, console: Console) -> None:
    console.print("\nagreement on the papers that judges marked", style="bold")
    table = _table("judges", "papers", "three marks: agree", "kappa", "relevant or not: agree", "kappa")
    marks, relevance = report.agreement["marks"], report.agreement["relevance"]
    for one, other in zip(marks.kappas, relevance.kappas, strict=True):
        cells = [_figure(value) for value in (one.observed, one.kappa, other.observed, other.kappa)]
        table.add_row(escape(" and ".join(one.judges)), f"{one.items:,}", *cells)
    alphas = (marks.alpha.alpha, relevance.alpha.alpha)
    table.add_row("all (Krippendorff's alpha)", f"{marks.alpha.items:,}", "", _figure(alphas[0]), "", _figure(alphas[1]))
    console.print(table)
    console.print(
        "kappa: Cohen's, of the papers that both marked · alpha: nominal, of those that two or more marked · –: undefined",
        style="dim",
        highlight=False,
    )


def _table(*headings: str, left: int = 1) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="left" if at < left else "right", no_wrap=at < left)
    return table


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _p(value: float) -> str:
    return "< .0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"
