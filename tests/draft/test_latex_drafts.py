"""The LaTeX reader, one feature at a time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from citewell.draft import detect_format, parse, read
from citewell.papers import Draft
from citewell.text.names import parse_all


def citations(draft: Draft) -> list[tuple[str, list[str]]]:
    return [
        (draft.sources[citation.place.file][citation.place.begin : citation.place.end], citation.keys)
        for citation in draft.citations
    ]


def sentences(draft: Draft) -> list[str]:
    return [sentence.text for paragraph in draft.paragraphs for sentence in paragraph.sentences]


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        (r"\cite{a}", ["a"]),
        (r"\citep[see][p.~3]{a,b}", ["a", "b"]),
        (r"\citet*{a}", ["a"]),
        ("\\cite{a,%\n  b , c}", ["a", "b", "c"]),
        ("\\cite\n{a}", ["a"]),
        (r"\Citeauthor{a}", ["a"]),
        (r"\parencites(see)()[1]{a}[2][3]{b}", ["a", "b"]),
        (r"\volcite{2}[15]{a}", ["a"]),
        (r"\citep[see {[x]}]{a}", ["a"]),
        (r"\cite<1>{a}", ["a"]),
        (r"\onlinecite{a:b/c.d}", ["a:b/c.d"]),
        (r"\citefullauthor{a}", ["a"]),
    ],
)
def test_citation_commands(written: str, keys: list[str]) -> None:
    draft = parse(f"Before {written} after.", "latex")
    assert citations(draft) == [(written, keys)]
    assert sentences(draft) == ["Before OTHERCIT after."]


@pytest.mark.parametrize(
    "written",
    [r"\citestyle{acm}", r"\setcitestyle{round}", r"\citation", r"\nocite{a}", r"\cite", r"\cite[a]", "\\cite{a\n\nb}"],
)
def test_not_a_citation(written: str) -> None:
    assert not citations(parse(f"Before {written} after.", "latex"))


def test_macros_that_would_fill_the_memory_are_left_alone() -> None:
    long = "x" * 20_000
    hostile = f"\\newcommand\\a[1]{{{'#1' * 10_000}}} \\begin{{document}} \\a{{{long}}} Gulls \\cite{{reis}}. \\end{{document}}"
    tracemalloc.start()
    draft = parse(hostile, "latex")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [citation.keys for citation in draft.citations] == [["reis"]]
    assert most < 50_000_000
    # A macro around all of a long document is not one of those.
    words = "Boats are counted. " * 40_000
    draft = parse(f"\\newcommand\\all[1]{{#1}} \\begin{{document}} \\all{{{words} \\cite{{reis}}}} \\end{{document}}", "latex")
    assert [citation.keys for citation in draft.citations] == [["reis"]]


def test_macros_of_ones_own() -> None:
    draft = parse(
        r"""\newcommand{\us}{We} \newcommand*\ct[2][]{\citep[#1]{#2}} \def\both#1#2{\cite{#1,#2}}
\NewDocumentCommand{\q}{O{x} m}{#1 \citet{#2}} \newcommand{\mark}[1]{{\bfseries #1}} \newcommand{\twice}[1]{#1 #1}
\let\again\citet \newcommand{\loop}{\loop} \newcommand{\unused}[1]{\cite{no}}

\us{} cite \ct[p.~1]{a}, \both{b}{c}, \q{d}, \q[y]{e}. \mark{Bold \cite{f}}, \twice{\cite{g}}, \again{h} \loop.""",
        "latex",
    )
    assert [keys for _, keys in citations(draft)] == [["a"], ["b", "c"], ["d"], ["e"], ["f"], ["g"], ["h"]]
    assert [written for written, _ in citations(draft)][:2] == [r"\ct[p.~1]{a}", r"\both{b}{c}"]
    assert sentences(draft)[0] == "We cite OTHERCIT, OTHERCIT, x OTHERCIT, y OTHERCIT."


def test_comments_join_lines_and_empty_lines_end_paragraphs() -> None:
    draft = parse("One% \\cite{no}\n  word.\n% alone\n\nTwo 100\\% % end\n\nThree.", "latex")
    assert [paragraph.text for paragraph in draft.paragraphs] == ["Oneword.", "Two 100%", "Three."]


def test_signs_and_accents() -> None:
    draft = parse(
        r"``Se\~nor'' M\"uller--\L\'od\'z \& \v{C}ech \ss\ caf\'{e} $x^2$ \alpha~\ldots{} \textbf{bold} \foo[x]{kept}.", "latex"
    )
    assert draft.paragraphs[0].text == "“Señor” Müller–Łódź & Čech ß café x^2 α … bold kept."


def test_citations_and_captions_outside_of_running_text_are_read() -> None:
    draft = parse(
        r"""Start \begin{align}a &= b \\ \text{by \cite{m}}\end{align} end.

\begin{table*}[t] \begin{tabular}{l} x & \cite{t} \end{tabular} \caption[Short]{A table \cite{c}.} \end{table*}
\begin{lstlisting}
\cite{no}
\end{lstlisting}
\section[Short]{Head \cite{h}}
\begin{spacing}{0.9} Last. \end{spacing}""",
        "latex",
    )
    assert sentences(draft) == ["Start end.", "A table OTHERCIT.", "Last."]
    assert [keys for _, keys in citations(draft)] == [["m"], ["t"], ["c"], ["h"]]
    assert draft.paragraphs[-1].section == "Head"


def test_files_are_put_in_and_none_beyond_the_folder_is_opened(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    (inside / "parts").mkdir(parents=True)
    (tmp_path / "outside.tex").write_text("Secret \\cite{s}.")
    (inside / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}A \\cite{a}. \\input{parts/b} \\input{../outside} \\import{parts}{c.tex}\n"
        f"\\input{{{tmp_path}/outside.tex}} \\input{{main}} \\bibliography{{../outside}}\\end{{document}}"
    )
    (inside / "parts" / "b.tex").write_text("B \\cite{b}. \\input{main}")
    (inside / "parts" / "c.tex").write_text("C \\cite{c}.")
    draft = read(inside / "main.tex", within=inside)
    assert [citation.place.file for citation in draft.citations] == ["", "parts/b.tex", "parts/c.tex"]
    assert "Secret" not in str(draft)
    assert "Secret" in str(read(inside / "main.tex"))
    assert list(parse((inside / "main.tex").read_text(), "latex").sources) == [""]


def test_the_bbl_file_is_read_where_there_is_no_bib_file(tmp_path: Path) -> None:
    (tmp_path / "main.tex").write_text("\\begin{document}A \\cite{k}.\\bibliography{gone}\\end{document}")
    (tmp_path / "main.bbl").write_text(
        "\\begin{thebibliography}{1}\n\\bibitem[{Doe and Roe(2020)}]{k}\nJ.~Doe and R.~Roe.\n\\newblock A {LaTeX} title.\n"
        "\\newblock \\emph{J. Things}, 2020.\n\\end{thebibliography}\n"
    )
    draft = read(tmp_path / "main.tex")
    assert (draft.bibliography["k"].title, draft.bibliography["k"].authors) == (
        "A LaTeX title",
        parse_all(["J. Doe", "R. Roe"]),
    )
    assert draft.missing == ["gone"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "d.tex").write_bytes("\\begin{document}Größe \\cite{ü}.\\end{document}".encode(encoding))
    assert citations(read(tmp_path / "d.tex")) == [("\\cite{ü}", ["ü"])]


def test_the_format_is_recognised_from_the_text() -> None:
    assert detect_format("Plain words about costs.") == "text"
    assert (
        detect_format("Words \\citep{a} more")
        == detect_format("x", "a.tex")
        == detect_format("\\section{A} [@b]", "a.txt")
        == "latex"
    )
    assert (
        detect_format("# Head\n\ntext") == detect_format("Words [@a].") == detect_format("x \\cite{a}", "a.qmd") == "markdown"
    )


def test_citation_macros_with_keys_in_another_argument() -> None:
    draft = parse(
        r"""\newcommand{\citebert}{\cite{bert}} \newcommand{\citenote}[2]{\cite[#2]{#1}}
\newcommand{\citesmith}[1]{\cite[#1]{smith}}
\newcommand{\mycite}[1]{\textcolor{blue}{\cite{#1}}} \renewcommand{\citep}[2][]{\cite[#1]{#2}}

One \citebert{} two \citenote{a}{p.~3}, three \citesmith{p.~4}, four \mycite{b}, five \citep[x]{c}.""",
        "latex",
    )
    assert citations(draft) == [
        (r"\citebert", ["bert"]),
        (r"\citenote{a}{p.~3}", ["a"]),
        (r"\citesmith{p.~4}", ["smith"]),
        (r"\mycite{b}", ["b"]),
        (r"\citep[x]{c}", ["c"]),
    ]


def test_notes_of_co_authors_are_no_text() -> None:
    draft = parse(
        r"""\newcommand{\jd}[1]{\textcolor{red}{[JD: #1]}} \newcommand{\kay}[1]{{\color{blue}\textbf{Kay:} #1}}
\newcommand{\new}[1]{\textcolor{blue}{#1}}

We count boats \jd{cite Holt here}. \kay{rephrase} \new{Gulls fly.}""",
        "latex",
    )
    assert sentences(draft) == ["We count boats OTHERCIT.", "Gulls fly."]
    assert [(citation.keys, citation.note) for citation in draft.citations] == [([], "cite Holt here")]


@pytest.mark.parametrize(
    "written",
    [
        r"\begin{algorithmic}\State $x$ \Comment{see \cite{a}}\end{algorithmic}",
        r"\begin{theorem}[Berg~\cite{a}] It holds. \end{theorem}",
        r"\begin{description}\item[Berg \cite{a}] It holds. \end{description}",
        r"\blockquote[\cite{a}]{Words.}",
        r"Words\textsuperscript{\cite{a}}.",
        r"\marginpar{See \cite{a}.}",
        r"\title{Boats\thanks{See \cite{a}.}}",
    ],
)
def test_citations_where_text_is_passed_over(written: str) -> None:
    draft = parse(written, "latex")
    assert citations(draft) == [(r"\cite{a}", ["a"])]
    assert draft.title in ("", "Boats")


def test_a_note_shows_citations_as_keys() -> None:
    (citation,) = parse(r"Boats\todo{cite \citep[p.~2]{holt} or others}.", "latex").citations
    assert citation.note == "cite [holt] or others"


def test_code_in_braces_and_names_of_works_are_no_text() -> None:
    draft = parse(
        r"\defcitealias{a}{Paper I} Use \lstinline{\cite{b}} or \mintinline{tex}{\cite{c}} or \lstinline[x=y]{d}.", "latex"
    )
    assert not draft.citations
    assert sentences(draft) == ["Use or or d."]


@pytest.mark.parametrize(
    "written", [r"\begin{acks}@\end{acks}", r"\acknowledgments @", r"\begin{credits}\subsubsection{\ackname} @\end{credits}"]
)
def test_thanks_are_a_section_of_their_own(written: str) -> None:
    thanks = "We thank all who counted boats with us."
    draft = parse(rf"\section{{One}} We count. {written.replace('@', thanks)}", "latex")
    assert [(each.section, each.text) for each in draft.paragraphs] == [("One", "We count."), ("Acknowledgements", thanks)]


def test_authors_of_springers_class() -> None:
    draft = parse(r"\author{Ann Holt\inst{1}\orcidID{0000-1111-2222-3333} \and Jon Pike\inst{2,3}\orcidID{0000-1}}", "latex")
    assert draft.authors == ["Ann Holt", "Jon Pike"]


def test_struck_out_text_is_left_out_but_its_citations_count() -> None:
    draft = parse(r"We count \deleted{old \cite{a}} boats \st{well}.", "latex")
    assert sentences(draft) == ["We count boats ."]
    assert citations(draft) == [(r"\cite{a}", ["a"])]


def test_a_title_keeps_the_name_of_a_program() -> None:
    draft = parse(
        r"\title{Boats in \texttt{pier}\thanks{To all.}} \author{Ann Holt \texttt{a@b.org}} \begin{document} x \end{document}"
    )
    assert (draft.title, draft.authors) == ("Boats in pier", ["Ann Holt"])


@pytest.mark.parametrize(
    "formula",
    [
        r"\begin{equation} x = y. \label{eq:one} \end{equation}",
        r"\[ x = y . \]",
        "$$ x = y.$$",
        r"\begin{align} a &= b \\ x &= y\,.\nonumber \end{align}",
    ],
)
def test_a_sentence_may_end_in_a_formula(formula: str) -> None:
    draft = parse(f"The mean is {formula} In practice it is not.", "latex")
    assert sentences(draft) == ["The mean is .", "In practice it is not."]
    assert draft.sources[""][: draft.paragraphs[0].sentences[0].place.end].endswith(".")
    assert sentences(parse(f"The mean is {formula.replace('.', '')} where y is.", "latex")) == ["The mean is where y is."]
