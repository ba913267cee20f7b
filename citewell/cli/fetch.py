"""``citewell fetch``: get papers from Zotero and from services, into the library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.options import json_option, library_option, print_json
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.serialize import brief

if TYPE_CHECKING:
    from citewell.fetch import Page
    from citewell.fetch.fetching import Fetched

_SERVICES = {
    "openalex": "openalex",
    "semantic-scholar": "semantic_scholar",
    "crossref": "crossref",
    "arxiv": "arxiv",
    "pubmed": "pubmed",
}
"""The services' modules by the names of their commands."""
_SHOWN = 20
_BATCH = 100


class _Fetch(click.Group):
    """Commands are made when they are called: only then does HTTP have to be loaded."""

    def list_commands(self, context: click.Context) -> list[str]:
        return ["zotero", *_SERVICES]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name == "zotero":
            return _zotero
        return _command(name) if name in _SERVICES else None


@click.group("fetch", cls=_Fetch)
def command() -> None:
    """Fetch papers from Zotero, OpenAlex, Semantic Scholar, Crossref, arXiv or PubMed.

    Services are asked no faster than they allow, and once: answers are kept for a while (in $CITEWELL_CACHE). A fetch that was
    interrupted goes on where it was when it is run again.

        citewell fetch openalex "citation recommendation" --since 2015 --limit 500

        citewell fetch zotero --collection Thesis
    """


_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def _options(name: str) -> list[_Option]:
    from citewell.fetch import service

    site, schemes = service(name).SITE, ", ".join(service(name).SCHEMES)
    key = f" A key in ${site.key_variable} is used." if site.key_variable else ""
    return [
        click.argument("query", default=""),
        click.option("--author", default="", metavar="NAME", help="Papers of this author: a name, or an id."),
        click.option("--doi", "--id", "ids", multiple=True, metavar="ID", help=f"This paper (repeatable): {schemes}."),
        click.option(
            "--doi-file",
            "--id-file",
            "id_files",
            multiple=True,
            type=click.File("r", encoding="utf-8", errors="replace"),
            metavar="FILE",
            help="The papers that FILE lists, one identifier a line; - reads standard input.",
        ),
        click.option("--since", type=click.IntRange(1000, 2100), metavar="YEAR", help="Only papers of YEAR or later."),
        click.option("--before", type=click.IntRange(1001, 2101), metavar="YEAR", help="Only papers from before YEAR."),
        click.option(
            "--limit", type=click.IntRange(1), default=200, show_default=True, metavar="N", help="At most N papers of a search."
        ),
        click.option(
            "--email",
            envvar="CITEWELL_EMAIL",
            default="",
            metavar="ADDRESS",
            help=f"Who asks, so that {site.title} can write to you; $CITEWELL_EMAIL.{key}",
        ),
        click.option(
            "--url",
            default="",
            metavar="URL",
            help=f"A mirror or your institution's proxy; ${site.url_variable} does the same.",
        ),
        click.option(
            "--interval",
            type=click.FloatRange(0, 3600),
            metavar="SECONDS",
            help=f"Wait so long between requests; {site.title} itself is never asked faster than it allows.",
        ),
        click.option(
            "--max-age",
            type=click.FloatRange(0),
            default=7.0,
            show_default=True,
            metavar="DAYS",
            help="Take answers from the cache that are no older.",
        ),
        click.option("--refresh", is_flag=True, help="Take no answers from the cache; ask again for everything."),
        click.option("--dry-run", is_flag=True, help="Show how many papers there are and the first of them; add nothing."),
    ]


def _vectors_option(command: Callable[..., Any]) -> Callable[..., Any]:
    text = "Make the papers' vectors in the background, as 'citewell add' does."
    return click.option("--vectors/--no-vectors", default=True, show_default=True, help=text)(command)


def _command(name: str) -> click.Command:
    """The command of one service."""
    from citewell.fetch import service

    module = _SERVICES[name]
    title = service(module).SITE.title

    def run(**given: Any) -> None:
        _from_service(module, **given)

    run.__doc__ = f"""Fetch papers from {title} by words, by author or by identifier.

    Words, --author and the years narrow one another down; identifiers are looked up besides. What {title} does not
    know is listed.

        citewell fetch {name} "harbour photography" --since 2015

        citewell fetch {name} --doi-file dois.txt
    """
    made = library_option(json_option(run))
    for option in (_vectors_option, *reversed(_options(module))):
        made = option(made)
    return click.command(name)(made)


