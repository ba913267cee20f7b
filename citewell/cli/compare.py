"""``citewell compare``: what several pipelines suggest for one query, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, library_option, print_json, tell, warn
from citewell.cli.suggest import text_query
from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Paper
from citewell.pipeline.registry import pipeline
from citewell.text.citation_contexts import shorten_context

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from citewell.evaluate.side_by_side import SideBySide

_MAX_CONTEXT = 600
"""Length of the shown context in characters."""


@click.command("compare")
@click.option("--pipeline", "names", multiple=True, required=True, metavar="NAME", help="A pipeline to show (repeatable).")
@click.option("--context", default="", help=f"Text around a missing citation; {TARGET_MARK} or [?] can mark the place.")
@click.option("--title", default="", help="Title of the manuscript.")
@click.option("--abstract", default="", help="Its abstract.")
@click.option("--topic", default="", help="Topic sentence of a paragraph that needs citations.")
@library_option
@click.option(
    "--set",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="SET",
    help="Take the query from this data set, and mark what is cited there.",
)
@click.option("--query", "name", metavar="ID", help="Id of the query in the set; default: a random one.")
@click.option(
    "--task",
    type=click.Choice(["global", "local", "paragraph", "evidence"]),
    default="local",
    show_default=True,
    help="The task of the query of the set.",
)
@click.option(
    "--split", type=click.Choice(["dev", "test"]), default="test", show_default=True, help="The split of the query of the set."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of a random query.")
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="Number of papers per pipeline.")
@json_option
def command(
    names: tuple[str, ...],
    context: str,
    title: str,
    abstract: str,
    topic: str,
    library: Library,
    folder: Path | None,
    name: str | None,
    task: str,
    split: str,
    seed: int,
    size: int,
    as_json: bool,
) -> None:
    """Show what several pipelines suggest for one query, side by side.

    The query is a text of yours, asked of your library, or a query of a data set. The query of a set sees what it may see in
    'citewell evaluate', the papers that are cited there are marked, and models that the library of the set lacks are trained.

    \b
        citewell compare --context "Topic models [?] are" --pipeline bm25 --pipeline best
        citewell compare --set data/cs --query c123 --pipeline hyperdoc2vec --pipeline bm25-citing --pipeline hybrid
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.side_by_side import side_by_side, side_by_side_in_set

    pipelines = [pipeline(each) for each in dict.fromkeys(names)]
    if folder is None:
        if name is not None:
            raise click.UsageError("--query needs --set")
        query = text_query(title, abstract, context, topic, {})
        warn(library)
        shown = side_by_side(library, query, pipelines, size)
    else:
        if context or title or abstract or topic:
            raise click.UsageError("give --set or a text of yours, not both")
        from citewell.train.training import train_missing

        with TerminalProgress() as progress:
            shown = side_by_side_in_set(folder, pipelines, name, task, split, size, seed, progress, train_missing)
    tell(dict.fromkeys(note for results in shown.results.values() for note in results.notes))
    if as_json:
        print_json(shown.as_json())
    else:
        from rich.console import Console

        print_side_by_side(shown, Console(width=None if sys.stdout.isatty() else 200, highlight=False))


def print_side_by_side(shown: SideBySide, console: Console) -> None:
    """The query, what is cited there, and a table with a column for each pipeline."""
    from rich.table import Table
    from rich.text import Text

    query = shown.query
    if shown.source:
        console.print(Text(" · ".join(shown.source.values()), style="dim"))
    console.print(
        Text(shorten_context(query.context, _MAX_CONTEXT) if query.context else query.title or query.abstract, style="bold")
    )
    for paper in shown.relevant or []:
        ranks = [f"{name} {shown.rank(name, paper) or '-'}" for name in shown.results]
        console.print(Text.assemble(("✓ ", "green"), "cited: ", _titled(paper), (f" (rank: {', '.join(ranks)})", "dim")))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", justify="right", style="cyan", no_wrap=True)
    for name in shown.results:
        table.add_column(name, ratio=1)
    for at in range(max(map(len, shown.results.values()))):
        cells = [_cell(shown, results[at].paper) if at < len(results) else Text() for results in shown.results.values()]
        table.add_row(str(at + 1), *cells)
    console.print()
    console.print(table)


def _cell(shown: SideBySide, paper: Paper) -> Text:
    from rich.text import Text

    return Text.assemble(("✓ ", "green"), (_titled(paper), "bold")) if shown.is_relevant(paper) else Text(_titled(paper))


def _titled(paper: Paper) -> str:
    return f"{paper.title or paper.id}{f' ({paper.year})' if paper.year else ''}"
