"""Every service, asked through a real server: paging, years, authors, identifiers, and records that are broken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_services import ROOTS, Services, feed

from citewell.errors import CitewellError
from citewell.fetch import SERVICES, Line, Wanted, service
from citewell.fetch.fetching import Fetched, gather, pages
from citewell.papers import Context, Paper

Open = Callable[..., Line]
FIRST = {"pubmed": 1}
"""The first number that a service knows; a PubMed id is never 0."""


def fetched(name: str, wanted: Wanted, line: Line) -> tuple[list[Paper], Fetched]:
    outcome = Fetched(name)
    listed: list[Paper | Context] = []
    for page in pages(service(name), wanted, line, outcome):
        gather(page, outcome, listed.append)
    return [record for record in listed if isinstance(record, Paper)], outcome


def test_every_service_is_tested() -> None:
    assert set(ROOTS) == set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("limit", [3, 100, 101, 230, 1000])
def test_a_search_is_paged_through_up_to_its_limit(name: str, limit: int, line: Open, services: Services) -> None:
    papers, outcome = fetched(name, Wanted("boats", limit=limit), line(name))
    there = services.papers - FIRST.get(name, 0)
    assert len(papers) == min(limit, there)
    assert len({paper.ids[0] for paper in papers}) == len(papers), "no paper comes twice"
    assert outcome.total == there
    assert outcome.skipped == 0
    first = papers[0]
    assert (first.title, first.authors, first.abstract) == (
        f"Boats counted, part {FIRST.get(name, 0)}",
        ["Mira Holt"],
        "We count boats.",
    )
    assert f"doi:10.1000/{FIRST.get(name, 0)}" in first.ids


@pytest.mark.parametrize("name", ["openalex", "semantic_scholar", "crossref"])
def test_references_come_along(name: str, line: Open) -> None:
    papers, _ = fetched(name, Wanted("boats", limit=3), line(name))
    assert [len(paper.references) for paper in papers[1:]] == [1, 1]
    cited = papers[1].references[0].ids
    assert set(cited) & set(papers[0].ids)


@pytest.mark.parametrize("name", SERVICES)
def test_a_broken_record_is_skipped_and_told(name: str, line: Open, services: Services) -> None:
    services.broken = {5}
    papers, outcome = fetched(name, Wanted("boats", limit=50), line(name))
    assert len(papers) == 49, "one record costs one record"
    assert outcome.skipped == 1
    assert outcome.problems[0].reason


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_found_is_no_error(name: str, line: Open, services: Services) -> None:
    services.papers = 0
    papers, outcome = fetched(name, Wanted("boats"), line(name))
    assert papers == []
    assert outcome.skipped == 0
    assert outcome.total == 0


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
def test_identifiers_are_looked_up_and_unknown_ones_told(name: str, ids: list[str], unknown: list[str], line: Open) -> None:
    papers, outcome = fetched(name, Wanted(ids=tuple(ids)), line(name))
    assert sorted(paper.title for paper in papers) == [f"Boats counted, part {n}" for n in (1, 2, 3)]
    assert outcome.missing == unknown


@pytest.mark.parametrize("name", SERVICES)
def test_only_unknown_identifiers(name: str, line: Open) -> None:
    wanted = {"arxiv": "arxiv:2001.99999", "pubmed": "pmid:9999"}.get(name, "doi:10.1000/x")
    papers, outcome = fetched(name, Wanted(ids=(wanted,)), line(name))
    assert papers == []
    assert outcome.missing == [wanted]


def test_an_identifier_that_a_service_cannot_look_up_is_told(line: Open, services: Services) -> None:
    _, outcome = fetched("arxiv", Wanted(ids=("doi:10.1000/1",)), line("arxiv"))
    assert "arXiv cannot look up doi:10.1000/1" in outcome.problems[0].reason
    assert services.asked == []


@pytest.mark.parametrize("name", ["openalex", "crossref"])
def test_a_doi_with_a_comma_is_asked_for_alone(name: str, line: Open, services: Services) -> None:
    papers, outcome = fetched(name, Wanted(ids=("doi:10.1000/1,2" if name == "openalex" else "doi:10.1000/a,b",)), line(name))
    assert len(papers) == 1
    assert outcome.missing == []
    assert "," in services.paths()[-1]
    _, outcome = fetched(name, Wanted(ids=("doi:10.1000/q,r",)), line(name))
    assert outcome.missing == ["doi:10.1000/q,r"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_second_time_nothing_is_asked(name: str, line: Open, services: Services) -> None:
    known = ("arxiv:2001.00001",) if name == "arxiv" else ("doi:10.1000/1", "doi:10.1000/x")
    wanted = Wanted("boats", ids=known, limit=230)
    first, told = fetched(name, wanted, line(name))
    asked = len(services.asked)
    second, told_again = fetched(name, wanted, line(name))
    assert first == second
    assert told.missing == told_again.missing
    assert len(services.asked) == asked


def test_years_narrow_a_search(line: Open, services: Services) -> None:
    wanted = Wanted("boats", since=2010, before=2015, limit=5)
    for name in SERVICES:
        fetched(name, wanted, line(name))
    given = {path: parameters for path, parameters, _ in services.asked}
    assert given["/openalex/works"]["filter"] == "from_publication_date:2010-01-01,to_publication_date:2014-12-31"
    assert given["/s2/paper/search"]["year"] == "2010-2014"
    assert given["/crossref/works"]["filter"] == "from-pub-date:2010,until-pub-date:2014"
    assert given["/arxiv/query"]["search_query"] == "all:boats AND submittedDate:[201001010000 TO 201412312359]"
    assert given["/pubmed/esearch.fcgi"]["term"] == "(boats) AND 2010:2014[dp]"


def test_authors_by_name(line: Open, services: Services) -> None:
    opened = line("openalex")
    fetched("openalex", Wanted("boats", author="Mira Holt", limit=5), opened)
    assert services.asked[-1][1]["filter"] == "authorships.author.id:A1|A2"
    assert "2 authors are called Mira Holt" in opened.notes[0]
    assert "A1 (Mira Holt, Harbour School, 40 papers)" in opened.notes[0]
    fetched("openalex", Wanted(author="A3", limit=5), opened)
    assert services.asked[-1][1]["filter"] == "authorships.author.id:A3"
    fetched("openalex", Wanted(author="0000-0002-1825-0097", limit=5), opened)
    assert services.asked[-1][1]["filter"] == "authorships.author.orcid:https://orcid.org/0000-0002-1825-0097"
    with pytest.raises(CitewellError, match="knows no author called 'Jo Pike'; it lists A3"):
        fetched("openalex", Wanted(author="Jo Pike"), opened)
    papers, _ = fetched("semantic_scholar", Wanted(author="Reis, Ana", since=2005, before=2007), line("semantic_scholar"))
    assert "/s2/author/8/papers" in services.paths()
    assert {paper.year for paper in papers} == {2005, 2006}
    fetched("crossref", Wanted(author="Mira Holt", limit=5), line("crossref"))
    assert services.asked[-1][1]["query.author"] == "Mira Holt"
    fetched("arxiv", Wanted("ti:boats OR abs:gulls", author="Mira Holt", limit=5), line("arxiv"))
    assert services.asked[-1][1]["search_query"] == '(ti:boats OR abs:gulls) AND au:"Mira Holt"'
    fetched("pubmed", Wanted(author="Holt M", limit=5), line("pubmed"))
    assert services.asked[-2][1]["term"] == "Holt M[Author]"


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("counting boats: a survey", "all:counting AND all:boats AND all:a AND all:survey"),
        ('"harbour photography" gulls', 'all:"harbour photography" AND all:gulls'),
        ("boats OR gulls", "(all:boats OR all:gulls)"),
        ("boats ANDNOT gulls", "all:boats ANDNOT all:gulls"),
        ("cat:cs.CV AND ti:boats", "(cat:cs.CV AND ti:boats)"),
    ],
)
def test_words_in_the_language_of_arxiv(query: str, asked: str, line: Open, services: Services) -> None:
    fetched("arxiv", Wanted(query, limit=1), line("arxiv"))
    assert services.asked[0][1]["search_query"] == asked


def test_what_a_service_cannot_do_is_said(line: Open) -> None:
    with pytest.raises(CitewellError, match="give the words or --author, not both"):
        fetched("semantic_scholar", Wanted("boats", author="Ana Reis"), line("semantic_scholar"))
    with pytest.raises(CitewellError, match="at most 9,999"):
        fetched("pubmed", Wanted("boats", limit=10_000), line("pubmed"))
    with pytest.raises(CitewellError, match="at most 30,000"):
        fetched("arxiv", Wanted("boats", limit=30_001), line("arxiv"))
    with pytest.raises(CitewellError, match="does not understand the query: bad query"):
        fetched("arxiv", Wanted("malformed"), line("arxiv"))


def test_a_large_search_at_semantic_scholar_goes_by_token(line: Open, services: Services) -> None:
    services.papers = 6000
    papers, outcome = fetched("semantic_scholar", Wanted("boats", limit=2100), line("semantic_scholar"))
    assert len(papers) == 2100
    assert outcome.total == 6000
    assert services.paths().count("/s2/paper/search/bulk") == 3


def test_a_batch_too_large_for_semantic_scholar_is_halved(line: Open, services: Services) -> None:
    services.troubles.append(lambda path, given: (400, {}, b'{"error":"too large"}') if path.endswith("batch") else None)
    papers, _ = fetched("semantic_scholar", Wanted("boats", limit=10), line("semantic_scholar"))
    assert len(papers) == 10
    assert services.paths().count("/s2/paper/batch") == 3


def test_a_cursor_that_crossref_forgot_begins_anew(line: Open, services: Services) -> None:
    services.papers = 450
    wanted = Wanted("boats", limit=20_000)
    interrupted = line("crossref")
    walk = service("crossref").search(wanted, interrupted)
    next(walk)
    next(walk)
    services.troubles.append(lambda path, given: (400, {}, b"expired") if given.get("cursor") == "200" else None)
    again = line("crossref")
    papers, _ = fetched("crossref", wanted, again)
    assert [paper.title for paper in papers] == [f"Boats counted, part {n}" for n in range(450)], "each once"
    assert "walked through anew" in again.notes[0]
    services.troubles.append(lambda path, given: (400, {}, b"never") if given.get("cursor") == "300" else None)
    with pytest.raises(CitewellError, match="status 400: never"):
        fetched("crossref", wanted, line("crossref", refresh=True))


def test_an_empty_page_of_arxiv_in_the_midst_is_asked_for_again(line: Open, services: Services) -> None:
    services.troubles.append(lambda path, given: feed("", services.papers) if given["start"] == "100" else None)
    papers, _ = fetched("arxiv", Wanted("boats", limit=250), line("arxiv"))
    assert len(papers) == 250