def _from_service(
    name: str,
    query: str,
    author: str,
    ids: tuple[str, ...],
    id_files: tuple[Iterable[str], ...],
    since: int | None,
    before: int | None,
    limit: int,
    email: str,
    url: str,
    interval: float | None,
    max_age: float,
    refresh: bool,
    dry_run: bool,
    vectors: bool,
    library: Library,
    as_json: bool,
) -> None:
    from citewell.cli.progress import Bar
    from citewell.fetch import Wanted, service
    from citewell.fetch.client import open_line
    from citewell.fetch.fetching import Fetched, fetch, pages

    asked = service(name)
    outcome = Fetched(name)
    wanted = Wanted(query.strip(), author.strip(), tuple(_identifiers(name, ids, id_files, outcome)), since, before, limit)
    if not (wanted.query or wanted.author or wanted.ids or outcome.skipped):
        raise CitewellError("nothing to fetch; give words to search for, --author, --doi or --doi-file")
    if (since is not None or before is not None) and not (wanted.query or wanted.author):
        raise CitewellError("--since and --before narrow a search; give words or --author with them")
    with Bar() as bar:
        if asked.SITE.contact and not email:
            bar.say(f"{asked.SITE.title} likes to know whom to write to; --email or $CITEWELL_EMAIL tells it")
        with open_line(asked.SITE, email, url, interval, max_age, refresh, bar.say) as line:
            if dry_run:
                _show(pages(asked, wanted, line, outcome), outcome, as_json)
                return
            fetch(library, name, wanted, line, bar, outcome)
    _done(outcome, asked.SITE.title, library, vectors, as_json)


def _show(found: Iterator[Page], outcome: Fetched, as_json: bool) -> None:
    """The first page, for a look."""
    from citewell.fetch.fetching import gather
    from citewell.papers import Context, Paper

    listed: list[Paper | Context] = []
    for page in found:
        gather(page, outcome, listed.append)
        if listed:
            break
    papers = [record for record in listed if isinstance(record, Paper)]
    if as_json:
        shown = [brief(paper) | {"id": paper.id or (paper.ids[0] if paper.ids else "")} for paper in papers]
        print_json({"service": outcome.service, "total": outcome.total, "missing": outcome.missing, "papers": shown})
        return
    if outcome.total is not None:
        click.echo(f"{outcome.total:,} papers; the first of them:")
    for paper in papers[:_SHOWN]:
        click.echo(f"  {paper.title} ({', '.join(paper.authors[:3])}{', ' if paper.authors else ''}{paper.year or 'no year'})")


def _identifiers(name: str, ids: tuple[str, ...], files: tuple[Iterable[str], ...], outcome: Fetched) -> Iterator[str]:
    """Canonical identifiers from the command line and from files; what is none is skipped and told."""
    for written in ids:
        if (found := _identifier(name, written)) is None:
            raise CitewellError(f"{written!r} is no identifier; write a DOI, arXiv:1706.03762, PMID:123 ...")
        yield found
    for file in files:
        for number, line in enumerate(file, 1):
            written = line.strip().lstrip("\ufeff")
            if not written or written.startswith("#"):
                continue
            if (found := _identifier(name, written)) is None:
                outcome.skip(f"line {number} of {getattr(file, 'name', 'the list')} is no identifier: {written[:80]}", number)
            else:
                yield found


def _identifier(name: str, written: str) -> str | None:
    from citewell.identifiers import canonical, recognise

    bare = ("arxiv", "openalex", "s2", "acl", *(("pmid",) if name == "pubmed" else ()))
    return recognise(written) or next((found for scheme in bare if (found := canonical(scheme, written))), None)


