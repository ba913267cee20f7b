"""Manuscripts of many styles: every citation and every gap is found at its place, and nothing else.

``expected.txt`` next to each manuscript lists them in reading order, one per line: file and line, the source text (line ends as
blanks), and the keys, or ``gap`` and the author's note. The two Word files are made here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citewell.draft import parse, read
from citewell.draft.builder import without_marks
from citewell.papers import OTHER_MARK, TARGET_MARK, Draft, Place
from citewell.text.names import parse_all
from tests.draft import word
from tests.draft.word import paragraph, run

FOLDER = Path(__file__).with_name("manuscripts")
FILES = {
    "acl": "paper.tex",
    "biblatex": "article.tex",
    "broken": "half.tex",
    "elsarticle": "letter.tex",
    "ieee": "conference.tex",
    "pandoc": "essay.md",
    "plain": "notes.txt",
    "quarto": "paper.qmd",
    "rmarkdown": "report.Rmd",
    "thesis": "main.tex",
}
DECOYS = (
    "not-this-one hidden typed afterwards dropped trailing not-a-citation not-here nor-here fenced inside signs user".split()
)
"""Keys in comments, in code, and after the end."""
LEFT_OUT = r"\\(?:cite|begin|section|footnote|emph|caption)|\[@|<!--|```|[{}]"
"""Markup that must not be in readable text."""


def written(draft: Draft, place: Place) -> str:
    return draft.sources[place.file][place.begin : place.end]


def citation_lines(draft: Draft, name: str) -> list[str]:
    """The citations of a draft as ``expected.txt`` has them."""
    return [
        f"{citation.place.file or name}:{citation.place.line}\t{' '.join(written(draft, citation.place).split())}\t"
        + (", ".join(citation.keys) or f"gap {citation.note}".rstrip())
        for citation in draft.citations
    ]


@pytest.mark.parametrize("style", FILES)
def test_every_citation_and_gap_is_found_at_its_place(style: str) -> None:
    draft = read(FOLDER / style / FILES[style])
    head, *expected = (FOLDER / style / "expected.txt").read_text("utf-8").splitlines()
    assert "\t".join((draft.format, draft.title, "; ".join(draft.authors), draft.abstract)) == head
    assert citation_lines(draft, FILES[style]) == expected
    assert not {key for citation in draft.citations for key in citation.keys} & set(DECOYS)


@pytest.mark.parametrize("style", FILES)
def test_the_text_is_made_of_its_places(style: str) -> None:
    """A sentence cut out of the source and parsed alone has the same text; put back together, the source is unchanged."""
    draft = read(FOLDER / style / FILES[style])
    for name, source in draft.sources.items():
        places = [each.place for every in draft.paragraphs for each in every.sentences if each.place.file == name]
        places.sort(key=lambda place: (place.begin, -place.end))
        outer = [place for at, place in enumerate(places) if all(place.begin >= before.end for before in places[:at])]
        pieces, at = [], 0
        for place in outer:
            pieces += [source[at : place.begin], source[place.begin : place.end]]
            at = place.end
        assert "".join([*pieces, source[at:]]) == source
    macros = (FOLDER / style / "front" / "macros.tex").read_text("utf-8") if style == "thesis" else ""
    macros += "".join(re.findall(r"^\\newcommand.*\n", draft.sources[""], re.MULTILINE))
    for every in draft.paragraphs:
        assert every.text == " ".join(sentence.text for sentence in every.sentences)
        assert not re.search(LEFT_OUT, every.text), every.text
        for sentence in every.sentences:
            alone = written(draft, sentence.place)
            if draft.format == "text" or "\\begin" in alone or "\n>" in alone or alone.count("$") % 2:
                continue  # it has no markup, or markup that begins before it or ends after it
            again = parse(f"{macros}\n\n{alone}", draft.format)
            assert again.paragraphs and " ".join(again.paragraphs[0].text.split()) == sentence.text


@pytest.mark.parametrize("style", FILES)
def test_contexts_are_the_text_around_the_place(style: str) -> None:
    for citation in read(FOLDER / style / FILES[style]).citations:
        assert citation.context.count(TARGET_MARK) == 1
        assert all(key not in citation.context for key in citation.keys)


def test_bibliographies_are_read() -> None:
    sizes = {style: len(read(FOLDER / style / name).bibliography) for style, name in FILES.items()}
    assert sizes == dict.fromkeys(FILES, 0) | {
        "acl": 4,
        "biblatex": 4,
        "elsarticle": 1,
        "ieee": 3,
        "quarto": 4,
        "rmarkdown": 1,
        "thesis": 3,
    }
    ieee = read(FOLDER / "ieee" / "conference.tex")
    assert ieee.bibliography["b1"].title == "On certain integrals of quiet signals"
    assert ieee.bibliography["b1"].year == 1955 and ieee.bibliography["b1"].authors == parse_all(["G. Eason", "B. Noble"])
    assert ieee.bibliography["b2"].title == "A Treatise on Waking Up"
    assert ieee.bibliography["b3"].ids == ["doi:10.1109/5.771073"]
    assert written(ieee, ieee.entries["b2"]).startswith("\\bibitem{b2} J. Clerk")
    quarto = read(FOLDER / "quarto" / "paper.qmd")
    assert quarto.bibliography["marzluff2010"].ids == ["doi:10.1016/j.anbehav.2009.12.022"]
    assert written(quarto, quarto.entries["cornell2012"]).startswith("@article{cornell2012, title={Social Learning")
    assert quarto.missing == ["more.bib"] and quarto.listed == ["goodwin1976"]


def test_word_files_of_two_kinds(tmp_path: Path) -> None:
    works = [{"type": "book", "title": f"Work {at}", "author": [{"family": name}]} for at, name in enumerate(("Ash", "Birch"))]
    with_fields = word.docx(
        paragraph("On Trees", style="Title"),
        paragraph("Trees are tall ", word.zotero("(Ash; Birch)", *works), ". They grow ", run("[?]", "yellow"), "."),
    )
    with_comments = word.docx(
        paragraph("On Trees", style="Title"),
        paragraph(word.commented(0, "Trees sleep."), " They wake.", word.commented(1, " Nicely put.")),
        comments={0: "citation?", 1: "Like it"},
    )
    expected = [
        ["zotero.docx:5\t[@ashwork; @birchwork]\tashwork, birchwork", "zotero.docx:5\t[?]\tgap"],
        ["comments.docx:5\t<!-- citation? -->\tgap citation?"],
    ]
    for name, data, lines in zip(("zotero.docx", "comments.docx"), (with_fields, with_comments), expected, strict=True):
        (tmp_path / name).write_bytes(data)
        draft = read(tmp_path / name)
        assert (draft.format, draft.title) == ("docx", "On Trees")
        assert citation_lines(draft, name) == lines


def test_invisible_text_is_left_out() -> None:
    text = " ".join(each.text for each in read(FOLDER / "acl" / "paper.tex").paragraphs)
    assert "Refill" not in text and OTHER_MARK in text and "1{,}204" not in text
    assert without_marks(f"It is so {OTHER_MARK}.") == "It is so."
