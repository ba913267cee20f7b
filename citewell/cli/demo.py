"""``citewell demo``: suggestions for an example draft from a small library of real papers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from citewell.cli.options import json_option, print_json


@click.command("demo")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("citewell-demo"),
    show_default=True,
    help="The folder for the library and a copy of the draft and its bibliography.",
)
@click.option("-k", "size", default=3, show_default=True, type=click.IntRange(1, 50), help="Number of papers per gap.")
@json_option
def command(folder: Path, size: int, as_json: bool) -> None:
    """Build a demo library and suggest citations for an example draft.

    The library contains the literature on citation recommendation.
    """
    from citewell import demo
    from citewell.cli.suggest import answers_as_json, print_tables
    from citewell.draft.manuscript import Manuscript
    from citewell.library.library import Library
    from citewell.pipeline.registry import pipeline

    draft = folder / "draft.tex"
    library = Library(folder / "library")
    outcome = library.add([demo.path("library.jsonl")])
    for name in (draft.name, "refs.bib"):
        (folder / name).write_bytes(demo.path(name).read_bytes())
    best = pipeline()
    best.prepare(library)
    manuscript = Manuscript(draft, library)
    answers = manuscript.suggest(best, size)
    if as_json:
        print_json(answers_as_json(answers, manuscript))
        return
    counts = library.store.counts()
    click.echo(
        f"The library {library.folder} contains {counts['papers']:,} papers ({outcome.new_papers:,} new)"
        f" and {counts['citations']:,} citations. Suggestions for {draft}:\n"
    )
    print_tables(answers, manuscript)
    click.echo("Next, try:")
    program = "python -m citewell" if sys.argv[0].endswith(".py") else sys.argv[0]
    for line in (
        f"suggest {draft} --library {library.folder}",
        f"suggest {draft} --accept best --library {library.folder}",
        f'search "how do long queries change BM25?" --library {library.folder}',
        f"show nogueira2020evaluating --library {library.folder}",
    ):
        click.echo(f"  {program} {line}")