def _done(outcome: Fetched, title: str, library: Library, vectors: bool, as_json: bool) -> None:
    from citewell.cli.add import started_encoding

    if as_json:
        print_json(outcome)
    else:
        _report(outcome, title, library)
    if vectors and outcome.new_papers and started_encoding(library) and not as_json:
        click.echo("vectors are being made in the background; 'citewell library info' shows how far they are")
    if not outcome.papers and (outcome.missing or outcome.skipped):
        sys.exit(1)


def _report(outcome: Fetched, title: str, library: Library) -> None:
    known = outcome.papers - outcome.new_papers
    there = "" if outcome.total is None else f" of {outcome.total:,} that match"
    asked = (
        f"; {outcome.requests:,} requests, {outcome.from_cache:,} answers from the cache" if outcome.service != "zotero" else ""
    )
    click.echo(
        f"{outcome.papers:,} papers{there} from {title}: {outcome.new_papers:,} new, {known:,} known already or merged; "
        f"{outcome.skipped:,} skipped{asked}"
    )
    if outcome.papers:
        click.echo(f"{library.folder} now holds {len(library):,} papers")
    for identifier in outcome.missing[:_SHOWN]:
        click.echo(f"  {title} does not know {identifier}", err=True)
    for problem in outcome.problems[:_SHOWN]:
        click.echo(f"  skipped: {problem.reason}", err=True)
    more = max(0, len(outcome.missing) - _SHOWN) + max(0, outcome.skipped - _SHOWN)
    if more:
        click.echo(f"  and {more:,} more; --json lists them", err=True)


@click.command("zotero")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--collection", default="", metavar="NAME", help="Only this collection, by name or path, and those below it.")
@click.option("--tag", default="", metavar="NAME", help="Only items with this tag.")
@click.option("--api", is_flag=True, help="Ask the Zotero that is running, by its local API, instead of reading its file.")
@click.option("--url", default="", metavar="URL", help="Where the API is, if not at its usual port; $CITEWELL_ZOTERO_URL.")
@click.option("--dry-run", is_flag=True, help="Show the first items; add nothing.")
@_vectors_option
@library_option
@json_option
def _zotero(
    path: Path | None,
    collection: str,
    tag: str,
    api: bool,
    url: str,
    dry_run: bool,
    vectors: bool,
    library: Library,
    as_json: bool,
) -> None:
    """Fetch the items of Zotero.

    PATH is Zotero's data folder or the zotero.sqlite in it (default: ~/Zotero). It is read while Zotero runs, and never written
    to. Attachments, notes, feeds and what is in the bin stay out; Better BibTeX's citation keys come along.

        citewell fetch zotero --collection "Thesis/Chapter 2"
    """
    from citewell.cli.progress import Bar
    from citewell.fetch.fetching import Fetched, take

    if (api or url) and path:
        raise CitewellError("--api asks the Zotero that is running; give it or PATH, not both")
    outcome = Fetched("zotero")
    with Bar() as bar:
        bar.fetching("Zotero")
        found = _running(url, collection, tag) if api or url else _of_file(path, collection, tag)
        if dry_run:
            _show(found, outcome, as_json)
            return
        take(library, found, outcome, bar)
    _done(outcome, "Zotero", library, vectors, as_json)


def _running(url: str, collection: str, tag: str) -> Iterator[Page]:
    from citewell.fetch import zotero
    from citewell.fetch.cache import cache_folder
    from citewell.fetch.client import Line
    from citewell.fetch.http import Polite

    with Line(Polite(zotero.SITE, cache_folder() / "zotero", address=url, attempts=2), None) as line:
        yield from zotero.items(line, collection, tag)


def _of_file(path: Path | None, collection: str, tag: str) -> Iterator[Page]:
    from citewell.fetch import Page
    from citewell.sources import InputError
    from citewell.sources.zotero import FILE, items

    file = path or Path.home() / "Zotero"
    file = file / FILE if file.is_dir() or path is None else file
    if not file.is_file():
        raise CitewellError(f"there is no Zotero database at {file}; name Zotero's data folder, or --api while Zotero runs")
    try:
        records = items(file, collection, tag)
        while some := list(islice(records, _BATCH)):
            yield Page([*some])
    except InputError as error:
        raise CitewellError(f"{file}: {error}") from None
