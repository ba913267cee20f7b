"""``citewell fetch``: add papers from Zotero and from services to the library."""

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
    from citewell.fetch.fetching import FetchResult

_SERVICES = {
    "openalex": "openalex",
    "semantic-scholar": "semantic_scholar",
    "crossref": "crossref",
    "arxiv": "arxiv",
    "pubmed": "pubmed",
}
"""The module of each service by the name of its command."""
_SHOWN = 20
_BATCH = 100


class _Fetch(click.Group):
    """Makes each command when it is called, so that HTTP is loaded only then."""

    def list_commands(self, context: click.Context) -> list[str]:
        return ["zotero", *_SERVICES]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name == "zotero":
            return _zotero
        return _command(name) if name in _SERVICES else None


@click.group("fetch", cls=_Fetch)
def command() -> None:
    """Fetch papers from Zotero, OpenAlex, Semantic Scholar, Crossref, arXiv or PubMed.

    Requests respect the rate limit of each service, and answers are cached (in $CITEWELL_CACHE). An interrupted fetch resumes
    where it stopped when you run it again.

        citewell fetch openalex "citation recommendation" --since 2015 --limit 500

        citewell fetch zotero --collection Thesis
    """


_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def _options(name: str) -> list[_Option]:
    from citewell.fetch import service

    site, schemes = service(name).SITE, ", ".join(service(name).SCHEMES)
    key = f" Your key, if any: ${site.key_variable}." if site.key_variable else ""
    return [
        click.argument("query", default=""),
        click.option("--author", default="", metavar="NAME", help="Papers by this author: a name or an id."),
        click.option("--doi", "--id", "ids", multiple=True, metavar="ID", help=f"This paper (repeatable): {schemes}."),
        click.option(
            "--doi-file",
            "--id-file",
            "id_files",
            multiple=True,
            type=click.File("r", encoding="utf-8", errors="replace"),
            metavar="FILE",
            help="The papers listed in FILE, one identifier per line; - reads standard input.",
        ),
        click.option("--since", type=click.IntRange(1000, 2100), metavar="YEAR", help="Only papers from YEAR or later."),
        click.option("--before", type=click.IntRange(1001, 2101), metavar="YEAR", help="Only papers from before YEAR."),
        click.option(
            "--limit",
            type=click.IntRange(1),
            default=200,
            show_default=True,
            metavar="N",
            help="Maximum number of papers of a search.",
        ),
        click.option(
            "--email",
            envvar="CITEWELL_EMAIL",
            default="",
            metavar="ADDRESS",
            help=f"Your address, so that {site.title} can contact you; default: $CITEWELL_EMAIL.{key}",
        ),
        click.option(
            "--url",
            default="",
            metavar="URL",
            help=f"Use a mirror or a proxy; default: ${site.url_variable}.",
        ),
        click.option(
            "--interval",
            type=click.FloatRange(0, 3600),
            metavar="SECONDS",
            help=f"Time between two requests; never shorter than {site.title} allows, except at a mirror.",
        ),
        click.option(
            "--max-age",
            type=click.FloatRange(0),
            default=7.0,
            show_default=True,
            metavar="DAYS",
            help="Use cached answers up to this age.",
        ),
        click.option("--refresh", is_flag=True, help="Ignore cached answers."),
        click.option("--dry-run", is_flag=True, help="Show how many papers match and the first of them; add nothing."),
    ]


def _vectors_option(command: Callable[..., Any]) -> Callable[..., Any]:
    text = "Compute vectors in the background, as 'citewell add' does."
    return click.option("--vectors/--no-vectors", default=True, show_default=True, help=text)(command)


