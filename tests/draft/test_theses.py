"""What theses and papers of many classes do: their own commands for title and abstract, examples of LaTeX, old encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Draft
from citewell.draft import parse, read
from citewell.draft.accept import Choice, with_citations
from citewell.draft.files import encoding_of
from citewell.draft.patch import Change

BEGIN, END = "\\documentclass{thesis}\n\\begin{document}\n", "\n\\end{document}\n"


def of(body: str, preamble: str = "") -> Draft:
    return parse(f"\\documentclass{{thesis}}\n{preamble}\n\\begin{{document}}\n{body}{END}")


def words(draft: Draft) -> str:
    return " | ".join(paragraph.text for paragraph in draft.paragraphs)


@pytest.mark.parametrize(
    ("definition", "environment"),
    [
        ("\\lstnewenvironment{listingbox}{}{}", "listingbox"),
        ("\\DefineVerbatimEnvironment{shown}{Verbatim}{}", "shown"),
        ("\\newtcblisting{printed}{}", "printed"),
        ("", "LaTeXCode"),
        ("", "texcode"),
    ],
)
def test_an_example_of_latex_is_not_the_document(definition: str, environment: str) -> None:
    example = "\\documentclass{article}\n\\begin{document}\n\\cite{shown}\n\\end{document}\n\\endinput"
    draft = of(
        f"Boats float. \\cite{{a}}\n\n\\begin{{{environment}}}\n{example}\n\\end{{{environment}}}\n\nGulls fly. \\cite{{b}}",
        definition,
    )
    assert draft.cited_keys == ["a", "b"]
    assert "Boats float" in words(draft) and "Gulls fly" in words(draft)


def test_an_example_in_a_chapter_is_not_the_document(tmp_path: Path) -> None:
    (tmp_path / "own.sty").write_text("\\lstnewenvironment{program}{}{}\n")
    (tmp_path / "chapter.tex").write_text(
        "Boats. \\cite{a}\n\\verb|\\begin|\n\\begin{program}\n\\begin{document}\n\\end{program}\nGulls.\n"
    )
    main = tmp_path / "main.tex"
    main.write_text(f"\\documentclass{{book}}\\usepackage{{own}}\n\\begin{{document}}\\input{{chapter}}{END}")
    draft = read(main)
    assert draft.cited_keys == ["a"] and "Gulls" in words(draft)


def test_an_environment_named_after_code_may_be_text() -> None:
    draft = of("\\begin{journalcode}The code is in \\cite{a}.\\end{journalcode}")
    assert draft.cited_keys == ["a"] and "The code is in" in words(draft)


def test_code_of_latex3_is_not_text() -> None:
    draft = of(
        "Boats float. \\ExplSyntaxOn \\tl_set:Nn \\l_tmpa_tl { x } [References] \\ExplSyntaxOff Gulls fly. \\ExplSyntaxOn"
    )
    assert words(draft) == "Boats float. Gulls fly."
    assert not draft.gaps


def test_a_heading_of_the_bibliography_is_no_gap() -> None:
    assert not of("\\defbibheading{own}[References]{\\section*{#1}} Boats float.").gaps


@pytest.mark.parametrize(
    "source",
    [
        "\\thesistitle{Boats in the Harbour}",
        "\\Title{Boats in\\\\[2mm] the Harbour}",
        "\\titolo{Boats in the Harbour}",
        "\\universitysetup{\n  etitle = {English Boats in the Harbour},\n  ctitle = {Boats in the Harbour},\n author={A}}",
        "\\newcommand{\\booktitlefont}[1]{#1}\\shorttitle{Boats and Gulls}\\papertitle{Boats in the Harbour}",
    ],
)
def test_the_title_of_a_class_for_theses(source: str) -> None:
    assert of("\\chapter{Introduction}Boats float.", source).title == "Boats in the Harbour"


def test_titles_without_their_layout() -> None:
    title = "\\title{\\color{red}Boats \\textcolor{blue}{float} \\\\[1ex] with \\XeLaTeX{} \\kern-.05em here}"
    assert of("Text.", title).title == "Boats float with XeLaTeX here"


def test_a_redefined_logo_is_a_word() -> None:
    draft = of("We use \\BibTeX{} and \\LaTeX{} a\\kern 0.2em b.", "\\def\\BibTeX{B\\kern-.05em{i}\\kern-.025em b}")
    assert words(draft) == "We use BibTeX and LaTeX ab."


@pytest.mark.parametrize("name", ["cabstract", "abstracten", "englishabstract", "resumo", "myabstract"])
def test_abstracts_of_many_names(name: str) -> None:
    assert of(f"\\begin{{{name}}}We count boats.\\end{{{name}}}\\chapter{{Boats}} Text.").abstract == "We count boats."


def test_the_life_of_the_author_is_no_abstract() -> None:
    draft = of("\\begin{abstract}We count.\\end{abstract}\\chapter{Boats} Text.\\begin{resume}Born in Oslo.\\end{resume}")
    assert draft.abstract == "We count."


def test_an_abstract_in_the_preamble_cites() -> None:
    draft = of("Text.", "\\abstract{We count \\cite{berg31} boats. \\lipsum[1]}")
    assert (draft.abstract, draft.cited_keys) == ("We count boats.", ["berg31"])


def test_citations_of_csquotes() -> None:
    draft = of(
        "\\textcquote[see][5]{a}[.]{Boats float} and \\foreigntextcquote{german}[7]{b}{Boote}."
        "\\begin{displaycquote}[3]{c}Gulls fly.\\end{displaycquote} \\bibentry{d}"
    )
    assert draft.cited_keys == ["a", "b", "c", "d"]
    assert "Boats float" in words(draft) and "german" not in words(draft) and "Gulls fly" in words(draft)


def test_notes_in_front_of_keys_of_revtex() -> None:
    assert of("Boats \\cite{*[see ][ and others]a,[also ]b,*c}.").cited_keys == ["a", "b", "c"]


def test_macros_with_a_star_and_late_options() -> None:
    macro = "\\NewDocumentCommand{\\mycite}{s m o m}{\\IfBooleanTF{#1}{\\citet}{\\citep}[\\IfNoValueTF{#3}{x}{#3}]{#4}}"
    draft = of("Boats \\mycite{7}[p. 3]{a} float \\mycite*{8}{b}.", macro)
    assert draft.cited_keys == ["a", "b"]


@pytest.mark.parametrize(
    ("encoding", "option", "text"),
    [
        ("cp1251", "cp1251", "Лодки плавают в гавани."),
        ("koi8-r", "koi8-r", "Лодки."),
        ("iso8859-2", "latin2", "Łodzie pływają."),
    ],
)
def test_old_encodings(tmp_path: Path, encoding: str, option: str, text: str) -> None:
    main, chapter = tmp_path / "main.tex", tmp_path / "chapter.tex"
    preamble = f"\\documentclass{{book}}\\usepackage[{option}]{{inputenc}}"
    main.write_bytes(f"{preamble}\\begin{{document}}\\input{{chapter}}{END}".encode(encoding))
    chapter.write_bytes(f"{text} [?]\n".encode(encoding))
    assert read(main).paragraphs[0].text.startswith(text)
    patch = Change.of(chapter, f"{text} \\cite{{berg31}}\n", encoding_of(main.read_bytes()))
    assert patch.new.decode(encoding) == f"{text} \\cite{{berg31}}\n"


def test_a_citation_goes_after_verbatim_text() -> None:
    draft = of("Boats are shown with \\verb!\\boat{x}!. Gulls are shown with \\verb+gull+")
    sentences = draft.paragraphs[0].sentences
    changed = with_citations(draft, [Choice(each.place, ("new",)) for each in sentences])[""]
    assert "\\verb!\\boat{x}!~\\cite{new}." in changed and "\\verb+gull+~\\cite{new}" in changed


def test_options_of_ieeetran_are_not_cited() -> None:
    draft = of("\\bstctlcite{IEEEexample:BSTcontrol} Boats float \\cite{a}.")
    assert (draft.cited_keys, draft.listed) == (["a"], ["IEEEexample:BSTcontrol"])
    assert words(draft) == "Boats float OTHERCIT."
