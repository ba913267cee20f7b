"""``citewell reproduce``: a published study's tables, and the same methods measured here."""

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
@click.option("--sample", type=click.IntRange(1), default=500, show_default=True, metavar="N", help="Questions a set and task.")
@click.option("--all", "everything", is_flag=True, help="Ask every question.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the sample.")
@json_option
def command(study: str, sets: tuple[Path, ...], sample: int, everything: bool, seed: int, as_json: bool) -> None:
    """Print a study's published tables beside our rows of the same methods.

    Ours are measured on the SETs named, or on those in $CITEWELL_SETS, ./data, ./sets or ../shared/data: other data than the
    study's. A method that citewell does not have yet is shown as missing.

        citewell reproduce hybridcite2020 data/cs data/elife
    """
    from citewell.cli.progress import Bar
    from citewell.evaluate.reproduce import as_json as described
    from citewell.evaluate.reproduce import print_study, reproduce

    content = studies.load(study)
    size = None if everything else sample
    with Bar() as bar:
        found = reproduce(content, sets or sets_at_hand(), size, seed, bar, bar)
    if as_json:
        print_json(described(study, content, found, size, seed))
    else:
        from rich.console import Console

        print_study(content, found, Console(width=None if sys.stdout.isatty() else 220))


def sets_at_hand() -> list[Path]:
    """The data sets in the first of the usual folders that has any."""
    for folder in (os.environ.get("CITEWELL_SETS"), *_SETS):
        if folder and (found := sorted(path.parent for path in Path(folder).glob("*/set.toml"))):
            return found
    return []
