"""``citewell evaluate``: measures pipelines on a data set and compares them."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from citewell import extras
from citewell.cli.options import json_option, print_json
from citewell.pipeline.registry import DEFAULT

TASKS = ("global", "local", "paragraph", "evidence")


@click.command("evaluate")
@click.argument("folder", metavar="SET", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--task", type=click.Choice(TASKS), required=True, help="The task of the queries.")
@click.option("--pipeline", "names", multiple=True, help=f"A pipeline to measure (repeatable); default: {DEFAULT}.")
@click.option(
    "--split", type=click.Choice(["dev", "test"]), default="test", show_default=True, help="The years of the citing papers."
)
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Run a random sample of N queries; default: all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the sample and the tests.")
@click.option("--distractors", is_flag=True, help="Add the set's distractors: papers that nobody cites.")
@click.option("--abstracts-only", is_flag=True, help="Leave out papers that have only a title, as the BioASQ studies do.")
@click.option(
    "--lenient", is_flag=True, help="Put relevant papers that retrieval missed among the candidates that are re-ranked."
)
@click.option("--found-by", metavar="NAME", default="", help="Only the queries whose relevant paper this pipeline retrieves.")
@click.option(
    "--context-characters",
    type=click.IntRange(1),
    metavar="N",
    help="Cut the contexts of the local task to N characters on either side of the citation.",
)
@click.option("--with-bibliography", is_flag=True, help="Give queries the other references of the citing paper.")
@click.option("--kind", default="", help="Only queries of an evidence set that were judged by this kind, such as manual-train.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also score this TREC run of another system (repeatable).",
)
@click.option("--baseline", help="The system to compare the others with; default: the first.")
@click.option("--measure", "measures", multiple=True, help="Show this measure (repeatable), such as R@50 or nDCG@20.")
@click.option("--by-citations", is_flag=True, help="Also show recall by how often the relevant paper was cited before.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write queries, qrels, runs, values per query and the report to this folder.",
)
@click.option(
    "--plots", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Draw plots (PNG, SVG) in this folder."
)
@json_option
def command(
    folder: Path,
    task: str,
    names: tuple[str, ...],
    split: str,
    sample: int | None,
    seed: int,
    distractors: bool,
    abstracts_only: bool,
    lenient: bool,
    found_by: str,
    context_characters: int | None,
    with_bibliography: bool,
    kind: str,
    runs: tuple[Path, ...],
    baseline: str | None,
    measures: tuple[str, ...],
    by_citations: bool,
    out: Path | None,
    plots: Path | None,
    as_json: bool,
) -> None:
    """Measure pipelines on a data set.

    A query sees only papers up to its own date, and citations and contexts of papers up to the last year that its split may
    use. It never sees its own record, references or contexts. The library of the set is built once and cached (in
    $CITEWELL_CACHE). Needs: pip install 'citewell[evaluate]'

    \b
        citewell evaluate data/cs --task local --pipeline bm25 --pipeline best
        citewell evaluate data/cs --task global --sample 500 --plots plots --out runs
        citewell evaluate data/cs --task local --pipeline bm25 --run other-system.txt
    """
    extras.require("ir_measures", *(["matplotlib"] if plots else []))
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.evaluation import Evaluation
    from citewell.evaluate.files import Files, write_report
    from citewell.evaluate.report import print_report
    from citewell.train.training import train_missing

    with ExitStack() as stack:
        progress = stack.enter_context(TerminalProgress())
        files = stack.enter_context(Files(out)) if out else None
        evaluation = Evaluation(
            folder,
            task,
            split,
            sample,
            seed,
            distractors,
            lenient,
            found_by,
            with_bibliography,
            kind,
            measures,
            progress,
            train_missing,
            context_characters or 0,
            abstracts_only,
        )
        systems = list(dict.fromkeys(names)) or ([] if runs else [DEFAULT])
        report = evaluation.report(systems, runs, baseline, files, by_citations)
    for file, count in evaluation.dataset.problems.items():
        print(f"citewell: {count:,} lines of {file} could not be read and were skipped", file=sys.stderr)
    if out:
        write_report(out, report, evaluation.timeline.names)
    if plots:
        from citewell.evaluate.plots import draw_report

        draw_report(report, evaluation, plots)
    if as_json:
        print_json(report.as_json())
    else:
        from rich.console import Console

        print_report(report, Console(width=None if sys.stdout.isatty() else 200))
