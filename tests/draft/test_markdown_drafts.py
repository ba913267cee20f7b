"""The Markdown reader, one feature at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.draft import parse, read
from citewell.papers import Draft


def citations(draft: Draft) -> list[tuple[str, list[str]]]:
    return [
        (draft.sources[citation.place.file][citation.place.begin : citation.place.end], citation.keys)
        for citation in draft.citations
    ]


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("[@a]", ["a"]),
        ("[see @a, pp. 3-4; also -@b]", ["a", "b"]),
        ("[@a;@b]", ["a", "b"]),
        ("@a", ["a"]),
        ("@a [p. 3]", ["a"]),
        ("[-@a]", ["a"]),
        ("@{a/b.c.}", ["a/b.c."]),
        ("[@doe:2020-x_y]", ["doe:2020-x_y"]),
        ("[@a [nested] word]", ["a"]),
        ("[@a;\n@b]", ["a", "b"]),
        ("\\citep[see][]{a,b}", ["a", "b"]),
    ],
)
def test_citations(written: str, keys: list[str]) -> None:
    draft = parse(f"Before {written} after.", "markdown")
    assert citations(draft) == [(written, keys)]
    assert draft.paragraphs[0].text == "Before OTHERCIT after."


@pytest.mark.parametrize(
    "written", ["me@a.org", "\\@a", "`@a`", "@fig-a", "[@tbl-a]", "[x](http://a/@b)", "<!-- [@a] -->", "a@b", "[a]"]
)
def test_not_a_citation(written: str) -> None:
    assert not citations(parse(f"Before {written} after.", "markdown"))


def test_a_key_ends_before_the_full_stop() -> None:
    assert citations(parse("So says @doe2020. And @roe2021: yes.", "markdown")) == [
        ("@doe2020", ["doe2020"]),
        ("@roe2021", ["roe2021"]),
    ]


def test_lines_that_begin_like_items_go_on_in_a_paragraph() -> None:
    draft = parse(
        "As shown in the figure.\na) is the map and\n1994) is a year.\n\n1. One item\n2. and two\n- bullet\n", "markdown"
    )
    assert [each.text for each in draft.paragraphs] == [
        "As shown in the figure. a) is the map and 1994) is a year.",
        "One item",
        "and two",
        "bullet",
    ]


def test_a_summary_is_abstract_and_text() -> None:
    draft = parse(
        "---\ntitle: A tool\nauthors:\n  - name: Ann Bo\n---\n\n# Summary\n\nIt works [@a].\n\n# Need\n\nMuch.\n", "markdown"
    )
    assert (draft.title, draft.authors, draft.abstract) == ("A tool", ["Ann Bo"], "It works.")
    assert [each.text for each in draft.paragraphs] == ["It works OTHERCIT.", "Much."]


def test_a_damaged_header_is_ignored() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nnocite: *b\n"
    for header in ("title: [unclosed\n", "- a\n- b\n", bomb, "title: 3\nauthor: {x: 1}\nbibliography: 7\n"):
        draft = parse(f"---\n{header}---\n\nText [@a].\n", "markdown")
        assert citations(draft) == [("[@a]", ["a"])]


def test_bibliographies_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text('[{"id": "doe", "type": "book", "title": "Json", "issued": {"date-parts": [[2001]]}}]')
    (tmp_path / "refs.bib").write_text("@book{roe, title={Bib}, year=2002}")
    (tmp_path / "d.md").write_text("---\ntitle: T\nbibliography:\n- refs.json\n- refs.bib\n---\n\n[@doe; @roe]\n")
    draft = read(tmp_path / "d.md")
    assert {key: paper.title for key, paper in draft.bibliography.items()} == {"doe": "Json", "roe": "Bib"}


def test_links_are_no_gaps_and_their_targets_no_text() -> None:
    draft = parse(
        """See the [reference](https://x.org/ref), the [ref][1] and a [citation]{.small} at https://x.org/@user. A gap [ref].

[1]: https://x.org/@someone "A title"
[two]: <mailto:me@x.org>
[@a]: is cited, and so is [?].
""",
        "markdown",
    )
    assert citations(draft) == [("[ref]", []), ("[@a]", ["a"]), ("[?]", [])]
    assert [each.text for each in draft.paragraphs] == [
        "See the reference, the ref and a citation at https://x.org/@user. A gap OTHERCIT.",
        "OTHERCIT: is cited, and so is OTHERCIT.",
    ]


def test_a_comment_sign_that_is_escaped_is_text() -> None:
    assert parse("One \\<!-- two --> three.", "markdown").paragraphs[0].text == "One <!-- two --> three."


def test_the_abstract_of_the_header_is_a_context_without_the_signs_of_yaml() -> None:
    (citation,) = parse("---\ntitle: T\nabstract: |\n  Boats were counted [@a].\n---\nText.\n", "markdown").citations
    assert citation.context == "Boats were counted TARGETCIT ."


def test_a_citation_after_a_quotation_belongs_to_it() -> None:
    (paragraph,) = parse('They say "boats float." [@a] We count them.', "markdown").paragraphs
    assert [(each.text, each.cited) for each in paragraph.sentences] == [
        ('They say "boats float." OTHERCIT', True),
        ("We count them.", False),
    ]
