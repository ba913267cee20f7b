"""``citewell feedback``: whether accepted and dismissed suggestions are recorded, and what has been."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from citewell.cli.options import json_option, library_option, print_json, tell
from citewell.errors import CitewellError
from citewell.feedback import Feedback
from citewell.library.library import Library


@click.group("feedback")
def command() -> None:
    """Record which suggestions you accept and dismiss, in the library's folder; off by default.

    'citewell train ltr --feedback' learns from the records. Nothing leaves your machine.

    \b
        citewell feedback on --library my-papers
        citewell feedback status --library my-papers
        citewell feedback export --library my-papers --out judgements.jsonl
        citewell feedback delete --library my-papers
    """


@command.command("on")
@library_option
def on(library: Library) -> None:
    """Record from now on what you accept and dismiss, on the page and with 'citewell suggest --accept GAP --write'."""
    if not library.folder.is_dir():
        raise CitewellError(f"there is no library in {library.folder}; add papers first: citewell add FILE --library DIR")
    feedback = Feedback(library.folder)
    feedback.turn_on()
    click.echo(f"Feedback is on. {feedback.notice} 'citewell feedback off' stops it.")


@command.command("off")
@library_option
def off(library: Library) -> None:
    """Record nothing from now on; 'citewell feedback delete' deletes what was recorded."""
    feedback = Feedback(library.folder)
    feedback.turn_off()
    status = feedback.status()
    kept = status.relevant + status.irrelevant
    click.echo(f"Feedback is off.{f' {kept:,} marks are still in {status.file}.' if kept else ''}")


@command.command("status")
@library_option
@json_option
def status(library: Library, as_json: bool) -> None:
    """Show whether feedback is recorded, and what has been."""
    feedback = Feedback(library.folder)
    state = feedback.status()
    if as_json:
        print_json(asdict(state))
        return
    click.echo(f"Feedback is on since {state.since}. {feedback.notice}" if state.on else "Feedback is off.")
    click.echo(f"{state.relevant:,} accepted and {state.irrelevant:,} dismissed suggestions are recorded.")


@command.command("export")
@library_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="File to write (default: stdout).")
def export(library: Library, out: Path | None) -> None:
    """Write the marks that count as lines of JSON, which 'citewell train ltr --judgements' reads."""
    from citewell.files import write_atomically
    from citewell.judgements import encode

    records = Feedback(library.folder).records()
    lines = b"".join(map(encode, records))
    if out is None:
        sys.stdout.write(lines.decode())
    else:
        write_atomically(out, lines)
        tell([f"{len(records):,} marks written to {out}"])


@command.command("delete")
@library_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(library: Library, yes: bool) -> None:
    """Delete everything that was recorded. This does not turn feedback off, and cannot be undone."""
    feedback = Feedback(library.folder)
    if not yes:
        click.confirm(f"Delete all feedback in {feedback.file}?", abort=True)
    lines = feedback.delete()
    click.echo(f"{lines:,} records deleted. Feedback is {'still on' if feedback.on else 'off'}.")
