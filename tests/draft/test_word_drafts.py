"""Word files as drafts."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from citewell.draft import parse, read
from citewell.errors import CitewellError
from citewell.papers import Draft
from citewell.text.names import parse_all
from tests.draft import word
from tests.draft.word import paragraph, run

BAYES = {
    "type": "article-journal",
    "title": "On Chances",
    "author": [{"family": "Price", "given": "Ann"}],
    "DOI": "10.1000/Chance",
}
DATED = BAYES | {"issued": {"date-parts": [[1963, 4]]}}
OTHER = {
    "type": "book",
    "title": "Odds & Ends",
    "author": [{"family": "Ng", "given": "Bo"}],
    "issued": {"date-parts": [["2001"]]},
}
ENDNOTE = (
    " ADDIN EN.CITE <EndNote><Cite><Author>Moss</Author><Year>1999</Year><record><contributors><authors><author>Moss, Kit"
    "</author></authors></contributors><titles><title>Third Opinions</title></titles></record></Cite></EndNote>"
)
SOURCES = (
    "<b:Source><b:Tag>Abe20</b:Tag><b:Title>Own Sources</b:Title><b:Year>2020</b:Year><b:Author><b:Author><b:NameList>"
    "<b:Person><b:Last>Abe</b:Last><b:First>Rin</b:First></b:Person></b:NameList></b:Author></b:Author></b:Source>"
)


def opened(tmp_path: Path, data: bytes) -> Draft:
    path = tmp_path / "draft.docx"
    path.write_bytes(data)
    return read(path)


def source_of(draft: Draft, *, gaps: bool) -> list[str]:
    places = [citation.place for citation in draft.citations if citation.is_gap is gaps]
    return [draft.sources[place.file][place.begin : place.end] for place in places]


def test_citations_of_reference_managers_and_their_works(tmp_path: Path) -> None:
    tag = "MENDELEY_CITATION_v3_" + base64.b64encode(json.dumps({"citationItems": [{"itemData": OTHER}]}).encode()).decode()
    control = f'<w:sdt><w:sdtPr><w:tag w:val="{tag}"/></w:sdtPr><w:sdtContent>{run("(Ng, 2001)")}</w:sdtContent></w:sdt>'
    draft = opened(
        tmp_path,
        word.docx(
            paragraph("Chance in Small Words", style="Title"),
            paragraph("Ann Other", style="Author"),
            paragraph("Abstract", style="berschrift1"),
            paragraph("We count."),
            paragraph("Introduction", style="berschrift1"),
            paragraph("Chances are old ", word.zotero("(Price 1963; Ng 2001)", DATED, OTHER), ". Odds are not ", control, "."),
            paragraph(
                "Again ",
                word.zotero("(Price)", DATED, program=""),
                " and ",
                word.field(" CITATION Abe20 \\l 1033 ", "(Abe)"),
                ".",
            ),
            paragraph("Thirdly", word.footnote(2), " comes ", word.field(ENDNOTE, "(Moss, 1999)"), "."),
            word.table(["Work", "Year"], ["Odds", word.zotero("(Ng)", OTHER)]),
            paragraph(word.field(" ADDIN ZOTERO_BIBL {} CSL_BIBLIOGRAPHY ", "Price, A. On Chances. 1963.")),
            footnotes={2: paragraph("See ", word.zotero("Price", DATED), ".")},
            sources=SOURCES,
        ),
    )
    assert (draft.format, draft.title, draft.authors, draft.abstract) == (
        "docx",
        "Chance in Small Words",
        ["Ann Other"],
        "We count.",
    )
    keys = [citation.keys for citation in draft.citations]
    price, ng = "price1963chances", "ng2001odds"
    assert keys == [[price, ng], [ng], [price], ["Abe20"], [price], ["moss1999third"], [ng]]
    assert source_of(draft, gaps=False)[0] == f"[@{price}; @{ng}]"
    assert draft.bibliography[price].ids == ["doi:10.1000/chance"] and draft.bibliography[price].year == 1963
    assert draft.bibliography["Abe20"].authors == parse_all(["Rin Abe"])
    assert [paragraph.section for paragraph in draft.paragraphs] == ["Introduction"] * 4
    assert "Price, A." not in draft.sources[""] and "(Ng, 2001)" not in draft.sources[""]


def test_comments_and_highlights_are_gaps(tmp_path: Path) -> None:
    draft = opened(
        tmp_path,
        word.docx(
            paragraph("A Title of a Few Words"),
            paragraph("Method", style="Heading2"),
            paragraph(
                "It is known that ", word.commented(1, "bees can count"), ". ", run("They can also add.", "yellow"), " Yes."
            ),
            paragraph("Wasps cannot ", run("XX", "cyan"), ", says ", word.commented(2, "somebody"), " [CITATION]."),
            paragraph("First an item", item=True),
            paragraph("2 * 3 is *not* _six_ at [me](you) and a@b.c, <b> $5 `x` {y} #1 \\cite{z} @handle."),
            paragraph("# no heading"),
            comments={1: "Add a reference -- Chittka?", 2: "Who is that?"},
        ),
    )
    assert draft.title == "A Title of a Few Words"
    assert source_of(draft, gaps=True) == ["<!-- Add a reference – Chittka? -->", "[@?]", "[@?]", "[CITATION]"]
    assert draft.citations[0].note == "Add a reference – Chittka?"
    assert [sentence.cited for sentence in draft.paragraphs[0].sentences] == [True, True, False]
    assert draft.paragraphs[3].text == "2 * 3 is *not* _six_ at [me](you) and a@b.c, <b> $5 `x` {y} #1 \\cite{z} @handle."
    assert [each.text for each in draft.paragraphs][2:] == ["First an item", draft.paragraphs[3].text, "# no heading"]


def test_the_markdown_of_a_word_file_can_be_read_again(tmp_path: Path) -> None:
    draft = opened(tmp_path, word.docx(paragraph("Title", style="Title"), paragraph("One ", run("[?]", "red"), " two. Three.")))
    again = parse(draft.sources[""], "docx")
    assert (again.title, again.citations, again.paragraphs) == (draft.title, draft.citations, draft.paragraphs)


def test_notes_that_refer_to_each_other_are_read_once(tmp_path: Path) -> None:
    """Forty notes that each refer twice to the next would expand to 10¹²."""
    notes = {
        number: paragraph(f"Note {number}", word.footnote(number + 1), word.footnote(number + 1)) for number in range(2, 42)
    }
    notes[42] = paragraph("and the first again", word.footnote(2))
    path = tmp_path / "draft.docx"
    path.write_bytes(word.docx(paragraph("Boats", style="Title"), paragraph("Text", word.footnote(2), "."), footnotes=notes))
    assert read(path).sources[""].count("Note") == 40


def test_a_damaged_file_gives_one_line_with_the_fix(tmp_path: Path) -> None:
    whole = word.docx(paragraph("Title", style="Title"))
    for data in (whole.replace(b"word/document.xml", b"word/elsewhere.xml"), whole[: len(whole) // 2]):
        with pytest.raises(CitewellError, match="save"):
            opened(tmp_path, data)
    with pytest.raises(CitewellError, match="save it again"):
        opened(tmp_path, word.docx("<w:p>"))


@pytest.mark.parametrize(
    "blocks",
    [
        [paragraph("Abstract", style="berschrift1"), paragraph("Why."), paragraph("How."), paragraph("Keywords: boats")],
        [paragraph("Abstract", style="berschrift1"), paragraph("Why."), paragraph("How."), paragraph("X", style="berschrift1")],
        [paragraph("Why.", style="Abstract"), paragraph("How.", style="Abstract"), paragraph("Then the text.")],
        [paragraph("Abstract: Why. How."), paragraph("Then the text.")],
    ],
)
def test_an_abstract_may_have_paragraphs(tmp_path: Path, blocks: list[str]) -> None:
    draft = opened(tmp_path, word.docx(paragraph("On Boats", style="Title"), *blocks, paragraph("Words. " * 600)))
    assert draft.abstract == "Why. How."


def test_text_that_looks_like_markdown_stays_text(tmp_path: Path) -> None:
    texts = ["1. typed by hand.", "12) too.", "Table: of boats.", "- a dash.", "a <!-- sign -->."]
    draft = opened(tmp_path, word.docx(paragraph("On Boats", style="Title"), *map(paragraph, texts)))
    assert [each.text for each in draft.paragraphs] == texts


def test_endnote_data_bookmarks_of_zotero_and_lists_over_paragraphs(tmp_path: Path) -> None:
    stored = base64.b64encode(ENDNOTE.partition("EN.CITE ")[2].encode()).decode()
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'.format
    begin = f'<w:r><w:fldChar w:fldCharType="begin"><w:fldData xml:space="preserve">{stored}</w:fldData></w:fldChar></w:r>'
    inner = begin + "<w:r><w:instrText> ADDIN EN.CITE.DATA </w:instrText></w:r>" + mark("end")
    outer = mark("begin") + "<w:r><w:instrText> ADDIN EN.CITE </w:instrText></w:r>" + inner
    field = f"{outer}{mark('separate')}{run('(Moss, 1999)')}{mark('end')}"
    broken = word.field(" ADDIN EN.CITE ", "(Nobody, 1999)")
    references = mark("begin") + "<w:r><w:instrText> ADDIN EN.REFLIST </w:instrText></w:r>" + mark("separate")
    draft = opened(
        tmp_path,
        word.docx(
            paragraph("On Boats", style="Title"),
            paragraph("One ", field, " and ", broken, "."),
            paragraph(references, "Moss, K. Third Opinions."),
            paragraph("Nobody. Nothing."),
            paragraph("Last.", mark("end")),
            paragraph("After the list."),
        ),
    )
    assert [each.keys for each in draft.citations] == [["moss1999third"]]
    assert [each.text for each in draft.paragraphs][1:] == ["After the list."]
    assert draft.notes[0].startswith("1 EndNote citation cannot be read, because the fields do not describe their works")


def test_typed_citations_are_matched_with_the_reference_list(tmp_path: Path) -> None:
    draft = opened(
        tmp_path,
        word.docx(
            paragraph("On Boats", style="Title"),
            paragraph("Boats float (see Berg & Holm, 1931; von Lund et al. 1999b, p. 4). Berg and Holm (1931) say so."),
            paragraph("Two works (Lund et al. 1999a, b) and one that is unknown (Nobody 2001). In 2001 (July 2001) rain fell."),
            paragraph("References", style="berschrift1"),
            paragraph("Berg, A., & Holm, B. (1931). Counting boats in harbours. Journal of Boats, 3(1), 1-9."),
            paragraph("von Lund C, Moe D, Roe E (1999a) First work on tides. J 1:1. https://doi.org/10.1000/one"),
            paragraph("von Lund C, Moe D, Roe E (1999b) Second work on tides. J 1:2."),
        ),
    )
    one, two, berg = "vonlund1999first", "vonlund1999second", "berg1931counting"
    assert [each.keys for each in draft.citations] == [[berg, two], [berg], [one, two]]
    assert source_of(draft, gaps=False)[0] == f"[see @{berg}; @{two}, p. 4]"
    assert draft.bibliography[berg].authors == parse_all(["A. Berg", "B. Holm"]) and draft.bibliography[one].ids == [
        "doi:10.1000/one"
    ]
    assert draft.sources[""][draft.entries[two].begin :].startswith("von Lund C")
    assert any("not in the reference list: (Nobody 2001)" in note for note in draft.notes)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("One [1]. Two [2-3] and [1,3].", [1, 2, 2]),
        ("One (1). Two (2, 3) and (1; 3) of 12 (5.3) or (7).", [1, 2, 2]),
        (run("One") + '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>1,3</w:t></w:r>' + run(" and so on."), [2]),
    ],
)
def test_numbers_are_citations_where_the_list_is_numbered(tmp_path: Path, text: str, keys: list[int]) -> None:
    works = [f"{at}. Abel A, Moe B. Work {at} of many on boats. Journal {at}: 1-9, 190{at}." for at in (1, 2, 3)]
    heading = paragraph("References", style="berschrift1")
    for listed in ([heading, *map(paragraph, works)], []):
        draft = opened(tmp_path, word.docx(paragraph("On Boats", style="Title"), paragraph(text), *listed))
        assert [len(each.keys) for each in draft.citations] == (keys if listed else [])


def test_a_comment_that_has_its_citation_is_no_gap(tmp_path: Path) -> None:
    data = word.docx(
        paragraph("On Boats", style="Title"), paragraph("Bees ", word.commented(1, "count"), "."), comments={1: "cite"}
    )
    assert len(opened(tmp_path, data).gaps) == 1
    cited = paragraph("Bees ", word.commented(1, "count (Berg, 1931)"), ".")
    data = word.docx(paragraph("On Boats", style="Title"), cited, comments={1: "Add a reference"})
    assert not opened(tmp_path, data).gaps
    data = word.docx(paragraph("On Boats", style="Title"), cited, comments={1: "Add another reference"})
    assert len(opened(tmp_path, data).gaps) == 1


def test_parts_that_are_named_without_the_style_of_a_heading(tmp_path: Path) -> None:
    blocks = [
        "Boote im Hafen", "Ada Berg", "Zusammenfassung", "Wir zählen Boote.", "Schlüsselwörter: Boote, Möwen", "1. Einleitung",
        "Boote schwimmen.", "Danksagung", "Wir danken allen.",
    ]  # fmt: skip
    path = tmp_path / "paper.docx"
    path.write_bytes(word.docx(*map(paragraph, blocks)))
    draft = read(path)
    assert (draft.title, draft.abstract) == ("Boote im Hafen", "Wir zählen Boote.")
    text = [(each.section, each.text) for each in draft.paragraphs]
    assert text[-2:] == [("1. Einleitung", "Boote schwimmen."), ("Danksagung", "Wir danken allen.")]


def test_citations_of_citavi(tmp_path: Path) -> None:
    reference = {"Title": "On boats", "Year": "1931", "Authors": [{"FirstName": "Ada", "LastName": "Berg"}], "Doi": "10.1000/x"}
    stored = base64.b64encode(json.dumps({"Entries": [{"Reference": reference}]}).encode()).decode()
    cited = word.field(f" ADDIN CitaviPlaceholder{{{stored}}}", "(Berg 1931)")
    content = (
        f'<w:sdt><w:sdtPr><w:tag w:val="CitaviBibliography"/></w:sdtPr><w:sdtContent>{paragraph("Berg")}</w:sdtContent></w:sdt>'
    )
    path = tmp_path / "paper.docx"
    path.write_bytes(word.docx(paragraph("Boats"), paragraph("They float ", cited, "."), content))
    draft = read(path)
    (work,) = draft.bibliography.values()
    assert (work.title, work.year, work.ids) == ("On boats", 1931, ["doi:10.1000/x"])
    assert [each.text for each in draft.paragraphs] == ["They float OTHERCIT."]
