r"""LaTeX drafts: titles, abstracts, acronyms, notes, packages and the parts that do not cite."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Manuscript
from citewell.draft import parse, read
from citewell.draft.accept import Choice, with_citations
from citewell.draft.queries import query_context


def document(body: str, preamble: str = "") -> str:
    return f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


@pytest.mark.parametrize("heading", ["\\section{Abstract}", "\\section*{Zusammenfassung}", "\\chapter*{Management Summary}"])
def test_an_abstract_under_a_heading(heading: str) -> None:
    draft = parse(
        document(f"{heading}\nWe count boats.\n\nThey float.\n\nKeywords: boats\n\\section{{Introduction}}\nText is here.")
    )
    assert draft.abstract == "We count boats. They float."
    assert [each.text for each in draft.paragraphs] == ["Text is here."]
    assert draft.title == ""


def test_the_same_heading_at_the_end_is_a_conclusion() -> None:
    draft = parse(document("\\section{Boote}\nSie schwimmen.\n\\section{Zusammenfassung}\nDas war es."))
    assert draft.abstract == "" and len(draft.paragraphs) == 2


@pytest.mark.parametrize(
    ("preamble", "body"),
    [
        ("\\newcommand{\\titel}{Boats in the harbour}", "\\section{Declaration}\nMine."),
        ("", "\\begin{titlepage}{\\Huge Thesis}\n\n{\\Large Boats in the harbour}\n\n\\end{titlepage}\\section{Introduction}"),
        ("\\hypersetup{pdftitle={Boats in the harbour}}", "\\section{Abstract}\nShort."),
        ("", "\\section*{Declaration}\nI wrote it.\n\\section{Boats in the harbour}\nText."),
        ("\\title{Boats in the harbour\\thanks{Funded.}}", "\\section{Introduction}"),
    ],
)
def test_titles(preamble: str, body: str) -> None:
    assert parse(document(body, preamble)).title == "Boats in the harbour"


def test_shorthands_of_german() -> None:
    draft = parse(document('\\section*{Erkl"arung}\nIch schw"ore es.', '\\usepackage[ngerman]{babel}\n\\title{Gr"o"se}'))
    assert (draft.title, draft.paragraphs[0].section, draft.paragraphs[0].text) == ("Größe", "Erklärung", "Ich schwöre es.")
    assert '"a' in parse(document('He said "a boat".')).paragraphs[0].text


def test_acronyms_are_written_out_at_their_first_use() -> None:
    preamble = (
        "\\newacronym[shortplural=Bs]{boat}{BT}{Big Boat}\n\\DeclareAcronym{gull}{short=GL, long={Grey Gull}}\n"
        "\\newglossaryentry{pier}{name={pier},description={a place}}"
    )
    body = "A \\gls{boat} and \\glspl{boat} at a \\gls{pier}; \\acl{gull}, \\acs{gull}, \\ac{other}.\n\n"
    draft = parse(document(body + "\\begin{acronym}\\acro{other}[OT]{Other Thing}\\end{acronym}", preamble))
    assert [each.text for each in draft.paragraphs] == ["A Big Boat (BT) and BTs at a pier; Grey Gull, GL, Other Thing (OT)."]


def test_names_with_html_entities() -> None:
    assert parse(document("Text.", "\\title{T}\\author{J&ouml;rg M&uuml;ller \\and Ida Berg}")).authors == [
        "Jörg Müller",
        "Ida Berg",
    ]


NOTES = "\\newcommand\\cmg[1]{{\\color{gray}[#1]}}\n\\newcommand{\\off}[1]{}"


@pytest.mark.parametrize(
    ("call", "note"),
    [
        ("\\todo{cite}", "cite"),
        ("\\cmg{cite}", "cite"),
        (
            "\\cmg{Cite Berg and how she counts red boats from a pier in the harbour, at night and by day, in June.}",
            "Berg",
        ),
        ("\\cmg{we should cite the gull paper}", "gull"),
        ("\\off{cite the gull paper}", "gull"),
    ],
)
def test_a_gap_in_a_note_is_filled_where_the_note_is(call: str, note: str) -> None:
    draft = parse(document(f"Boats float {call} on water.", NOTES))
    (gap,) = draft.gaps
    assert draft.sources[""][gap.place.begin : gap.place.end] == call
    assert note in gap.note and (note == "cite" or note in query_context(gap))
    new = with_citations(draft, [Choice(gap.place, ("berg",))])[""]
    assert "Boats float \\cite{berg} on water." in new


def test_other_notes_are_not_text() -> None:
    draft = parse(document("Boats float \\cmg{say this better} on water. \\off{Hidden text.}", NOTES))
    assert not draft.gaps and draft.paragraphs[0].text == "Boats float on water."


def test_commands_and_environments_for_parts() -> None:
    body = (
        "\\funding{By the harbour.}\n\n\\begin{danksagung}An Ida.\\end{danksagung}\n\n"
        "\\authorcontributions{I. B. wrote it.}\n\nText is here."
    )
    sections = [each.section for each in parse(document(f"\\section{{Boats}}{body}")).paragraphs]
    assert sections == ["funding", "danksagung", "authorcontributions", "Boats"]


def test_a_local_class_and_package_name_the_bibliography_and_define_macros(tmp_path: Path) -> None:
    (tmp_path / "thesis.cls").write_text("\\LoadClass{report}\n\\RequirePackage{mine,graphicx}\n% \\addbibresource{no.bib}\n")
    (tmp_path / "mine.sty").write_text("\\addbibresource[label=x]{refs.bib}\n\\newcommand{\\boat}{red boat}\n\\def\\a@b{x}")
    (tmp_path / "refs.bib").write_text("@article{berg, title={Boats}, year={1931}}")
    path = tmp_path / "main.tex"
    path.write_text("\\documentclass{thesis}\\begin{document}A \\boat{} floats \\cite{berg}.\\end{document}")
    draft = read(path)
    assert list(draft.bibliography) == ["berg"] and not draft.missing
    assert draft.paragraphs[0].text.startswith("A red boat floats")
    assert not Manuscript(path).audit(["missing-key"])
