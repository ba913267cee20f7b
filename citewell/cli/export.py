"""``citewell export``: the library, or a selection, in a format that other programs read."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from citewell.cli.options import json_option, library_option, print_json, tell
from citewell.files import replaced
from citewell.library.library import Library

_FORMATS = ("bibtex", "ris", "csl", "jsonl")


@click.command("export")
@click.argument("names", nargs=-1, metavar="[ID]...")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="bibtex", show_default=True, help="The file format.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write to this file.",
)
@click.option("--merged", is_flag=True, help="Write what the library knows of each paper, not the entries of your own files.")
@library_option
@json_option
def command(names: tuple[str, ...], form: str, output: Path | None, merged: bool, library: Library, as_json: bool) -> None:
    """Export papers as BibTeX, RIS, CSL-JSON or citewell's JSON lines (lossless).

    Without an ID, the whole library is exported. A paper that came from a file of the same format is written exactly as that
    file has it, with its key and all its fields; --merged writes what the library knows of it from all sources instead.
    """
    from citewell.export.own_entries import export

    nums = [library.number(name) for name in names] if names else None
    if output is None:
        tell(export(library, "csl" if as_json else form, sys.stdout, nums, merged))
        return
    with replaced(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        notes = export(library, form, out, nums, merged)
    if as_json:
        print_json({"output": str(output), "papers": len(names) or len(library), "notes": notes})
    else:
        tell(notes)
        click.echo(f"{len(names) or len(library):,} papers written to {output}")
