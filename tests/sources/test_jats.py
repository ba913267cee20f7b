"""JATS: the complete record, the full text, and a context for each citation."""

import re
from pathlib import Path

import pytest
from reading import DATA, SAMPLES, needs_samples, papers, problems, taken

from citewell.papers import Paper, Reference
from citewell.sources import jats

FILE = DATA / "jats.xml"
HEAD = b"<front><article-meta><title-group><article-title>T</article-title></title-group></article-meta></front>"


@pytest.fixture(scope="module")
def paper() -> Paper:
    records = taken(jats, FILE)
    assert not problems(records)
    return papers(records)[0]


def body(paragraphs: str, references: int, folder: Path) -> Paper:
    """An article with this body and a list of references r1, r2 ..., the first author of each called Name1, Name2 ..."""
    entries = "".join(
        f'<ref id="r{n}"><element-citation><name><surname>Name{n}</surname></name><article-title>Work {n}</article-title>'
        f"</element-citation></ref>"
        for n in range(1, references + 1)
    )
    article = f"<article>{HEAD.decode()}<body>{paragraphs}</body><back><ref-list>{entries}</ref-list></back></article>"
    return papers(taken(jats, article.encode(), folder))[0]


def cite(number: int, shown: str = "") -> str:
    return f'<xref ref-type="bibr" rid="r{number}">{shown or number}</xref>'


def cited(paper: Paper) -> list[list[str]]:
    return [[work.title.removeprefix("Work ") for work in context.cited] for context in paper.contexts]


def test_the_bibliographic_record(paper: Paper) -> None:
    assert paper.title == "The abcD gene moves Ca2+ in invented cells: A story"
    assert paper.abstract == "Background: Cells are small. Results: They move. A lot."
    assert [*map(str, paper.authors)] == ["Jane Q Doe Jr", "Rainer Roe", "The Invention Group"]
    assert (paper.year, paper.date) == (2012, "2012-12-30")
    assert paper.venue == "Journal of Invented Results"
    assert paper.ids == ["pmid:11111", "pmcid:22222", "doi:10.9999/jir.1"]
    assert paper.keywords == ["calcium", "abcD"]
    assert paper.extra == {
        "type": "article-journal",
        "genre": "research-article",
        "volume": "7",
        "issue": "2",
        "pages": "10-19",
        "publisher": "Made Up Press",
        "issn": "1234-5678",
        "url": "https://example.org/jir/1",
    }


def test_references_keep_their_identifiers(paper: Paper) -> None:
    assert paper.references == [
        Reference(["doi:10.9999/first.1", "pmid:101"], "First things", 2001, ["A Alpha", "O Omega"]),
        Reference(["pmcid:102"], "Second things", 2002, ["B Beta"]),
        Reference(["arxiv:hep-th/0301001"], "Third things", 2003, ["Gamma G"]),
        Reference(["doi:10.9999/fourth.4"], "", None, []),
        Reference([], "The Fifth Book", 2005, ["E Epsilon"]),
    ]


def test_sentences_are_prose_without_citations(paper: Paper) -> None:
    assert [sentence.text for sentence in paper.sentences] == [
        "Cells move OTHERCIT .",
        "This is well known.",
        "Some say no (see also OTHERCIT , Figure 1).",
        "Numbers work too OTHERCIT .",
        "So do superscripts OTHERCIT .",
        "They stand behind the stop.",
        "As OTHERCIT showed, x=1 holds.",
        "A list follows: and ends.",
        "An item cites OTHERCIT .",
        "A dangling one OTHERCIT cites nothing.",
        "A caption, after OTHERCIT .",
    ]
    assert {sentence.section for sentence in paper.sentences} == {"Introduction"}


def test_each_group_of_citations_is_one_context(paper: Paper) -> None:
    places = {work.title or work.ids[0]: number for number, work in enumerate(paper.references, 1)}
    works = [[places[work.title or work.ids[0]] for work in context.cited] for context in paper.contexts]
    assert works == [[1, 2], [3], [1, 2, 3, 4], [2, 3], [1], [4, 5], [5]]
    first = paper.contexts[0]
    assert first.text == "Cells move TARGETCIT . This is well known."
    assert first.section == "Introduction"
    assert len({context.id for context in paper.contexts}) == len(paper.contexts)
    assert not re.search(r"Alpha|Beta|Gamma|\b20\d\d", " ".join(context.text for context in paper.contexts))


def test_each_article_of_a_set_is_a_paper_and_its_letters_are_not() -> None:
    records = papers(taken(jats, FILE))
    assert [paper.title for paper in records[1:]] == ["A correction"]
    assert (records[1].year, records[1].extra["pages"], records[1].venue) == (2014, "e2", "Journal of Invented Results")