def _command(name: str) -> click.Command:
    """The command of one service."""
    from citewell.fetch import service

    module = _SERVICES[name]
    title = service(module).SITE.title

    def run(**options: Any) -> None:
        _from_service(module, **options)

    run.__doc__ = f"""Fetch papers from {title} by words, by author or by identifier.

    A paper must match the words, --author and the years; identifiers are looked up in addition. Identifiers unknown to
    {title} are listed.

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
    from citewell.cli.progress import TerminalProgress
    from citewell.fetch import SearchRequest, service
    from citewell.fetch.client import open_client
    from citewell.fetch.fetching import FetchResult, fetch, pages

    provider = service(name)
    result = FetchResult(name)
    request = SearchRequest(
        query.strip(), author.strip(), tuple(_identifiers(name, ids, id_files, result)), since, before, limit
    )
    if not (request.query or request.author or request.ids or result.skipped):
        raise CitewellError("nothing to fetch; pass words to search for, --author, --doi or --doi-file")
    if (since is not None or before is not None) and not (request.query or request.author):
        raise CitewellError("--since and --before narrow a search; pass words or --author as well")
    with TerminalProgress() as progress:
        if provider.SITE.contact and not email:
            progress.message(f"{provider.SITE.title} asks for a contact address; set --email or $CITEWELL_EMAIL")
        with open_client(provider.SITE, email, url, interval, max_age, refresh, progress.message) as client:
            if dry_run:
                _show(pages(provider, request, client, result), result, as_json)
                return
            fetch(library, name, request, client, progress, result)
    _done(result, provider.SITE.title, library, vectors, as_json)


def _show(source: Iterator[Page], result: FetchResult, as_json: bool) -> None:
    """Print the first page."""
    from citewell.fetch.fetching import count
    from citewell.papers import Context, Paper

    listed: list[Paper | Context] = []
    for page in source:
        count(page, result, listed.append)
        if listed:
            break
    papers = [record for record in listed if isinstance(record, Paper)]
    if as_json:
        shown = [brief(paper) | {"id": paper.id or (paper.ids[0] if paper.ids else "")} for paper in papers]
        print_json({"service": result.service, "total": result.total, "missing": result.missing, "papers": shown})
        return
    if result.total is not None:
        click.echo(f"{result.total:,} papers match; the first ones:")
    for paper in papers[:_SHOWN]:
        described = ", ".join([*map(str, paper.authors[:3]), str(paper.year or "no year")])
        click.echo(f"  {paper.title} ({described})")


def _identifiers(name: str, ids: tuple[str, ...], files: tuple[Iterable[str], ...], result: FetchResult) -> Iterator[str]:
    """Canonical identifiers from the command line and from files; other lines of the files are reported as skipped."""
    for written in ids:
        if (identifier := _identifier(name, written)) is None:
            raise CitewellError(f"{written!r} is not an identifier; use a DOI, arXiv:1706.03762, PMID:123 ...")
        yield identifier
    for file in files:
        for number, line in enumerate(file, 1):
            written = line.strip().lstrip("\ufeff")
            if not written or written.startswith("#"):
                continue
            if (identifier := _identifier(name, written)) is None:
                result.skip(
                    f"line {number} of {getattr(file, 'name', 'the list')} is not an identifier: {written[:80]}", number
                )
            else:
                yield identifier


def _identifier(name: str, written: str) -> str | None:
    from citewell.identifiers import canonical, recognise

    bare = ("arxiv", "openalex", "s2", "acl", *(("pmid",) if name == "pubmed" else ()))
    return recognise(written) or next((known for scheme in bare if (known := canonical(scheme, written))), None)


def _done(result: FetchResult, title: str, library: Library, vectors: bool, as_json: bool) -> None:
    from citewell.cli.add import started_encoding

    if as_json:
        print_json(result)
    else:
        _report(result, title, library)
    if vectors and result.new_papers and started_encoding(library) and not as_json:
        click.echo("Vectors are being computed in the background; 'citewell library info' shows their progress.")
    if not result.papers and (result.missing or result.skipped):
        sys.exit(1)


def _report(result: FetchResult, title: str, library: Library) -> None:
    known = result.papers - result.new_papers
    papers = f"{result.papers:,} papers" if result.total is None else f"{result.papers:,} of {result.total:,} matching papers"
    requests = (
        f"; {result.requests:,} requests, {result.from_cache:,} answers from the cache" if result.service != "zotero" else ""
    )
    click.echo(
        f"{papers} fetched from {title}: {result.new_papers:,} new, {known:,} merged with known ones, "
        f"{result.skipped:,} skipped{requests}"
    )
    if result.papers:
        click.echo(f"{library.folder} now contains {len(library):,} papers")
    for identifier in result.missing[:_SHOWN]:
        click.echo(f"  {title} does not know {identifier}", err=True)
    for problem in result.problems[:_SHOWN]:
        click.echo(f"  skipped: {problem.reason}", err=True)
    more = max(0, len(result.missing) - _SHOWN) + max(0, result.skipped - _SHOWN)
    if more:
        click.echo(f"  and {more:,} more; --json lists them", err=True)


@click.command("zotero")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--collection", default="", metavar="NAME", help="Only this collection (name or path) and its subcollections.")
@click.option("--tag", default="", metavar="NAME", help="Only items with this tag.")
@click.option("--api", is_flag=True, help="Use the local API of a running Zotero instead of its database file.")
@click.option("--url", default="", metavar="URL", help="Address of the API; default: $CITEWELL_ZOTERO_URL or the usual port.")
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
    """Fetch the items of your Zotero library.

    PATH is Zotero's data folder or the zotero.sqlite in it (default: ~/Zotero). Zotero may be running; citewell never writes to
    its database. Attachments, notes, feeds and items in the bin are left out; citation keys of Better BibTeX are included.

        citewell fetch zotero --collection "Thesis/Chapter 2"
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.fetch.fetching import FetchResult, add_pages

    if (api or url) and path:
        raise CitewellError("--api uses the running Zotero; pass --api or PATH, not both")
    result = FetchResult("zotero")
    with TerminalProgress() as progress:
        progress.start("fetching from Zotero", None, "papers")
        source = _from_api(url, collection, tag) if api or url else _from_file(path, collection, tag)
        if dry_run:
            _show(source, result, as_json)
            return
        add_pages(library, source, result, progress)
    _done(result, "Zotero", library, vectors, as_json)


def _from_api(url: str, collection: str, tag: str) -> Iterator[Page]:
    from citewell.fetch import zotero
    from citewell.fetch.cache import cache_folder
    from citewell.fetch.client import Client
    from citewell.fetch.http import HttpSession

    with Client(HttpSession(zotero.SITE, cache_folder() / "zotero", address=url, attempts=2), None) as client:
        yield from zotero.items(client, collection, tag)


def _from_file(path: Path | None, collection: str, tag: str) -> Iterator[Page]:
    from citewell.fetch import Page
    from citewell.sources import InputError
    from citewell.sources.zotero import FILE, items

    file = path or Path.home() / "Zotero"
    file = file / FILE if file.is_dir() or path is None else file
    if not file.is_file():
        raise CitewellError(f"no Zotero database at {file}; pass Zotero's data folder, or use --api while Zotero is running")
    try:
        records = items(file, collection, tag)
        while batch := list(islice(records, _BATCH)):
            yield Page([*batch])
    except InputError as error:
        raise CitewellError(f"{file}: {error}") from None
