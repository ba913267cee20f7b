"""``citewell search``: papers for a question or a claim, and the sentences in them that bear on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell import serialize
from citewell.cli.options import byline, filter_options, json_option, library_option, print_json, tell, warn
from citewell.library.library import Library
from citewell.papers import Query, QuotedSentence
from citewell.pipeline.registry import DEFAULT, pipeline
from citewell.pipeline.results import Results

if TYPE_CHECKING:
    from rich.text import Text


@click.command("search")
@click.argument("question")
@click.option("--pipeline", "name", default=DEFAULT, show_default=True, help="How to rank; 'citewell pipelines' lists them.")
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers to show.")
@click.option(
    "--sentences",
    "--snippets",
    "sentences",
    default=2,
    show_default=True,
    type=click.IntRange(0, 20),
    help="How many sentences of each paper to show.",
)
@click.option("--around", is_flag=True, help="Show each sentence between the sentences before and after it.")
@filter_options
@library_option
@json_option
def command(
    question: str, name: str, size: int, sentences: int, around: bool, library: Library, as_json: bool, **filters: Any
) -> None:
    """Find papers that answer a question or bear on a claim, with the sentences that do.

    \b
        citewell search "does co-citation predict relevance?"
        citewell search "BERT re-rankers beat BM25" --since 2019 --sentences 3
    """
    query = Query("evidence", context=question, since=filters["since"], before=filters["before"], venue=filters["venue"])
    query.exclude = list(filters["exclude"])
    warn(library)
    results = pipeline(name).suggest(library, query, size, sentences)
    tell(results.notes)
    if as_json:
        print_json(serialize.results(results))
    elif not results:
        click.echo("Nothing in the library matches.")
    else:
        _print(results, around)


def _print(results: Results, around: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for suggestion in results:
        paper = suggestion.paper
        grid = Table.grid(padding=(0, 1))
        grid.add_column(justify="right", width=2)
        grid.add_column()
        grid.add_row(Text(str(suggestion.rank), "cyan"), Text(paper.title or paper.id, "bold"))
        grid.add_row("", Text(f"{byline(paper)}  {paper.id}", "dim"))
        for sentence in suggestion.sentences:
            text = Text(sentence.text if around else f"“{sentence.text}”")
            text.highlight_words(sentence.words, style="bold yellow", case_sensitive=False)
            if around:
                text.stylize("reverse")
                parts = [Text(part, "dim") if isinstance(part, str) else part for part in _around(sentence, text)]
                text = Text(" ").join(parts)
            grid.add_row("", text)
        console.print(grid)
        console.print()


def _around(sentence: QuotedSentence, text: Text) -> list[str | Text]:
    """A sentence between those before and after it, with the name of its section unless that is the abstract."""
    section = "" if sentence.section in ("abstract", "title") else f"{sentence.section}:"
    return [part for part in (section, sentence.before, text, sentence.after) if part]