@pytest.mark.parametrize(
    ("written", "groups"),
    [
        (f"A ({cite(1)}, {cite(2)}; {cite(3)}).", [["1", "2", "3"]]),
        (f"A {cite(1)}, B {cite(2)}.", [["1"], ["2"]]),
        (f"A {cite(1)} and {cite(2)}.", [["1"], ["2"]]),
        (f"A [{cite(2)}–{cite(5)}].", [["2", "3", "4", "5"]]),
        (f"A [{cite(2)}–{cite(5, '9')}].", [["2", "5"]]),
        (f"A [{cite(5)}-{cite(2)}].", [["5", "2"]]),
        (f"A {cite(2, '[2–4]')}.", [["2", "3", "4"]]),
        (f"A {cite(1, '2001')}–{cite(3, '2003')}.", [["1", "3"]]),
        (f"A {cite(1)}{cite(1)}.", [["1"]]),
        ("No link.", []),
    ],
)
def test_the_papers_that_a_group_cites(tmp_path: Path, written: str, groups: list[list[str]]) -> None:
    assert cited(body(f"<p>{written}</p>", 6, tmp_path)) == groups


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"As Name1 et al. ({cite(1, '2001')}) said.", "As TARGETCIT said."),
        (f"As Name1 and Smith [{cite(1, '2001')}] said.", "As TARGETCIT said."),
        (f"As Name1's ({cite(1, '2001')}) said.", "As TARGETCIT said."),
        (f"It is so (Name1 et al., {cite(1, '2001')}; Name2, {cite(2, '2002')}).", "It is so TARGETCIT ."),
        (f"The Name12 ({cite(1, '2001')}) said.", "The Name12 TARGETCIT said."),
        (f"As Jones ({cite(1, '2001')}) said.", "As Jones TARGETCIT said."),
    ],
)
def test_the_name_before_a_linked_year_belongs_to_the_mark(tmp_path: Path, written: str, text: str) -> None:
    assert [context.text for context in body(f"<p>{written}</p>", 2, tmp_path).contexts] == [text]


def test_sections_are_the_top_level_ones(tmp_path: Path) -> None:
    inner = f"<p>Before {cite(1)}.</p><sec><title>Out</title><sec><title>In</title><p>Deep {cite(1)}.</p></sec></sec>"
    paper = body(inner, 1, tmp_path)
    assert [context.section for context in paper.contexts] == ["", "Out"]


def test_a_paragraph_of_ten_thousand_citations_takes_linear_time(tmp_path: Path) -> None:
    paper = body(f"<p>{'x '.join(cite(1) for _ in range(10_000))}</p>", 1, tmp_path)
    assert len(paper.contexts) == 10_000
    assert max(len(context.text) for context in paper.contexts) < 10_000


def test_archives_that_use_a_namespace(tmp_path: Path) -> None:
    data = (
        b'<OAI-PMH><record><article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/">'
        + HEAD
        + b"</article></record></OAI-PMH>"
    )
    assert jats.matches(data)
    assert [paper.title for paper in papers(taken(jats, data, tmp_path))] == ["T"]


def test_an_article_without_title_or_front_is_a_problem(tmp_path: Path) -> None:
    empty = HEAD.replace(b"T<", b"<")
    data = (
        b"<set>\n<article/>\n<article>" + empty + b"</article>\n<article><p></article>\n<article>" + HEAD + b"</article></set>"
    )
    records = taken(jats, data, tmp_path)
    assert [paper.title for paper in papers(records)] == ["T"]
    assert [problem.line for problem in problems(records)] == [2, 3, 4]


@pytest.mark.parametrize(
    ("head", "is_jats"),
    [
        (FILE.read_bytes(), True),
        (b'<!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "x.dtd"><article><front>', True),
        (b"<article><front><journal-meta>", True),
        (b"<article><h1>A web page</h1>", False),
        (b'<dblp><article key="a/b">', False),
        (b"<html><article-meta>", False),
        (b"@article{x}", False),
    ],
)
def test_detection(head: bytes, is_jats: bool) -> None:
    assert jats.matches(head) == is_jats


@pytest.mark.realdata
@needs_samples
def test_every_sample_is_a_paper() -> None:
    for path in sorted((SAMPLES / "jats").glob("*.xml")):
        records = taken(jats, path)
        assert not problems(records), path
        (paper,) = papers(records)
        written = path.read_text("utf-8")
        assert paper.title and paper.abstract and paper.authors and paper.year and paper.ids
        assert "digest" not in paper.abstract[:20].lower()
        assert len(paper.references) == written.count("<ref id=")
        known = sum(identifier.startswith("doi:") for work in paper.references for identifier in work.ids)
        assert known >= sum(
            '<pub-id pub-id-type="doi"' in entry for entry in re.findall(r"<ref id=.*?</ref>", written, re.DOTALL)
        )
        in_tables = sum(table.count('ref-type="bibr"') for table in re.findall(r"<table[ >].*?</table>", written, re.DOTALL))
        citations = sum(len(context.cited) for context in paper.contexts)
        assert citations == written.count('ref-type="bibr"') - in_tables
        assert len(paper.contexts) <= citations
        assert all(context.text.count("TARGETCIT") == 1 for context in paper.contexts)
        assert not any(re.search(r"\w+ et al\.?,? \(?(?:19|20)\d\d", context.text) for context in paper.contexts)
