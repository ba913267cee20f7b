"""Citations that are written into a copy of a Word file."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import docx as python_docx
import pytest

from citewell.draft import read
from citewell.draft.docx_write import WordChoice, with_citations
from citewell.draft.entries import assign_keys
from citewell.papers import Draft, Paper
from citewell.text.names import parse_all
from tests.draft import word
from tests.draft.word import paragraph, run

BERG = Paper(
    "Counting Boats", authors=parse_all(["Ann Berg", "Bo Holm"]), year=1931, ids=["doi:10.1000/boats"], id="doi:10.1000/boats"
)
LUND = Paper("Tides & Harbours", authors=parse_all(["Cy Lund"]), year=1999, venue="Journal of Tides", id="lund")
ITEM = {"type": "book", "title": "On Chances", "author": [{"family": "Price", "given": "Ann"}], "DOI": "10.1000/chance"}
SECTION = "<w:sectPr><w:pgSz/></w:sectPr>"


def cited(tmp_path: Path, data: bytes, *papers: Paper, style: str = "auto") -> tuple[bytes, Draft, Draft]:
    """The copy with `papers` at every gap, and the drafts before and after."""
    path, copy = tmp_path / "draft.docx", tmp_path / "copy.docx"
    path.write_bytes(data)
    draft = read(path)
    keys = assign_keys(papers, draft.bibliography)
    new, _ = with_citations(data, "draft.docx", draft, [WordChoice(gap.place, papers) for gap in draft.gaps], keys, style)
    copy.write_bytes(new)
    return new, draft, read(copy)


def part(data: bytes, name: str = "word/document.xml") -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def shown(data: bytes) -> str:
    return (
        "".join(re.findall(r"<w:t[ >][^<]*|</w:p>", part(data)))
        .replace('<w:t xml:space="preserve">', "")
        .replace("</w:p>", "|")
    )


def test_a_gap_becomes_author_and_year_with_a_list_at_the_end(tmp_path: Path) -> None:
    data = word.docx(
        paragraph("On Boats", style="Title"),
        paragraph("Boats are ", "counted [", "?", "]. So are tides", word.footnote(2), "."),
        SECTION,
        footnotes={2: paragraph("See [?] for more.")},
    )
    new, before, after = cited(tmp_path, data, BERG, LUND)
    assert shown(new) == (
        "On Boats|Boats are counted (Berg &amp; Holm, 1931; Lund, 1999). So are tides.|References|"
        "Berg, A., &amp; Holm, B. (1931). Counting Boats. https://doi.org/10.1000/boats|"
        "Lund, C. (1999). Tides &amp; Harbours. Journal of Tides.|"
    )
    assert "See " in part(new, "word/footnotes.xml") and "(Berg &amp; Holm, 1931; Lund, 1999)" in part(
        new, "word/footnotes.xml"
    )
    assert part(new).endswith(f"{SECTION}</w:body></w:document>")
    assert len(before.gaps) == 2 and not after.gaps
    assert [after.bibliography[key].title for key in after.citations[0].keys] == [BERG.title, LUND.title]


def test_only_the_runs_at_a_gap_change(tmp_path: Path) -> None:
    odd = '<w:p w:rsidR="00AB"><w:r w:rsidRPr="1"><w:rPr><w:b/></w:rPr><w:t>A &quot;b&quot; &#169; [?] end.</w:t></w:r></w:p>'
    other = "<w:p><w:r><w:rPr><w:i/></w:rPr><w:t xml:space='preserve'>It's &quot;kept&quot; as it is. </w:t></w:r></w:p>"
    data = word.docx(paragraph("On Boats", style="Title"), other, odd, comments={1: "No."})
    new, _, _ = cited(tmp_path, data, BERG)
    before, after = zipfile.ZipFile(io.BytesIO(data)), zipfile.ZipFile(io.BytesIO(new))
    assert before.namelist() == after.namelist()
    assert [name for name in before.namelist() if before.read(name) != after.read(name)] == ["word/document.xml"]
    assert other in part(new)
    open_run = '<w:r w:rsidRPr="1"><w:rPr><w:b/></w:rPr>'
    text = '<w:t xml:space="preserve">'
    assert (
        f'{open_run}{text}A "b" © </w:t></w:r><w:r><w:rPr><w:b/></w:rPr>{text}(Berg &amp; Holm, 1931)</w:t></w:r>'
        f"{open_run}{text} end.</w:t></w:r>" in part(new)
    )


def test_a_document_with_zotero_fields_gets_zotero_fields(tmp_path: Path) -> None:
    data = word.docx(
        paragraph("On Boats", style="Title"), paragraph("Old ", word.zotero("(Price)", ITEM), " and new [?]."), SECTION
    )
    new, before, after = cited(tmp_path, data, BERG)
    instructions = re.findall(r"ZOTERO_ITEM CSL_CITATION (\{.*?\}) </w:instrText>", part(new))
    stored = json.loads(instructions[-1].replace("&amp;", "&").replace("&lt;", "<"))
    item = stored["citationItems"][0]
    assert item["uris"] == ["https://doi.org/10.1000/boats"] and item["itemData"]["DOI"] == "10.1000/boats"
    assert stored["properties"]["plainCitation"] == "(Berg & Holm, 1931)"
    assert part(new).count("ZOTERO_BIBL") == 1 and part(new).count('"begin"') == part(new).count('"end"')
    assert not after.gaps and [each.keys for each in after.citations] == [
        before.citations[0].keys,
        [next(key for key, work in after.bibliography.items() if work.title == BERG.title)],
    ]
    text, _, _ = cited(tmp_path, data, BERG, style="text")
    assert "ZOTERO_BIBL" not in part(text) and "(Berg &amp; Holm, 1931)" in part(text)


def test_a_work_that_zotero_cites_keeps_its_item(tmp_path: Path) -> None:
    data = word.docx(paragraph("On Boats", style="Title"), paragraph("Old ", word.zotero("(Price)", ITEM), " and [?]."))
    price = Paper("On Chances", authors=parse_all(["Ann Price"]), ids=["doi:10.1000/chance"], id="doi:10.1000/chance")
    new, _, after = cited(tmp_path, data, price)
    assert len(after.bibliography) == 1 and after.citations[0].keys == after.citations[1].keys
    assert '"id": 0' in re.findall(r"CSL_CITATION (\{.*?\}) </w:instrText>", part(new))[-1]


def test_a_typed_list_gets_the_entry_in_its_order(tmp_path: Path) -> None:
    entries = ["Abel A (1900) The first of all works. J 1:1-2", "Zorn Z (1950) The last of all works. J 2:3-4"]
    data = word.docx(
        paragraph("On Boats", style="Title"),
        paragraph("As said (Abel 1900; Zorn 1950) and [?]."),
        paragraph("References", style="berschrift1"),
        *(paragraph(entry, style="Bib") for entry in entries),
        paragraph("Appendix", style="berschrift1"),
        paragraph("More."),
    )
    new, _, after = cited(tmp_path, data, BERG)
    assert shown(new).split("|")[3:6] == [entries[0], shown(new).split("|")[4], entries[1]]
    assert shown(new).split("|")[4].startswith("Berg, A.") and part(new).count('w:val="Bib"') == 3
    assert len(after.bibliography) == 3


def test_a_numbered_list_gets_the_next_number(tmp_path: Path) -> None:
    data = word.docx(
        paragraph("On Boats", style="Title"),
        paragraph("As said [1, 2] and [?]."),
        paragraph("References", style="berschrift1"),
        paragraph("1. Abel A. The first of all works. J 1: 1-2, 1900."),
        paragraph("2. Zorn Z. The last of all works. J 2: 3-4, 1950."),
    )
    new, _, after = cited(tmp_path, data, BERG)
    assert "As said [1, 2] and [3].|" in shown(new) and "|3. Berg, A., &amp; Holm, B. (1931). Counting Boats." in shown(new)
    assert [len(each.keys) for each in after.citations] == [2, 1] and not after.gaps


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ((run("XX", "yellow"),), "Bees (Berg &amp; Holm, 1931)."),
        ((run("can count", "yellow"),), "Bees can count (Berg &amp; Holm, 1931)."),
        ((word.commented(1, "can count"),), "Bees can count (Berg &amp; Holm, 1931)."),
    ],
)
def test_highlights_and_comments_are_filled_once(tmp_path: Path, inside: tuple[str, ...], expected: str) -> None:
    data = word.docx(paragraph("On Boats", style="Title"), paragraph("Bees ", *inside, "."), comments={1: "Add a reference"})
    new, _, after = cited(tmp_path, data, BERG)
    assert expected in shown(new) and not after.gaps


def test_two_works_of_one_author_and_year_get_letters(tmp_path: Path) -> None:
    other = Paper("More Boats", authors=BERG.authors, year=1931, id="other")
    new, _, _ = cited(tmp_path, word.docx(paragraph("On Boats", style="Title"), paragraph("Boats [?].")), BERG, other)
    assert "(Berg &amp; Holm, 1931a; Berg &amp; Holm, 1931b)" in shown(new) and "(1931b). More Boats." in shown(new)


def test_the_copy_of_a_file_made_by_another_program(tmp_path: Path) -> None:
    document = python_docx.Document()
    document.add_heading("On Boats", 0)
    document.add_paragraph("Boats are counted [?].").runs[0].bold = True
    document.save(str(tmp_path / "made.docx"))
    for style in ("text", "zotero"):
        new, _, after = cited(tmp_path, (tmp_path / "made.docx").read_bytes(), BERG, style=style)
        opened = python_docx.Document(io.BytesIO(new))
        assert [each.text for each in opened.paragraphs][1:] == [
            "Boats are counted (Berg & Holm, 1931).",
            "References",
            "Berg, A., & Holm, B. (1931). Counting Boats. https://doi.org/10.1000/boats",
        ]
        assert opened.paragraphs[1].runs[1].bold and not after.gaps


@pytest.mark.parametrize("style", ["text", "zotero"])
def test_a_heading_that_waits_for_its_list_gets_it(tmp_path: Path, style: str) -> None:
    data = word.docx(
        paragraph("On Boats", style="Title"),
        paragraph("Boats are counted [?]."),
        paragraph("Literatur"),
        paragraph("Anhang"),
        paragraph("More text."),
        SECTION,
    )
    new, _, _ = cited(tmp_path, data, LUND, style=style)
    assert "References" not in shown(new)
    assert "Literatur|Lund, C. (1999). Tides &amp; Harbours. Journal of Tides.|Anhang|" in shown(new)
