"""``citewell reproduce``: prints the tables of a published study next to our measurements of the same methods."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import click

from citewell.cli.options import json_option, print_json
from citewell.evaluate import studies

_SETS = ("data", "sets", "../shared/data")


@click.command("reproduce")
@click.argument("study", type=click.Choice(studies.names()))
@click.argument("sets", metavar="[SET]...", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--sample", type=click.IntRange(1), default=500, show_default=True, metavar="N", help="Queries for each set and task."
)
@click.option("--all", "everything", is_flag=True, help="Run all queries.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the sample.")
@click.option("--yes", "-y", is_flag=True, help="Train what is missing without asking.")
@click.option(
    "--hours", type=click.FloatRange(0), metavar="N", help="Train no model that takes more than N hours (default: no limit)."
)
@click.option("--no-training", is_flag=True, help="Measure only what can run without training.")
@click.option(
    "--quick",
    is_flag=True,
    help="Minutes on a CPU: at most 20 queries, shallow re-ranking, short trainings. Shows that everything runs, nothing more.",
)
@click.option(
    "--runs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Rankings made elsewhere (DIR/SET/SPLIT/PIPELINE.run, or PIPELINE.inserted.run) instead of running these pipelines.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write report.md, plots and results.json."
)
@json_option
def command(
    study: str,
    sets: tuple[Path, ...],
    sample: int,
    everything: bool,
    seed: int,
    yes: bool,
    hours: float | None,
    no_training: bool,
    quick: bool,
    runs: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the published tables of a study next to our measurements of the same methods.

    Our figures are measured on the given SETs, or on those in $CITEWELL_SETS, ./data, ./sets or ../shared/data. These are not
    the data of the study. They are strict in time; where the study has another rule, ours by that rule are printed too.

    Models that are missing are listed first, with an estimate of the time that their training takes; they are trained only if
    you agree. Weights are written to the first folder of $CITEWELL_MODELS, else to your data folder. Trainings and
    measurements are kept: run the same command again to resume. Needs: pip install 'citewell[evaluate]', and
    'citewell[train,dense]' to train.

    \b
        citewell reproduce hybridcite2020 data/cs data/elife --out report
        citewell reproduce medic2023 data/cs --quick
    """
    from contextlib import ExitStack

    from citewell.cli.progress import TerminalProgress
    from citewell.cli.study_training import offer_training
    from citewell.evaluate import quick as quick_runs
    from citewell.evaluate.reproduce import Plan, reproduce
    from citewell.evaluate.study_analyses import reproduce_analyses
    from citewell.evaluate.study_files import write_study
    from citewell.evaluate.study_report import as_json as described
    from citewell.evaluate.study_report import print_study
    from citewell.models.weights import model_folders
    from citewell.train.study_models import train_library_model
    from citewell.train.training import can_train

    if yes and no_training:
        raise click.UsageError("--yes and --no-training contradict each other; leave one out")
    content = studies.load(study)
    folders = sets or tuple(available_sets())
    size = None if everything else sample
    with ExitStack() as stack:
        models = model_folders()[0]
        if quick:
            models = stack.enter_context(quick_runs.quick_cache(folders))
            size = min(sample, quick_runs.SAMPLE)
        consent = "no" if no_training else "yes" if yes else "ask"
        training = offer_training(content, folders, size, seed, models, quick, consent, math.inf if hours is None else hours)
        with TerminalProgress() as progress:
            train = train_library_model(quick, training.models) if training.agreed else None
            plan = Plan(folders, size, seed, quick, train, can_train, progress, runs)
            tables = reproduce(content, plan)
            analyses = reproduce_analyses(content, plan)
        written = write_study(study, content, tables, analyses, plan, out, training.left_out) if out else []
        if as_json:
            print_json({**described(study, content, tables, analyses, plan), "left_out": training.left_out})
        else:
            from rich.console import Console

            print_study(
                content, tables, analyses, Console(width=None if sys.stdout.isatty() else 220), quick, training.left_out
            )
        if written:
            click.echo(f"{written[0]}, and {len(written) - 1} other files", err=True)


def available_sets() -> list[Path]:
    """The data sets in the first of the usual folders that has any."""
    for folder in (os.environ.get("CITEWELL_SETS"), *_SETS):
        if folder and (sets := sorted(path.parent for path in Path(folder).glob("*/set.toml"))):
            return sets
    return []
