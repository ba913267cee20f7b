"""PubMed through NCBI's E-utilities: a search returns PMIDs, and the records then come as XML, two hundred per request.

NCBI's history server is not used: its sessions expire, while a list of PMIDs in the cache does not, so that a fetch can resume
after any pause. https://www.ncbi.nlm.nih.gov/books/NBK25497/
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.errors import CitewellError
from citewell.fetch.authors import orcid
from citewell.fetch.client import Client, check_json
from citewell.fetch.http import DamagedResponseError, RefusedError
from citewell.fetch.search_request import Page, SearchRequest, missing
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
    fixed_parameters=(("tool", "citewell"),),
)
SCHEMES = ("pmid", "doi")
_PER_REQUEST = 200
_DOIS_PER_REQUEST = 50
_MAX_RESULTS = 9_999


def search(request: SearchRequest, client: Client) -> Iterator[Page]:
    if request.limit > _MAX_RESULTS:
        raise CitewellError(
            f"PubMed returns at most {_MAX_RESULTS:,} papers per search; narrow it with --since and --before, or lower --limit"
        )
    terms = [f"({request.query})"] if request.query else []
    if known := orcid(request.author):
        terms.append(f"{known}[auid]")
    elif request.author:
        terms.append(f"{request.author}[Author]")
    if request.since is not None or request.before is not None:
        terms.append(f"{request.since or 1500}:{(request.before or 3001) - 1}[dp]")
    result = _search(" AND ".join(terms), request.limit, client)
    total = text(result.get("count"))
    numbers = strings(result.get("idlist"))
    for begin in range(0, max(1, len(numbers)), _PER_REQUEST):
        page = _records(numbers[begin : begin + _PER_REQUEST], client)
        page.total = int(total) if total.isascii() and total.isdigit() else None
        yield page


def look_up(ids: list[str], client: Client) -> Iterator[Page]:
    numbers = [identifier.removeprefix("pmid:") for identifier in ids if identifier.startswith("pmid:")]
    for begin in range(0, len(numbers), _PER_REQUEST):
        batch = numbers[begin : begin + _PER_REQUEST]
        page = _records(batch, client)
        page.missing = missing([f"pmid:{number}" for number in batch], page.records)
        yield page
    dois = [identifier for identifier in ids if identifier.startswith("doi:")]
    for begin in range(0, len(dois), _DOIS_PER_REQUEST):
        batch = dois[begin : begin + _DOIS_PER_REQUEST]
        term = " OR ".join('"{}"[doi]'.format(doi.removeprefix("doi:").replace('"', "")) for doi in batch)
        page = _records(strings(_search(term, _PER_REQUEST, client).get("idlist")), client)
        # PubMed searches for an unknown DOI as words; papers that were not requested are removed.
        requested = set(batch)
        page.records = [each for each in page.records if not isinstance(each, Paper) or not requested.isdisjoint(each.ids)]
        page.missing = missing(batch, page.records)
        yield page


def _search(term: str, limit: int, client: Client) -> Json:
    form = {"db": "pubmed", "term": term, "retmode": "json", "retmax": str(limit), "sort": "relevance"}
    return mapping(mapping(decode(client.body("/esearch.fcgi", {}, form=form, check=_check_search))).get("esearchresult"))


def _check_search(body: bytes) -> None:
    """Raise if a search failed, which PubMed reports with status 200."""
    check_json(body, "esearchresult")
    if message := text(mapping(mapping(decode(body)).get("esearchresult")).get("ERROR")):
        raise DamagedResponseError(f"reports an error: {message[:200]}")


def _records(numbers: list[str], client: Client) -> Page:
    if not numbers:
        return Page([])
    form = {"db": "pubmed", "id": ",".join(numbers), "retmode": "xml"}
    try:
        body = client.body("/efetch.fcgi", {}, form=form, check=_check_end)
    except RefusedError as error:
        if error.status != 400:  # all of them are unknown
            raise
        return Page([])
    return Page(client.read("pubmed", body) if b"<PubmedArticle>" in body or b"<PubmedBookArticle>" in body else [])


def _check_end(body: bytes) -> None:
    if b"</PubmedArticleSet>" not in body[-200:] and b"<PubmedArticleSet/>" not in body[-200:]:
        raise DamagedResponseError("returns a truncated answer")
