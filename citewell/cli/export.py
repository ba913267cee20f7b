"""``citewell export``: the library, or a selection, in a format that other programs read."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from citewell.cli.options import json_option, library_option, print_json
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
@library_option
@json_option
def command(names: tuple[str, ...], form: str, output: Path | None, library: Library, as_json: bool) -> None:
    """Export papers as BibTeX, RIS, CSL-JSON or citewell's JSON lines (lossless).

    Without an ID, the whole library is exported.
    """
    from citewell.export import write

    papers = (library.paper(name) for name in names) if names else library.store.each()
    if output is None:
        write(papers, "csl" if as_json else form, sys.stdout)
        return
    with replaced(output) as temporary, temporary.open("w", encoding="utf-8") as out:
        write(papers, form, out)
    if as_json:
        print_json({"output": str(output), "papers": len(names) or len(library)})
    else:
        click.echo(f"{len(names) or len(library):,} papers written to {output}")
