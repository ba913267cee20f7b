"""``citewell search``: papers for a question or a claim, and the sentences in them that bear on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.options import byline, filter_options, json_option, library_option, print_json, tell, warn
from citewell.library.library import Library
from citewell.papers import Query
from citewell.pipeline.pipeline import DEFAULT, pipeline
from citewell.ranking.sentences import Found, Passage
from citewell.serialize import of_search

if TYPE_CHECKING:
    from rich.text import Text


@click.command("search")
@click.argument("question")
@click.option(
    "--pipeline", "name", default=DEFAULT, show_default=True, help="How to find papers; 'citewell pipelines' lists them."
)
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--snippets", default=2, show_default=True, type=click.IntRange(0, 20), help="How many sentences of each.")
@click.option("--around", is_flag=True, help="Show them where they stand, between the sentences before and after.")
@filter_options
@library_option
@json_option
def command(
    question: str, name: str, size: int, snippets: int, around: bool, library: Library, as_json: bool, **filters: Any
) -> None:
    """Find papers that answer a question or bear on a claim, with the sentences that do.

    \b
        citewell search "does co-citation predict relevance?"
        citewell search "BERT re-rankers beat BM25" --since 2019 --snippets 3
    """
    query = Query("evidence", context=question, since=filters["since"], before=filters["before"], venue=filters["venue"])
    query.exclude = list(filters["exclude"])
    warn(library)
    chosen = pipeline(name)
    found = chosen.search(library, query, size, snippets)
    tell(chosen.notes(library))
    if as_json:
        print_json(of_search(question, found))
    elif not found:
        click.echo("nothing in the library matches")
    else:
        _print(found, around)


def _print(found: list[Found], around: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for rank, one in enumerate(found, 1):
        grid = Table.grid(padding=(0, 1))
        grid.add_column(justify="right", width=2)
        grid.add_column()
        grid.add_row(Text(str(rank), "cyan"), Text(one.paper.title or one.paper.id, "bold"))
        grid.add_row("", Text(f"{byline(one.paper)}  {one.paper.id}", "dim"))
        for passage in one.passages:
            text = Text(passage.text if around else f"“{passage.text}”")
            text.highlight_words(passage.words, style="bold yellow", case_sensitive=False)
            if around:
                text.stylize("reverse")
                text = Text(" ").join([Text(each, "dim") if isinstance(each, str) else each for each in _parts(passage, text)])
            grid.add_row("", text)
        console.print(grid)
        console.print()


def _parts(passage: Passage, sentence: Text) -> list[str | Text]:
    """A sentence between those before and after it; a section other than the abstract is named."""
    named = "" if passage.section in ("abstract", "title") else f"{passage.section}:"
    return [part for part in (named, passage.before, sentence, passage.after) if part]
