"""Every text gives a draft, and every place of the draft is inside the source."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.draft import parse
from citewell.papers import OTHER_MARK, TARGET_MARK, Draft

LATEX = [
    *r"\cite{a}|\citep[see][p.~3]{b,c}|\cite{}|\cite{?}|\cite{x, ?}|\todo{cite it}|\citet*{d}|\autocites{e}[2]{f}|[?]".split(
        "|"
    ),
    *r"\begin{figure}|\end{figure}|\caption{A word.}|\begin{equation}|\end{equation}|\begin{tabular}{ll}|\end{tabular}".split(
        "|"
    ),
    *r"\section{Head}|\footnote{See \cite{n}.}|\newcommand{\m}[1]{\citep{#1}}|\m{k}|\def\z{zed}|\z|\begin{document}".split("|"),
    *r"{|}|[|]|$|$$|\[|\]|%|\|\\|~|&|--|''|\'e|\v{c}|\item |\iffalse|\fi|\verb+x+|\input{y}|\end{document}".split("|"),
    *r"\begin{verbatim}|\end{verbatim}|\title{T}|\author{A}|\begin{abstract}|\end{abstract}|\par|\nocite{z}".split("|"),
    *"\n|\n\n|\r\n| |. |A sentence. |Word |é|\U0001f600".split("|"),
]
MARKDOWN = [
    *r"[@a]|[see @b, p. 3; -@c]|@d says|[@?]|[@a; @?]|@{e}|[CITATION]|\citep{f}|<!-- cite this -->|<!-- no -->|@fig-x".split(
        "|"
    ),
    *"---|\n# Head\n|\n## Abstract\n|```|~~~|`code`|$$|$x$|![cap [@g]](x.png){#fig}|^[note @h]|[^1]|[^1]: text".split("|"),
    *r"a@b.c|[l](http://x)|*|**|_|[|]|(|)|{|}|::: {.x}|:::|{{< include y >}}|<b>|\|\@".split("|"),
    *"\n|\n\n|\r\n| |. |A sentence. |Word |é|\U0001f600|\n===\n|title: x\n|\n- item|\n1. one|\n> quote|\n: def".split("|"),
    "\n| a | b |\n",
]
HOSTILE = r"""{ [ \a[ $ \iffalse~ \begin{verbatim} \begin{x} ` <!-- * @a~ [@a] \cite{a} ^[ ![ \newcommand{\a}{ \verb| \(
\footnote{ >~ a.b~ - % [?] \newcommand{\a}{\a\a}\a""".split()


def consistent(draft: Draft, text: str) -> None:
    """Every place is exact, and inside the place of its parent."""
    assert draft.sources[""] == text
    for citation in draft.citations:
        written = text[citation.place.begin : citation.place.end]
        assert citation.context.count(TARGET_MARK) == 1
        assert citation.place.line == text.count("\n", 0, citation.place.begin) + 1
        assert written and all(key in written for key in citation.keys)
    end = 0
    for paragraph in sorted(draft.paragraphs, key=lambda each: each.place.begin):
        place = paragraph.place
        assert 0 <= place.begin < place.end <= len(text)
        joined = "".join(sentence.text for sentence in paragraph.sentences)  # Chinese sentences have no space between them
        assert joined.replace(" ", "") == paragraph.text.replace(" ", "")
        end = place.begin
        for sentence in paragraph.sentences:
            assert end <= sentence.place.end and place.begin <= sentence.place.begin < sentence.place.end <= place.end
            end = sentence.place.begin


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(LATEX), max_size=30))
def test_latex_in_any_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    consistent(parse(text, "latex"), text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(MARKDOWN), max_size=30))
def test_markdown_in_any_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    consistent(parse(text, "markdown"), text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["latex", "markdown", "text", "docx", ""]))
def test_any_text(text: str, format: str) -> None:
    consistent(parse(text, format), text)


@pytest.mark.parametrize("format", ["latex", "markdown", "text"])
@pytest.mark.parametrize("piece", [*(piece.replace("~", " ") for piece in HOSTILE), " ", "\n", "```a\n"])
def test_no_text_takes_long(format: str, piece: str) -> None:
    """Forty thousand characters of any kind; a reader that is not linear would take minutes."""
    text = piece * (40_000 // len(piece))
    begun = time.process_time()
    consistent(parse(text, format), text)
    assert time.process_time() - begun < 10


def test_a_citation_keeps_the_words_around_it() -> None:
    for format, mark in (("latex", "\\cite{k}"), ("markdown", "[@k]")):
        draft = parse(f"One word {mark} two words. A next one.", format)
        assert [sentence.text for sentence in draft.paragraphs[0].sentences] == [
            f"One word {OTHER_MARK} two words.",
            "A next one.",
        ]
        assert not re.search(r"[@\\]", draft.paragraphs[0].text)


@pytest.mark.parametrize("command", ["thanks", "textsuperscript", "marginpar", "footnote", "todo"])
def test_no_nesting_takes_long(command: str) -> None:
    depth = 5_000
    text = f"\\{command}{{" * depth + r"\cite{a}" + "}" * depth
    begun = time.process_time()
    parse(text, "latex")
    assert time.process_time() - begun < 5
