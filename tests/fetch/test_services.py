"""Every service, through a real server: paging, years, authors, identifiers, and broken records."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_services import ROOTS, Services, feed

from citewell.errors import CitewellError
from citewell.fetch import SERVICES, Client, SearchRequest, service
from citewell.fetch.fetching import FetchResult, count, pages
from citewell.papers import Context, Paper

Open = Callable[..., Client]
FIRST = {"pubmed": 1}
"""The first number that a service knows; a PubMed id is never 0."""


def fetched(name: str, request: SearchRequest, client: Client) -> tuple[list[Paper], FetchResult]:
    result = FetchResult(name)
    listed: list[Paper | Context] = []
    for page in pages(service(name), request, client, result):
        count(page, result, listed.append)
    return [record for record in listed if isinstance(record, Paper)], result


def test_every_service_is_tested() -> None:
    assert set(ROOTS) == set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("limit", [3, 100, 101, 230, 1000])
def test_a_search_is_paged_through_up_to_its_limit(name: str, limit: int, open_client: Open, services: Services) -> None:
    papers, result = fetched(name, SearchRequest("boats", limit=limit), open_client(name))
    there = services.papers - FIRST.get(name, 0)
    assert len(papers) == min(limit, there)
    assert len({paper.ids[0] for paper in papers}) == len(papers), "no paper comes twice"
    assert result.total == there
    assert result.skipped == 0
    first = papers[0]
    assert (first.title, [*map(str, first.authors)], first.abstract) == (
        f"Boats counted, part {FIRST.get(name, 0)}",
        ["Mira Holt"],
        "We count boats.",
    )
    assert f"doi:10.1000/{FIRST.get(name, 0)}" in first.ids


@pytest.mark.parametrize("name", ["openalex", "semantic_scholar", "crossref"])
def test_references_are_fetched(name: str, open_client: Open) -> None:
    papers, _ = fetched(name, SearchRequest("boats", limit=3), open_client(name))
    assert [len(paper.references) for paper in papers[1:]] == [1, 1]
    cited = papers[1].references[0].ids
    assert set(cited) & set(papers[0].ids)


@pytest.mark.parametrize("name", SERVICES)
def test_a_broken_record_is_skipped_and_reported(name: str, open_client: Open, services: Services) -> None:
    services.broken = {5}
    papers, result = fetched(name, SearchRequest("boats", limit=50), open_client(name))
    assert len(papers) == 49, "one record costs one record"
    assert result.skipped == 1
    assert result.problems[0].reason


@pytest.mark.parametrize("name", SERVICES)
def test_an_empty_result_is_not_an_error(name: str, open_client: Open, services: Services) -> None:
    services.papers = 0
    papers, result = fetched(name, SearchRequest("boats"), open_client(name))
    assert papers == []
    assert result.skipped == 0
    assert result.total == 0


@pytest.mark.parametrize(
    ("name", "ids", "unknown"),
    [
        ("openalex", ["doi:10.1000/1", "openalex:W2", "doi:10.1000/x", "pmid:3"], ["doi:10.1000/x"]),
        ("semantic_scholar", ["doi:10.1000/1", "doi:10.1000/x", f"s2:{2:040x}", "corpus:3"], ["doi:10.1000/x"]),
        ("crossref", ["doi:10.1000/1", "doi:10.1000/2", "doi:10.1000/x", "doi:10.1000/3"], ["doi:10.1000/x"]),
        ("arxiv", ["arxiv:2001.00001", "arxiv:2001.00002", "arxiv:2001.99999", "arxiv:2001.00003"], ["arxiv:2001.99999"]),
        ("pubmed", ["pmid:1", "pmid:2", "doi:10.1000/3", "doi:10.1000/x", "pmid:9999"], ["pmid:9999", "doi:10.1000/x"]),
    ],
)
def test_identifiers_are_looked_up(name: str, ids: list[str], unknown: list[str], open_client: Open) -> None:
    papers, result = fetched(name, SearchRequest(ids=tuple(ids)), open_client(name))
    assert sorted(paper.title for paper in papers) == [f"Boats counted, part {n}" for n in (1, 2, 3)]
    assert result.missing == unknown


@pytest.mark.parametrize("name", SERVICES)
def test_only_unknown_identifiers(name: str, open_client: Open) -> None:
    request = {"arxiv": "arxiv:2001.99999", "pubmed": "pmid:9999"}.get(name, "doi:10.1000/x")
    papers, result = fetched(name, SearchRequest(ids=(request,)), open_client(name))
    assert papers == []
    assert result.missing == [request]


def test_an_identifier_that_a_service_cannot_look_up_is_reported(open_client: Open, services: Services) -> None:
    _, result = fetched("arxiv", SearchRequest(ids=("doi:10.1000/1",)), open_client("arxiv"))
    assert "arXiv cannot look up doi:10.1000/1" in result.problems[0].reason
    assert services.requests == []


@pytest.mark.parametrize("name", ["openalex", "crossref"])
def test_a_doi_with_a_comma_is_requested_separately(name: str, open_client: Open, services: Services) -> None:
    papers, result = fetched(
        name, SearchRequest(ids=("doi:10.1000/1,2" if name == "openalex" else "doi:10.1000/a,b",)), open_client(name)
    )
    assert len(papers) == 1
    assert result.missing == []
    assert "," in services.paths()[-1]
    _, result = fetched(name, SearchRequest(ids=("doi:10.1000/q,r",)), open_client(name))
    assert result.missing == ["doi:10.1000/q,r"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_second_fetch_sends_no_requests(name: str, open_client: Open, services: Services) -> None:
    known = ("arxiv:2001.00001",) if name == "arxiv" else ("doi:10.1000/1", "doi:10.1000/x")
    request = SearchRequest("boats", ids=known, limit=230)
    first, result = fetched(name, request, open_client(name))
    sent = len(services.requests)
    second, result_again = fetched(name, request, open_client(name))
    assert first == second
    assert result.missing == result_again.missing
    assert len(services.requests) == sent


def test_years_narrow_a_search(open_client: Open, services: Services) -> None:
    request = SearchRequest("boats", since=2010, before=2015, limit=5)
    for name in SERVICES:
        fetched(name, request, open_client(name))
    given = {path: parameters for path, parameters, _ in services.requests}
    assert given["/openalex/works"]["filter"] == "from_publication_date:2010-01-01,to_publication_date:2014-12-31"
    assert given["/s2/paper/search"]["year"] == "2010-2014"
    assert given["/crossref/works"]["filter"] == "from-pub-date:2010,until-pub-date:2014"
    assert given["/arxiv/query"]["search_query"] == "all:boats AND submittedDate:[201001010000 TO 201412312359]"
    assert given["/pubmed/esearch.fcgi"]["term"] == "(boats) AND 2010:2014[dp]"


def test_authors_by_name(open_client: Open, services: Services) -> None:
    opened = open_client("openalex")
    fetched("openalex", SearchRequest("boats", author="Mira Holt", limit=5), opened)
    assert services.requests[-1][1]["filter"] == "authorships.author.id:A1|A2"
    assert "2 authors called Mira Holt" in opened.notes[0]
    assert "A1 (Mira Holt, Harbour School, 40 papers)" in opened.notes[0]
    fetched("openalex", SearchRequest(author="A3", limit=5), opened)
    assert services.requests[-1][1]["filter"] == "authorships.author.id:A3"
    fetched("openalex", SearchRequest(author="0000-0002-1825-0097", limit=5), opened)
    assert services.requests[-1][1]["filter"] == "authorships.author.orcid:https://orcid.org/0000-0002-1825-0097"
    with pytest.raises(CitewellError, match="has no author called 'Jo Pike', but lists A3"):
        fetched("openalex", SearchRequest(author="Jo Pike"), opened)
    papers, _ = fetched(
        "semantic_scholar", SearchRequest(author="Reis, Ana", since=2005, before=2007), open_client("semantic_scholar")
    )
    assert "/s2/author/8/papers" in services.paths()
    assert {paper.year for paper in papers} == {2005, 2006}
    fetched("crossref", SearchRequest(author="Mira Holt", limit=5), open_client("crossref"))
    assert services.requests[-1][1]["query.author"] == "Mira Holt"
    fetched("arxiv", SearchRequest("ti:boats OR abs:gulls", author="Mira Holt", limit=5), open_client("arxiv"))
    assert services.requests[-1][1]["search_query"] == '(ti:boats OR abs:gulls) AND au:"Mira Holt"'
    fetched("pubmed", SearchRequest(author="Holt M", limit=5), open_client("pubmed"))
    assert services.requests[-2][1]["term"] == "Holt M[Author]"


@pytest.mark.parametrize(
    ("query", "translated"),
    [
        ("counting boats: a survey", "all:counting AND all:boats AND all:a AND all:survey"),
        ('"harbour photography" gulls', 'all:"harbour photography" AND all:gulls'),
        ("boats OR gulls", "(all:boats OR all:gulls)"),
        ("boats ANDNOT gulls", "all:boats ANDNOT all:gulls"),
        ("cat:cs.CV AND ti:boats", "(cat:cs.CV AND ti:boats)"),
    ],
)
def test_words_in_the_syntax_of_arxiv(query: str, translated: str, open_client: Open, services: Services) -> None:
    fetched("arxiv", SearchRequest(query, limit=1), open_client("arxiv"))
    assert services.requests[0][1]["search_query"] == translated


def test_unsupported_requests_are_errors(open_client: Open) -> None:
    with pytest.raises(CitewellError, match="use words or --author, not both"):
        fetched("semantic_scholar", SearchRequest("boats", author="Ana Reis"), open_client("semantic_scholar"))
    with pytest.raises(CitewellError, match="at most 9,999"):
        fetched("pubmed", SearchRequest("boats", limit=10_000), open_client("pubmed"))
    with pytest.raises(CitewellError, match="at most 30,000"):
        fetched("arxiv", SearchRequest("boats", limit=30_001), open_client("arxiv"))
    with pytest.raises(CitewellError, match="does not understand the query: bad query"):
        fetched("arxiv", SearchRequest("malformed"), open_client("arxiv"))


def test_a_large_search_at_semantic_scholar_pages_by_token(open_client: Open, services: Services) -> None:
    services.papers = 6000
    papers, result = fetched("semantic_scholar", SearchRequest("boats", limit=2100), open_client("semantic_scholar"))
    assert len(papers) == 2100
    assert result.total == 6000
    assert services.paths().count("/s2/paper/search/bulk") == 3


def test_a_batch_too_large_for_semantic_scholar_is_halved(open_client: Open, services: Services) -> None:
    services.troubles.append(lambda path, given: (400, {}, b'{"error":"too large"}') if path.endswith("batch") else None)
    papers, _ = fetched("semantic_scholar", SearchRequest("boats", limit=10), open_client("semantic_scholar"))
    assert len(papers) == 10
    assert services.paths().count("/s2/paper/batch") == 3


def test_a_search_with_an_expired_crossref_cursor_starts_again(open_client: Open, services: Services) -> None:
    services.papers = 450
    request = SearchRequest("boats", limit=20_000)
    interrupted = open_client("crossref")
    walk = service("crossref").search(request, interrupted)
    next(walk)
    next(walk)
    services.troubles.append(lambda path, given: (400, {}, b"expired") if given.get("cursor") == "200" else None)
    again = open_client("crossref")
    papers, _ = fetched("crossref", request, again)
    assert [paper.title for paper in papers] == [f"Boats counted, part {n}" for n in range(450)], "each once"
    assert "the search starts again" in again.notes[0]
    services.troubles.append(lambda path, given: (400, {}, b"never") if given.get("cursor") == "300" else None)
    with pytest.raises(CitewellError, match="status 400: never"):
        fetched("crossref", request, open_client("crossref", refresh=True))


def test_an_empty_page_in_the_middle_of_an_arxiv_list_is_requested_again(open_client: Open, services: Services) -> None:
    services.troubles.append(lambda path, given: feed("", services.papers) if given["start"] == "100" else None)
    papers, _ = fetched("arxiv", SearchRequest("boats", limit=250), open_client("arxiv"))
    assert len(papers) == 250
