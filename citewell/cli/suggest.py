"""``citewell suggest``: what to cite in a draft, at a gap in a sentence, or in a paragraph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell import serialize
from citewell.cli.options import byline, filter_options, json_option, library_option, print_json, tell, warn
from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Query
from citewell.pipeline.registry import DEFAULT, pipeline
from citewell.pipeline.results import Results
from citewell.text.citation_contexts import shorten_context

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from citewell.draft.manuscript import Manuscript
    from citewell.draft.queries import DraftQuery

_FORMATS = ("table", "json", "bibtex", "ris", "csl")
_MAX_QUOTE = 280
"""Length of a quoted sentence in characters."""

Answer = tuple["DraftQuery | None", Results]
"""The results of a query, and the place of the draft that they are for; None where there is no draft."""


@click.command("suggest")
@click.argument("draft", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--title", default="", help="Title of your manuscript.")
@click.option("--abstract", default="", help="Its abstract, or any text about its topic.")
@click.option("--context", default="", help=f"Text around a missing citation; {TARGET_MARK} or [?] can mark the place.")
@click.option("--topic", default="", help="Topic sentence of a paragraph that needs citations.")
@click.option("--author", "authors", multiple=True, help="An author of the manuscript (repeatable); improves the ranking.")
@click.option(
    "--task",
    type=click.Choice(["global", "local", "paragraph"]),
    help="Suggest only for the whole draft (global), its gaps (local) or its paragraphs without citations (paragraph).",
)
@click.option("--pipeline", "name", default=DEFAULT, show_default=True, help="Pipeline; 'citewell pipelines' lists them.")
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="Number of papers per place.")
@click.option("--format", "format", type=click.Choice(_FORMATS), default="table", show_default=True, help="Output format.")
@click.option("--explain", is_flag=True, help="Show the features and scores behind each suggestion.")
@click.option(
    "--bib",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Bibliography of the draft, to which entries are added (default: the .bib file that the draft names).",
)
@click.option(
    "--accept",
    "choices",
    multiple=True,
    metavar="CHOICE",
    help="Cite in DRAFT and show the patch: best (first suggestion for each gap), GAP, GAP#RANK or GAP=ID (repeatable).",
)
@click.option(
    "--take", "add", multiple=True, metavar="ID", help="Add a paper to the bibliography without citing it (repeatable)."
)
@click.option(
    "--word-citations",
    type=click.Choice(["auto", "zotero", "text"]),
    default="auto",
    show_default=True,
    help="In a Word file, cite by Zotero fields or by author and year as text (auto: fields where DRAFT has Zotero fields).",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Copy of a Word file to write (default: NAME-cited.docx next to DRAFT).",
)
@click.option("--write", is_flag=True, help="Write the changes of --accept and --take instead of showing them.")
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
    format: str,
    explain: bool,
    bib: Path | None,
    choices: tuple[str, ...],
    add: tuple[str, ...],
    word_citations: str,
    output: Path | None,
    write: bool,
    library: Library,
    as_json: bool,
    **filters: Any,
) -> None:
    """Suggest papers to cite, with reasons.

    DRAFT is LaTeX, Markdown (also Quarto and R Markdown), Typst, Org, a Jupyter notebook, Word or plain text. Mark gaps with
    \\cite{}, \\cite{?}, [@?], @?, [?], [CITATION] or \\todo{cite ...}, in Word with a comment or a highlight. Papers that
    DRAFT cites are not suggested again.

    \b
        citewell suggest paper.tex
        citewell suggest paper.tex --accept best             # show the patch
        citewell suggest paper.tex --accept 2=arxiv:1810.04805 --write
        citewell suggest --title "Citation recommendation" --abstract "We rank papers ..."
        citewell suggest --context "Topic models such as latent Dirichlet allocation [?] are"
    """
    fields = {**filters, "exclude": list(filters["exclude"])}
    if authors:
        fields["authors"] = list(authors)
    if draft is None:
        if bib or choices or add or output or write:
            raise click.UsageError("--bib, --accept, --take, --output and --write need a draft file")
        query = text_query(title, abstract, context, topic, fields)
        warn(library)
        manuscript = None
        answers: list[Answer] = [(None, pipeline(name).suggest(library, query, size))]
    else:
        from citewell.cli.apply import accept
        from citewell.cli.progress import TerminalProgress
        from citewell.draft.manuscript import Manuscript

        if title or abstract or context or topic:
            raise click.UsageError("give a draft file or --title/--abstract/--context/--topic, not both")
        manuscript = Manuscript(draft, library, bib)
        tell(manuscript.notes)
        warn(library)
        if choices or add or write:
            accept(manuscript, choices, add, name, write, as_json, fields, word_citations, output)
            return
        with TerminalProgress() as progress:
            answers = [(place, results) for place, results in manuscript.suggest(name, size, task, progress, **fields)]
    tell(dict.fromkeys(note for _, results in answers for note in results.notes))
    _print(answers, manuscript, "json" if as_json else format, explain)


def text_query(title: str, abstract: str, context: str, topic: str, fields: dict[str, Any]) -> Query:
    """The query of the texts that are given: for a gap, a paragraph, or a whole manuscript."""
    if context and topic:
        raise click.UsageError("give --context (for a gap) or --topic (for a paragraph), not both")
    if not (title or abstract or context or topic):
        raise click.UsageError("give a draft file, or --title and --abstract, --context or --topic")
    task = "local" if context else "paragraph" if topic else "global"
    return Query(task, title, abstract, context.replace("[?]", TARGET_MARK) or topic, **fields)


def _print(answers: Sequence[Answer], manuscript: Manuscript | None, format: str, explain: bool) -> None:
    if format == "json":
        print_json(answers_as_json(answers, manuscript))
    elif format == "table":
        print_tables(answers, manuscript, explain)
    else:
        from citewell.export import write

        papers = {suggestion.paper.id: suggestion.paper for _, results in answers for suggestion in results}
        write(papers.values(), format, sys.stdout)


def answers_as_json(answers: Sequence[Answer], manuscript: Manuscript | None = None) -> object:
    """One object, or a list of objects where a draft has several places."""
    objects = [_as_json(place, results, manuscript) for place, results in answers]
    return objects[0] if len(objects) == 1 else objects


def _as_json(draft_query: DraftQuery | None, results: Results, manuscript: Manuscript | None) -> dict[str, Any]:
    result = serialize.results(results)
    if manuscript is None or draft_query is None:
        return result
    result["read"] = manuscript.overview.to_json()
    result["query"]["known"] = results.query.known
    if (place := draft_query.place) is not None:
        result["place"] = {
            "file": str(manuscript.file(place)),
            "line": place.line,
            "begin": place.begin,
            "end": place.end,
            "text": manuscript.draft.sources[place.file][place.begin : place.end],
        }
    if draft_query.gap is not None:
        result |= {"gap": draft_query.number, "note": draft_query.gap.note}
    if results.query.task == "global":
        result["cites"] = [{"key": key, "id": paper} for key, paper in manuscript.cited.items()]
    return result


def print_tables(
    answers: Sequence[Answer],
    manuscript: Manuscript | None = None,
    explain: bool = False,
    console: Console | None = None,
) -> None:
    """A table of suggestions for each place."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console()
    if manuscript is not None:
        lines = [*manuscript.overview.lines(), _cited_line(manuscript)]
        console.print(Text("\n".join(filter(None, lines))), "\n", style="dim")
    for place, results in answers:
        console.print(Text(_heading(place, results.query, manuscript)), style="bold")
        if results:
            console.print(_table(results, explain))
            console.print()
        else:
            console.print("  No paper in the library matches.\n")


