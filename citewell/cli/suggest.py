"""``citewell suggest``: what to cite in a draft, at a gap in a sentence, or in a paragraph that is only begun."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell import serialize
from citewell.cli.options import byline, filter_options, json_option, library_option, print_json, tell, warn
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Place, Query
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import DEFAULT, pipeline
from citewell.pipeline.results import Results
from citewell.text.citation_contexts import shorten_context

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.draft.manuscript import Manuscript
    from citewell.draft.queries import DraftQuery

_FORMATS = ("table", "json", "bibtex", "ris", "csl")


@dataclass(slots=True)
class Answer:
    """A question, what of the draft it is about, and what was found."""

    query: Query
    suggestions: Results
    asked: DraftQuery | None = None
    manuscript: Manuscript | None = None


@click.command("suggest")
@click.argument("draft", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--title", default="", help="Title of what you are writing.")
@click.option("--abstract", default="", help="Its abstract, or any text that says what it is about.")
@click.option("--context", default="", help=f"The text round a missing citation; {TARGET_MARK} or [?] may mark the place.")
@click.option("--topic", default="", help="The topic sentence of a paragraph whose citations are wanted.")
@click.option("--author", "authors", multiple=True, help="Who writes it: people cite themselves and what they cited before.")
@click.option(
    "--task",
    type=click.Choice(["global", "local", "paragraph"]),
    help="Of a draft, only this; default: the whole, every gap, every paragraph that cites nothing.",
)
@click.option(
    "--pipeline", "name", default=DEFAULT, show_default=True, help="How to find papers; 'citewell pipelines' lists them."
)
@click.option("-k", "size", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True, help="What to print.")
@click.option(
    "--bib",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The draft's bibliography, and where entries go; default: the .bib file that the draft names.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="WHAT",
    help="Cite in DRAFT, as a patch to look at: best (each gap's first suggestion), GAP, GAP#RANK or GAP=ID (repeatable).",
)
@click.option("--take", multiple=True, metavar="ID", help="Put this paper into the bibliography, cited nowhere (repeatable).")
@click.option("--write", is_flag=True, help="Write what --accept and --take change, instead of showing it.")
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
    bib: Path | None,
    accept: tuple[str, ...],
    take: tuple[str, ...],
    write: bool,
    library: Library,
    as_json: bool,
    **filters: Any,
) -> None:
    """Suggest papers to cite, each with the reasons for it.

    DRAFT is LaTeX, Markdown (also Quarto and R Markdown), Word or plain text. Gaps are marked by \\cite{}, \\cite{?}, [@?],
    [?], [CITATION], \\todo{cite ...}, or in Word by a comment or a highlight. What it cites already is not suggested again.

    \b
        citewell suggest paper.tex
        citewell suggest paper.tex --accept best             # shows the patch
        citewell suggest paper.tex --accept 2=arxiv:1810.04805 --write
        citewell suggest --title "Citation recommendation" --abstract "We rank papers ..."
        citewell suggest --context "Topic models such as latent Dirichlet allocation [?] are"
    """
    given = (filters["since"], filters["before"], filters["venue"], list(filters["exclude"]), list(authors))
    if draft is None:
        if bib or accept or take or write:
            raise click.UsageError("--bib, --accept, --take and --write are for a draft file; name one")
        queries = [_from_options(title, abstract, context, topic)]
        _filter(queries, *given)
        warn(library)
        chosen = pipeline(name)
        answers = [Answer(query, chosen.suggest(library, query, size)) for query in queries]
        tell(chosen.notes(library))
    else:
        from citewell.cli.apply import take_over
        from citewell.draft.manuscript import Manuscript

        if title or abstract or context or topic:
            raise click.UsageError("give a draft file or --title/--abstract/--context/--topic, not both")
        manuscript = Manuscript.open(draft, library, bib)
        tell(manuscript.notes())
        asked = manuscript.asked(task)
        _filter([each.query for each in asked], *given)
        warn(library)
        if accept or take or write:
            take_over(manuscript, asked, accept, take, name, write, as_json)
            return
        if not asked:
            raise CitewellError(f"{draft} has {_NOTHING[task or '']}")
        chosen = pipeline(name)
        answers = _answered(manuscript, asked, chosen, size)
        tell(chosen.notes(library))
    _print(answers, "json" if as_json else form)


_QUOTE_WIDTH = 280
_NOTHING = {
    "": "nothing to go by; put its title on the first line and the text below it",
    "global": "nothing to go by; put its title on the first line and the text below it",
    "local": "no gap to fill; mark the places where a citation is missing with [?]",
    "paragraph": "no paragraph that cites nothing; ask for the whole with --task global, or for gaps with --task local",
}


def _answered(manuscript: Manuscript, asked: Sequence[DraftQuery], chosen: Pipeline, size: int) -> list[Answer]:
    """What is found for each question of a draft, which may have hundreds."""
    from citewell.cli.progress import Bar

    answers = []
    with Bar() as bar:
        bar.asking(len(asked))
        for each in asked:
            answers.append(Answer(each.query, chosen.suggest(manuscript.library, each.query, size), each, manuscript))
            bar.asked(1)
    return answers


def _filter(
    queries: Sequence[Query], since: int | None, before: int | None, venue: str, exclude: list[str], authors: list[str]
) -> None:
    for query in queries:
        query.since, query.before, query.venue, query.exclude = since, before, venue, exclude
        query.authors = authors or query.authors


def _from_options(title: str, abstract: str, context: str, topic: str) -> Query:
    if context and topic:
        raise click.UsageError("give --context (a gap in a sentence) or --topic (a paragraph to come), not both")
    if not (title or abstract or context or topic):
        raise click.UsageError("say what you are writing: a draft file, or --title/--abstract, --context or --topic")
    task = "local" if context else "paragraph" if topic else "global"
    return Query(task, title, abstract, context.replace("[?]", TARGET_MARK) or topic)


def _print(answers: Sequence[Answer], form: str) -> None:
    if form == "json":
        print_json(answers_as_json(answers))
    elif form == "table":
        print_tables(answers)
    else:
        from citewell.export import write

        papers = {s.paper.id: s.paper for answer in answers for s in answer.suggestions}
        write(papers.values(), form, sys.stdout)


def answers_as_json(answers: Sequence[Answer]) -> object:
    """One object, or a list of them where a draft has several places to fill."""
    results = [_result(answer) for answer in answers]
    return results[0] if len(results) == 1 else results


def _result(answer: Answer) -> dict[str, Any]:
    result = serialize.results(answer.suggestions)
    if answer.asked is None or answer.manuscript is None:
        return result
    manuscript = answer.manuscript
    result["query"]["known"] = answer.query.known
    if (place := answer.asked.place) is not None:
        result["place"] = _place(manuscript, place)
    if answer.asked.gap is not None:
        result |= {"gap": manuscript.gap_number(answer.asked.gap), "note": answer.asked.gap.note}
    if answer.query.task == "global":
        result["cites"] = [{"key": key, "id": manuscript.cited.get(key)} for key in manuscript.cited_keys()]
    return result


def _place(manuscript: Manuscript, place: Place) -> dict[str, Any]:
    written = manuscript.draft.sources[place.file][place.begin : place.end]
    return {
        "file": str(manuscript.path_of(place.file)),
        "line": place.line,
        "begin": place.begin,
        "end": place.end,
        "text": written,
    }


def print_tables(answers: Sequence[Answer], console: Console | None = None) -> None:
    """One table a query, for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = console or Console()
    manuscript = next((answer.manuscript for answer in answers if answer.manuscript is not None), None)
    if manuscript is not None and (said := manuscript.cites()):
        console.print(Text(said), "\n", style="dim")
    for answer in answers:
        console.print(Text(_heading(answer)), style="bold")
        if not answer.suggestions:
            console.print("  nothing in the library matches\n")
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_header=False)
        table.add_column(justify="right", style="cyan", no_wrap=True)
        table.add_column(ratio=3)
        table.add_column(ratio=2)
        for s in answer.suggestions:
            paper = Text.assemble((s.paper.title or s.paper.id, "bold"), "\n", (byline(s.paper), ""), "\n", (s.paper.id, "dim"))
            quotes = [f"“{shorten_context(sentence.text, _QUOTE_WIDTH)}”" for sentence in s.sentences]
            reasons = [reason.text for reason in s.reasons if not reason.detail]
            table.add_row(str(s.rank), paper, Text("\n".join((*quotes, *reasons))))
        console.print(table)
        console.print()


def _heading(answer: Answer) -> str:
    query, at = answer.query, ""
    if answer.asked is not None and answer.manuscript is not None and (place := answer.asked.place) is not None:
        gap = answer.asked.gap
        number = f"Gap {answer.manuscript.gap_number(gap)}, " if gap is not None else ""
        note = f" ({gap.note})" if gap is not None and gap.note else ""
        at = f"{number}{answer.manuscript.path_of(place.file)}:{place.line}{note}: "
    match query.task:
        case "local":
            gap = answer.asked.gap if answer.asked is not None else None
            return f"{at or 'At the gap: '}{shorten_context(gap.context if gap is not None else query.context)}"
        case "paragraph":
            return f"{at}For the paragraph: {shorten_context(query.context)}"
    return f"For the whole of: {query.title or shorten_context(query.abstract)}"
