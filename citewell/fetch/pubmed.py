"""PubMed through NCBI's E-utilities: a search gives numbers, the records are then had by the two hundred as XML.

NCBI's history server is not used: what it remembers expires, while a list of numbers in the cache does not, so that a fetch
goes on after any pause. https://www.ncbi.nlm.nih.gov/books/NBK25497/
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.errors import CitewellError
from citewell.fetch.authors import orcid
from citewell.fetch.client import Line, whole_json
from citewell.fetch.http import DamagedAnswerError, RefusedError
from citewell.fetch.search_request import Page, Wanted, missing
from citewell.fetch.site import Site
from citewell.papers import Paper
from citewell.sources.clean import Json, mapping, strings, text
from citewell.sources.json_records import decode

SITE = Site(
    "pubmed",
    "PubMed",
    "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    interval=0.35,
    known_interval=0.11,
    contact="email",
    key_variable="NCBI_API_KEY",
    key_parameter="api_key",
    fixed=(("tool", "citewell"),),
)
SCHEMES = ("pmid", "doi")
_AT_ONCE = 200
_DOIS_AT_ONCE = 50
_MOST = 9_999


def search(wanted: Wanted, line: Line) -> Iterator[Page]:
    if wanted.limit > _MOST:
        raise CitewellError(
            f"PubMed gives at most {_MOST:,} papers of a search; narrow it with --since and --before, or lower --limit"
        )
    terms = [f"({wanted.query})"] if wanted.query else []
    if known := orcid(wanted.author):
        terms.append(f"{known}[auid]")
    elif wanted.author:
        terms.append(f"{wanted.author}[Author]")
    if wanted.since is not None or wanted.before is not None:
        terms.append(f"{wanted.since or 1500}:{(wanted.before or 3001) - 1}[dp]")
    found = _searched(" AND ".join(terms), wanted.limit, line)
    total = text(found.get("count"))
    numbers = strings(found.get("idlist"))
    for begin in range(0, max(1, len(numbers)), _AT_ONCE):
        page = _records(numbers[begin : begin + _AT_ONCE], line)
        page.total = int(total) if total.isascii() and total.isdigit() else None
        yield page


def look_up(ids: list[str], line: Line) -> Iterator[Page]:
    numbers = [identifier.removeprefix("pmid:") for identifier in ids if identifier.startswith("pmid:")]
    for begin in range(0, len(numbers), _AT_ONCE):
        some = numbers[begin : begin + _AT_ONCE]
        page = _records(some, line)
        page.missing = missing([f"pmid:{number}" for number in some], page.records)
        yield page
    dois = [identifier for identifier in ids if identifier.startswith("doi:")]
    for begin in range(0, len(dois), _DOIS_AT_ONCE):
        asked = dois[begin : begin + _DOIS_AT_ONCE]
        term = " OR ".join('"{}"[doi]'.format(doi.removeprefix("doi:").replace('"', "")) for doi in asked)
        found = strings(_searched(term, _AT_ONCE, line).get("idlist"))
        page = _records(found, line)
        # A term that PubMed does not know as a DOI it looks for as words: what was not asked for is left out.
        wanted = set(asked)
        page.records = [each for each in page.records if not isinstance(each, Paper) or not wanted.isdisjoint(each.ids)]
        page.missing = missing(asked, page.records)
        yield page


def _searched(term: str, limit: int, line: Line) -> Json:
    form = {"db": "pubmed", "term": term, "retmode": "json", "retmax": str(limit), "sort": "relevance"}
    return mapping(mapping(decode(line.body("/esearch.fcgi", {}, form=form, check=_found))).get("esearchresult"))


def _found(body: bytes) -> None:
    """Raises where a search ended in a complaint, which comes with status 200."""
    whole_json(body, "esearchresult")
    if complaint := text(mapping(mapping(decode(body)).get("esearchresult")).get("ERROR")):
        raise DamagedAnswerError(f"complains: {complaint[:200]}")


def _records(numbers: list[str], line: Line) -> Page:
    if not numbers:
        return Page([])
    form = {"db": "pubmed", "id": ",".join(numbers), "retmode": "xml"}
    try:
        body = line.body("/efetch.fcgi", {}, form=form, check=_ended)
    except RefusedError as error:
        if error.status != 400:  # all that was asked for is unknown
            raise
        return Page([])
    return Page(line.read("pubmed", body) if b"<PubmedArticle>" in body or b"<PubmedBookArticle>" in body else [])


def _ended(body: bytes) -> None:
    if b"</PubmedArticleSet>" not in body[-200:] and b"<PubmedArticleSet/>" not in body[-200:]:
        raise DamagedAnswerError("gives an answer that ends too early")
