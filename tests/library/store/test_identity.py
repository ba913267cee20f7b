"""When two records are the same paper, and when they are not."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.library.store.identity import Signature, paper_keys, same_work, title_key
from citewell.papers import Paper
from citewell.text.analysis import terms
from citewell.text.author_terms import authors_text, families
from citewell.text.names import parse_all
from tests.library.records import store, take

ATTENTION = Paper("Attention Is All You Need", authors=parse_all(["Ashish Vaswani", "Noam Shazeer"]), year=2017)


def stored_papers(folder: Path, *papers: Paper) -> int:
    """The number of papers in the store after these records are taken one by one."""
    with store(folder) as db:
        take(db, *([paper] for paper in papers))
        return int(db.execute("SELECT count(*) FROM papers").fetchone()[0])


@pytest.mark.parametrize(
    "key", ["doi:10.1000/1", "arxiv:1706.03762", "pmid:11", "acl:P19-1001", "openalex:W5", f"s2:{'a' * 40}", "set:7"]
)
def test_one_shared_identifier_is_enough(key: str, tmp_path: Path) -> None:
    assert stored_papers(tmp_path, Paper("One title", ids=["corpus:1", key]), Paper("Quite another", ids=[key, "mag:2"])) == 1


def test_an_acl_doi_is_the_acl_identifier(tmp_path: Path) -> None:
    assert stored_papers(tmp_path, Paper("One", ids=["doi:10.18653/v1/p19-1001"]), Paper("Two", ids=["acl:P19-1001"])) == 1


@pytest.mark.parametrize(
    ("other", "papers"),
    [
        (Paper("ATTENTION is all you need.", authors=parse_all(["N. Shazeer"]), year=2017), 1),
        (Paper("Attention is all you need", authors=parse_all(["Vaswani, Ashish"]), year=2018), 1),
        (Paper("Attention is all you need", authors=parse_all(["Vaswani, A"]), year=2016, ids=["doi:10.1000/other"]), 1),
        (Paper("Attention is all you need", authors=parse_all(["Ashish Vaswani"]), year=2019), 2),
        (Paper("Attention is all you need", authors=parse_all(["Ashish Vaswani"])), 2),
        (Paper("Attention is all you need", authors=parse_all(["Somebody Else"]), year=2017), 2),
        (Paper("Attention is all you need", year=2017), 2),
        (Paper("Attention is not all you need", authors=parse_all(["Ashish Vaswani"]), year=2017), 2),
    ],
)
def test_without_a_shared_identifier_title_author_and_year_decide(other: Paper, papers: int, tmp_path: Path) -> None:
    assert stored_papers(tmp_path, ATTENTION, other) == papers
    assert stored_papers(tmp_path / "turned", other, ATTENTION) == papers


def of_journal(volume: str, pages: str, venue: str = "Journal of Piers", **more: Any) -> Paper:
    extra = {"volume": volume, "pages": pages, "type": "article"}
    return Paper("Editorial", authors=parse_all(["Ada Berg"]), year=1990, venue=venue, extra=extra, **more)


def book(volume: str) -> Paper:
    return Paper("Harbours", authors=parse_all(["Ada Berg"]), year=1985, extra={"volume": volume, "type": "book"})


@pytest.mark.parametrize(
    ("one", "other", "papers"),
    [
        (of_journal("1", "1--2"), of_journal("2", "77--78"), 2),
        (of_journal("1", "1--2"), of_journal("1", "77--78"), 2),
        (of_journal("1", "1--2"), of_journal("01", "1-2"), 1),
        (of_journal("1", "1--2"), of_journal("", ""), 1),
        (of_journal("1", "1--2"), of_journal("7", "5", venue="CoRR"), 1),
        (of_journal("1", "", ids=["wos:1"]), of_journal("1", "", ids=["wos:2"]), 2),
        (of_journal("1", "", ids=["pmid:1"]), of_journal("1", "", ids=["doi:10.1000/1"]), 1),
        (book("1"), book("2"), 2),
        (book("1"), book(""), 1),
    ],
)
def test_papers_at_different_places_are_not_the_same(one: Paper, other: Paper, papers: int, tmp_path: Path) -> None:
    assert stored_papers(tmp_path, one, other) == papers
    assert stored_papers(tmp_path / "turned", other, one) == papers


def test_any_title_that_a_paper_has_had_identifies_it(tmp_path: Path) -> None:
    preprint = Paper("Old title", authors=parse_all(["Ada Byron"]), year=2019, ids=["arxiv:1901.00001"])
    published = Paper("New title", authors=parse_all(["Ada Byron"]), year=2020, ids=["arxiv:1901.00001", "doi:10.1000/1"])
    for number, third in enumerate(
        (
            Paper("New title", authors=parse_all(["A. Byron"]), year=2020),
            Paper("Old title", authors=parse_all(["A. Byron"]), year=2020),
        )
    ):
        assert stored_papers(tmp_path / f"{number}", preprint, published, third) == 1


def test_one_record_may_join_several_papers(tmp_path: Path) -> None:
    records = [
        Paper("Title", authors=parse_all(["Ada Byron"]), year=2018),
        Paper("Title", authors=parse_all(["Ada Byron", "Bob Stone"]), year=2020),
        Paper("Title", authors=parse_all(["Bob Stone"]), year=2022),
        Paper("Another title", ids=["pmid:1"]),
        Paper("Title", authors=parse_all(["A. Byron"]), year=2019, ids=["pmid:1"]),
    ]
    assert stored_papers(tmp_path / "apart", *records[:4]) == 4
    for number, order in enumerate(permutations(records)):
        if number % 7 == 0:
            assert stored_papers(tmp_path / f"{number}", *order) == 2, "three of them share a year, the fourth is two years off"


def test_identical_records_with_few_fields_are_one_paper(tmp_path: Path) -> None:
    assert stored_papers(tmp_path, Paper("Notes"), Paper("Notes"), Paper("Notes", venue="Elsewhere")) == 2


def test_a_paper_always_has_a_key() -> None:
    assert paper_keys(Paper()) and paper_keys(Paper(ids=["doi:10.18653/v1/p19-1001"])) == [
        "doi:10.18653/v1/p19-1001",
        "acl:P19-1001",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Émile  Zola: a Life", "emile zola, a life"),
        ("ﬁne-tuning", "Fine tuning"),
        ("Straße", "STRASSE"),
        ("α-helix", "Α HELIX"),
    ],
)
def test_titles_differ_by_their_words_alone(one: str, other: str) -> None:
    assert title_key(one) == title_key(other) is not None


@pytest.mark.parametrize("title", ["", " ", "...", "§"])
def test_a_title_without_words_is_none(title: str) -> None:
    assert title_key(title) is None


@pytest.mark.parametrize(
    ("written", "family"),
    [
        ("Ada Lovelace", "lovelace"),
        ("Lovelace, Ada", "lovelace"),
        ("J. Müller", "muller"),
        ("Wei Wang 0001", "wang"),
        ("Plato", "plato"),
        ("", ""),
    ],
)
def test_family_names(written: str, family: str) -> None:
    assert families(parse_all([written])) == ({family} if family else set())


names = st.sets(st.sampled_from(["Ada Byron", "Byron, A", "Bob Stone", "C. Young; D. Old", ""]))
faces = st.builds(
    Signature, st.sets(st.integers(0, 2)), st.sets(st.integers(2000, 2005), max_size=2), names.map(parse_all).map(families)
)


@given(faces, faces, faces)
def test_the_same_work_stays_the_same_when_more_is_known(one: Signature, other: Signature, more: Signature) -> None:
    """Without this, the papers would depend on the order of the records."""
    assert same_work(one, other) == same_work(other, one)
    if same_work(one, other):
        assert same_work(Signature(*(mine | theirs for mine, theirs in zip(one, more, strict=True))), other)


@pytest.mark.parametrize(
    ("authors", "text"),
    [
        (["Ada Lovelace", "Lovelace, A.", "Lovelace"], "lovelace0 lovelace0a"),
        (["Zoë Müller-Kühn; P. O'Brien"], "mullerkuhn0 mullerkuhn0z obrien0 obrien0p"),
        (["Wei Jin 0001"], "jin0 jin0w"),
        (["", " ", "..."], ""),
    ],
)
def test_authors_are_found_by_their_names_however_written(authors: list[str], text: str) -> None:
    assert authors_text(parse_all(authors)) == text
    assert [word for word, _ in terms(text).values()] == text.split(), "the analysis of text leaves them as they are"