def _table(results: Results, explain: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_header=False)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(ratio=3)
    table.add_column(ratio=2)
    for each in results:
        title, name = (each.paper.title or each.paper.id, "bold"), (each.paper.id, "dim")
        paper = Text.assemble(title, "\n", (byline(each.paper), ""), "\n", name)
        lines = [Text(reason.text) for reason in each.reasons if not reason.detail]
        lines += [Text(f"“{shorten_context(sentence.text, _MAX_QUOTE)}”", style="italic") for sentence in each.sentences]
        if explain:
            details = [reason.text for reason in each.reasons if reason.detail]
            lines += [Text(line, style="dim") for line in (*details, f"Score: {each.score:.4f}.")]
        table.add_row(str(each.rank), paper, Text("\n").join(lines))
    return table


def _cited_line(manuscript: Manuscript) -> str:
    """What the draft cites, in one line; empty where it cites nothing."""
    cited = manuscript.cited
    if not cited:
        return ""
    count = f"{len(cited)} work{'s' if len(cited) != 1 else ''}"
    known = [key for key, paper in cited.items() if paper is not None]
    if not known:
        return f"The draft cites {count}; the library has none of them."
    return f"The draft cites {count}. The library has {len(known)}, which are not suggested again: {', '.join(known)}"


def _heading(place: DraftQuery | None, query: Query, manuscript: Manuscript | None) -> str:
    gap = place.gap if place is not None else None
    at = ""
    if place is not None and place.place is not None and manuscript is not None:
        number = f"Gap {place.number}, " if gap is not None else ""
        note = f" ({gap.note})" if gap is not None and gap.note else ""
        at = f"{number}{manuscript.file(place.place)}:{place.place.line}{note}: "
    match query.task:
        case "local":
            return f"{at or 'Gap: '}{shorten_context(gap.context if gap is not None else query.context)}"
        case "paragraph":
            return f"{at}Paragraph: {shorten_context(query.context)}"
    return f"Whole draft: {query.title or shorten_context(query.abstract)}"
