"""``citewell suggest``: what to cite in a draft, at a gap in a sentence, or in a paragraph that is only begun."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.answers import Answers, of_several
from citewell.cli.options import byline, filter_options, json_option, library_option, print_json, tell, warn
from citewell.draft.plain import read_draft
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Query
from citewell.pipeline import DEFAULT, pipeline
from citewell.text.marks import shortened

if TYPE_CHECKING:
    from rich.console import Console

_FORMATS = ("table", "json", "bibtex", "ris", "csl")


@click.command("suggest")
@click.argument("draft", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--title", default="", help="Title of what you are writing.")
@click.option("--abstract", default="", help="Its abstract, or any text that says what it is about.")
@click.option("--context", default="", help=f"The text round a missing citation; {TARGET_MARK} or [?] may mark the place.")
@click.option("--topic", default="", help="The topic sentence of a paragraph whose citations are wanted.")
@click.option("--author", "authors", multiple=True, help="Who writes it: people cite themselves and what they cited before.")
@click.option(
    "--task", type=click.Choice(["global", "local", "paragraph"]), help="Of a draft, only this; default: whole draft and gaps."
)
@click.option(
    "--pipeline", "name", default=DEFAULT, show_default=True, help="How to find papers; 'citewell pipelines' lists them."
)
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True, help="What to print.")
@filter_options
@library_option
@json_option
def command(
    draft: Path | None,
    title: str,
    abstract: str,
    context: str,
    topic: str,
    authors: tuple[str, ...],
    task: str | None,
    name: str,
    size: int,
    form: str,
    library: Library,
    as_json: bool,
    **filters: Any,
) -> None:
    """Suggest papers to cite, each with the reasons for it.

    DRAFT is a plain-text file: the title on its first line, then the text; [?] marks places where a citation is missing.

    \b
        citewell suggest draft.txt
        citewell suggest --title "Citation recommendation" --abstract "We rank papers ..."
        citewell suggest --context "Topic models such as latent Dirichlet allocation [?] are"
    """
    if draft is not None:
        if title or abstract or context or topic:
            raise click.UsageError("give a draft file or --title/--abstract/--context/--topic, not both")
        queries = queries_of_draft(draft, task)
    else:
        queries = [_from_options(title, abstract, context, topic)]
    for query in queries:
        query.since, query.before, query.venue = filters["since"], filters["before"], filters["venue"]
        query.exclude = list(filters["exclude"])
        query.authors = list(authors)
    warn(library)
    chosen = pipeline(name)
    answers = [(query, chosen.suggest(library, query, size)) for query in queries]
    tell(chosen.notes(library))
    _print(answers, "json" if as_json else form)


def _from_options(title: str, abstract: str, context: str, topic: str) -> Query:
    if context and topic:
        raise click.UsageError("give --context (a gap in a sentence) or --topic (a paragraph to come), not both")
    if not (title or abstract or context or topic):
        raise click.UsageError("say what you are writing: a draft file, or --title/--abstract, --context or --topic")
    task = "local" if context else "paragraph" if topic else "global"
    return Query(task, title, abstract, context.replace("[?]", TARGET_MARK) or topic)


def queries_of_draft(path: Path, task: str | None) -> list[Query]:
    """The whole draft and each of its gaps, or only what `task` names."""
    draft = read_draft(path)
    queries = []
    if task in (None, "global"):
        queries.append(Query("global", draft.title, draft.abstract))
    if task in (None, "local"):
        queries += [Query("local", draft.title, draft.abstract, slot.context) for slot in draft.slots]
    if task == "paragraph":
        queries += [Query("paragraph", draft.title, draft.abstract, topic) for topic in draft.topics]
    if not queries:
        raise CitewellError(f"{path} has no gap to fill: mark the places where a citation is missing with [?]")
    return queries


def _print(answers: Answers, form: str) -> None:
    if form == "json":
        print_json(of_several(answers))
    elif form == "table":
        print_tables(answers)
    else:
        from citewell.export import write

        papers = {s.paper.id: s.paper for _, suggestions in answers for s in suggestions}
        write(papers.values(), form, sys.stdout)


def print_tables(answers: Answers, console: Console | None = None) -> None:
    """One table a query, for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = console or Console()
    for query, suggestions in answers:
        console.print(_heading(query), style="bold")
        if not suggestions:
            console.print("  nothing in the library matches\n")
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_header=False)
        table.add_column(justify="right", style="cyan", no_wrap=True)
        table.add_column(ratio=3)
        table.add_column(ratio=2)
        for s in suggestions:
            paper = Text.assemble((s.paper.title or s.paper.id, "bold"), "\n", (byline(s.paper), ""), "\n", (s.paper.id, "dim"))
            table.add_row(str(s.rank), paper, Text("\n".join(reason.text for reason in s.reasons)))
        console.print(table)
        console.print()


def _heading(query: Query) -> str:
    match query.task:
        case "local":
            return f"At the gap: {shortened(query.context)}"
        case "paragraph":
            return f"For the paragraph: {shortened(query.context)}"
    return f"For the whole of: {query.title or shortened(query.abstract)}"
