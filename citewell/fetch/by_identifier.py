"""Papers by their identifiers, each from the service that knows its scheme best: ``citewell add 10.1000/182 pmid:123``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.errors import CitewellError
from citewell.fetch import SearchRequest, open_client, service
from citewell.fetch.fetching import FetchResult, fetch
from citewell.fetch.http import UnreachableError
from citewell.identifiers import canonical, recognise
from citewell.library.add import Outcome
from citewell.library.library import Library
from citewell.progress import SILENT, Progress

SERVICES = {
    "doi": ("crossref", "openalex"),
    "arxiv": ("arxiv", "openalex"),
    "pmid": ("pubmed",),
    "pmcid": ("semantic_scholar",),
    "acl": ("semantic_scholar",),
    "openalex": ("openalex",),
    "s2": ("semantic_scholar",),
    "corpus": ("semantic_scholar",),
    "mag": ("openalex",),
}
"""The services for each scheme; the next one is tried for what the first does not know."""
_URL = re.compile(r"https?://", re.IGNORECASE)
_VIEW = re.compile(r"/(?:full|fulltext|pdf|epdf|abstract|meta|summary)/?$|\.pdf$", re.IGNORECASE)
"""The end of a publisher's URL after the DOI."""


def identifier(text: str) -> str | None:
    """The identifier that `text` is: a DOI, an arXiv id, a PMID, ..., bare, with a prefix, or as a URL; else None."""
    known = recognise(text) or canonical("arxiv", text)
    if known is None and _URL.match(text):
        known = canonical("doi", _VIEW.sub("", text.partition("?")[0].partition("#")[0]))
    return known if known and known.partition(":")[0] in SERVICES else None


def add_by_identifier(
    library: Library, identifiers: Iterable[str], outcome: Outcome, email: str = "", progress: Progress = SILENT
) -> None:
    """Fetch these papers into the library; counts, and identifiers that no service knows, are added to `outcome`."""
    by_services: dict[tuple[str, ...], list[str]] = {}
    for each in dict.fromkeys(identifiers):
        by_services.setdefault(SERVICES[each.partition(":")[0]], []).append(each)
    for names, wanted in by_services.items():
        outcome.identifiers += len(wanted)
        missing = wanted
        for name in names:
            missing = _fetched(library, name, missing, outcome, email, progress) if missing else []
        titles = " and ".join(service(name).SITE.title for name in names)
        for each in missing:
            outcome.skip(each, None, f"not known to {titles}; check the identifier, or export the paper as RIS or BibTeX")


def _fetched(library: Library, name: str, wanted: list[str], outcome: Outcome, email: str, progress: Progress) -> list[str]:
    """Fetch from one service; returns what it does not know."""
    site = service(name).SITE
    result = FetchResult(name)
    try:
        with open_client(site, email, on_message=progress.message) as client:
            fetch(library, name, SearchRequest(ids=tuple(wanted)), client, progress, result)
    except UnreachableError as error:
        reason = str(error).partition("; ")[0]
        raise CitewellError(
            f"{', '.join(wanted[:3])}{' ...' if len(wanted) > 3 else ''} cannot be fetched: {reason}; connect to the internet"
            " and run the command again, or export the papers as RIS or BibTeX and add that file"
        ) from None
    outcome.papers += result.papers
    outcome.new_papers += result.new_papers
    for problem in result.problems:
        outcome.skip(site.title, problem.line, problem.reason)
    return result.missing
