"""What ``citewell reproduce`` says and asks before it trains the models that a study lacks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.progress import TerminalProgress
from citewell.errors import CitewellError
from citewell.evaluate.studies import Study
from citewell.models import archives

if TYPE_CHECKING:
    from citewell.train.study_models import Lacking


@dataclass
class Training:
    """Whether models may be trained, and what was left out."""

    agreed: bool
    left_out: list[str] = field(default_factory=list)
    """One line for each model that is not there, with its rows and what to do."""
    models: set[str] = field(default_factory=set)
    """The models of libraries among them."""


def offer_training(
    study: Study, sets: Sequence[Path], sample: int | None, seed: int, models: Path, quick: bool, consent: str, hours: float
) -> Training:
    """List what the study lacks, ask if `consent` is ``ask`` (else ``yes`` or ``no``), and train it into `models`.

    Models that take more than `hours` are left out.
    """
    from citewell.train.study_models import lacking, train_lacking

    missing = lacking(study, sets, sample, seed, quick)
    possible = [each for each in missing if not each.obstacle and (quick or each.seconds <= 3600 * hours)]
    left_out = [each for each in missing if each not in possible]
    training = Training(consent != "no", [_line(each, quick) for each in left_out])
    training.models = {each.model for each in left_out if each.ends}
    _name_archives([each.model for each in missing if not each.ends])
    if possible:
        click.echo(f"Models that {_count(possible, 'row')} of the study need and that are not trained yet:", err=True)
        for each in possible:
            click.echo(f"  {_line(each, quick)}", err=True)
        total = sum(each.seconds for each in possible)
        time = "a few minutes" if quick else f"about {_about(total)}"
        click.echo(f"Training takes {time} on this machine (a rough estimate). Weights go to {models}.", err=True)
        training.agreed = _agreed(consent)
    if not training.agreed:
        training.left_out += [f"not trained: {_line(each, quick)}" for each in possible]
        if possible:
            training.left_out.append(f"To train them: {_command()}")
        for line in training.left_out:
            click.echo(line, err=True)
        return training
    with TerminalProgress() as progress:
        for number, each in enumerate(possible, 1):
            progress.message(f"training {each.model} ({number} of {len(possible)})")
            try:
                train_lacking(each, models, progress, quick)
            except CitewellError as error:
                training.left_out.append(f"{each.model}: training failed: {error}")
                progress.message(training.left_out[-1])
    return training


def _name_archives(names: Sequence[str]) -> None:
    """Say which published archives have some of these weights, already trained."""
    for archive in archives.published():
        try:
            models = archives.read_manifest(archive).models
        except CitewellError as error:
            click.echo(str(error), err=True)
            continue
        if there := [name for name in names if name in models]:
            click.echo(f"Trained weights of {', '.join(there)} can be installed: citewell models install {archive}", err=True)


def _agreed(consent: str) -> bool:
    if consent == "ask":
        return _on_terminal() and click.confirm("Train them now?", err=True)
    return consent == "yes"


def _on_terminal() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _line(each: Lacking, quick: bool) -> str:
    """One model: its name, the rows, and the time or the obstacle."""
    rows = f"{len(each.rows)} rows" if len(each.rows) > 1 else each.rows[0]
    sets = ", ".join(folder.name for folder in each.sets)
    libraries = f"{len(each.ends)} {'libraries' if len(each.ends) > 1 else 'library'} of " if each.ends else ""
    where = f", on {libraries}{sets}" if sets else ""
    what = each.obstacle or ("shortened" if quick else f"about {_about(each.seconds)}")
    return f"{each.model} ({rows}{where}): {what}"


def _count(missing: Sequence[Lacking], unit: str) -> str:
    count = len({row for each in missing for row in each.rows})
    return f"{count} {unit}{'s' if count > 1 else ''}"


def _about(seconds: float) -> str:
    """A time without false precision."""
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {unit}"
    return "a minute"


def _command() -> str:
    """The command that was run, with --yes."""
    given = [argument for argument in sys.argv[1:] if argument != "--no-training"]
    return shlex.join(["citewell", *given, "--yes"])
