"""The queries of a draft, and the papers that its keys refer to."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.draft import parse
from citewell.draft.queries import draft_queries, query_context
from citewell.draft.resolve import resolve_keys
from citewell.library.library import Library
from citewell.papers import Name, Paper, Query
from citewell.pipeline.api import suggest

DRAFT = r"""\title{On Words} \author{Ann Bo}
\section{Introduction}
Words are counted in many ways \cite{luhn}. Nobody counts them twice [?].

Counting words is an old habit of scholars. It began with stones.

See below.

\section{Acknowledgements}
We thank all those who have counted words for us.
"""
BIB = """@article{luhn, title={The automatic creation of literature abstracts}, author={Luhn, H. P.}, year=1958}
@article{spark, title={A statistical interpretation}, author={Sparck Jones, Karen}, year=1972, doi={10.1108/EB026526}}
@article{wrong, title={The automatic creation of literature abstracts}, author={Somebody, Else}, year=2001}
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library(tmp_path / "library")
    made.take(
        [
            Paper("The Automatic Creation of Literature Abstracts", "Words are counted.", [Name("H.", "Luhn")], 1958, id="a"),
            Paper("Term specificity", "Words are weighted.", [Name("K.", "Jones")], 1973, ids=["doi:10.1108/eb026526"], id="b"),
            Paper(
                "Counting words twice",
                "Nobody counts twice.",
                [Name("Cy", "Dee")],
                1999,
                id="c",
                extra={"citekey": "cy1999"},
            ),
        ]
    )
    return made


def test_queries_for_the_whole_each_gap_and_each_uncited_paragraph() -> None:
    queries = draft_queries(parse(DRAFT), ["a"])
    assert [each.query.task for each in queries] == ["global", "local", "paragraph"]
    assert all(each.query.known == ["a"] and each.query.only_new and each.query.authors == ["Ann Bo"] for each in queries)
    whole, gap, paragraph = queries
    assert whole.place is None and whole.query.abstract.startswith("Words are counted in many ways. Nobody counts")
    assert gap.gap is not None and gap.query.context.endswith("Nobody counts them twice TARGETCIT .")
    assert paragraph.query.context == "Counting words is an old habit of scholars."
    assert [each.query.task for each in draft_queries(parse(DRAFT), task="local")] == ["local"]


def test_keys_are_resolved_to_papers_of_the_library(library: Library) -> None:
    draft = parse(DRAFT.replace("luhn", "luhn,cy1999,nobody"), bib=BIB)
    assert resolve_keys(draft, library) == {"luhn": "a", "spark": "b", "cy1999": "c"}


def test_known_papers_are_left_out_only_with_only_new(library: Library) -> None:
    query = Query("global", "Counting words twice", known=["c"])
    assert "c" in [each.paper.id for each in suggest(library, query, "bm25")]
    query.only_new = True
    ids = [each.paper.id for each in suggest(library, query, "bm25")]
    assert ids and "c" not in ids


@pytest.mark.parametrize(
    ("note", "context"),
    [
        ("cite the SciBERT paper here", "Words are counted SciBERT TARGETCIT ."),
        ("add a ref, e.g. to Luhn 1958", "Words are counted Luhn 1958 TARGETCIT ."),
        ("citation needed", "Words are counted TARGETCIT ."),
        (r"cite \cite{luhn} or others", "Words are counted TARGETCIT ."),
    ],
)
def test_the_work_that_a_note_names_is_part_of_the_query(note: str, context: str) -> None:
    (gap,) = draft_queries(parse(rf"Words are counted \todo{{{note}}}.", "latex"), task="local")
    assert gap.query.context == context
    assert gap.gap is not None and gap.gap.context == "Words are counted TARGETCIT ."


@pytest.mark.parametrize("format", ["latex", "markdown", "text"])
@pytest.mark.parametrize(
    "written", ["[cite Luhn 1958]", "[CITE: Luhn 1958]", "[citation needed: Luhn 1958]", "[TODO: cite Luhn 1958]"]
)
def test_gaps_in_brackets_can_name_a_work(format: str, written: str) -> None:
    (citation,) = parse(f"On Words\n\nWe count.\n\nWords are counted {written}.", format).citations
    assert citation.is_gap and citation.note == written[1:-1]
    assert query_context(citation).endswith("Words are counted Luhn 1958 TARGETCIT .")


def test_a_macro_can_mark_gaps_by_its_label() -> None:
    (citation,) = parse(
        r"\newcommand{\want}[1]{\textcolor{blue}{\textbf{[CITE: #1]}}} Words \want{Luhn 1958}.", "latex"
    ).citations
    assert (citation.keys, citation.note) == ([], "Luhn 1958")
