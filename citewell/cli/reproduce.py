"""``citewell reproduce``: prints the tables of a published study next to our measurements of the same methods."""

from __future__ import annotations

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
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write the report there.")
@json_option
def command(
    study: str, sets: tuple[Path, ...], sample: int, everything: bool, seed: int, out: Path | None, as_json: bool
) -> None:
    """Print the published tables of a study next to our measurements of the same methods.

    Our figures are measured on the given SETs, or on those in $CITEWELL_SETS, ./data, ./sets or ../shared/data. These are not
    the data of the study. A method whose model or weights are not available is shown as missing.
    Needs: pip install 'citewell[evaluate]'

        citewell reproduce hybridcite2020 data/cs data/elife
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.reproduce import Plan, reproduce
    from citewell.evaluate.study_analyses import reproduce_analyses
    from citewell.evaluate.study_files import write_study
    from citewell.evaluate.study_report import as_json as described
    from citewell.evaluate.study_report import print_study
    from citewell.train.training import can_train, train_missing

    content = studies.load(study)
    with TerminalProgress() as progress:
        folders = sets or tuple(available_sets())
        plan = Plan(folders, None if everything else sample, seed, False, train_missing, can_train, progress)
        tables = reproduce(content, plan)
        analyses = reproduce_analyses(content, plan)
    if out:
        write_study(study, content, tables, analyses, plan, out)
    if as_json:
        print_json(described(study, content, tables, analyses, plan))
    else:
        from rich.console import Console

        print_study(content, tables, analyses, Console(width=None if sys.stdout.isatty() else 220), plan.quick)


def available_sets() -> list[Path]:
    """The data sets in the first of the usual folders that has any."""
    for folder in (os.environ.get("CITEWELL_SETS"), *_SETS):
        if folder and (sets := sorted(path.parent for path in Path(folder).glob("*/set.toml"))):
            return sets
    return []
