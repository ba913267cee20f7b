"""Typst, Org and Jupyter notebooks as drafts: what they cite, what is missing, and citations in their own syntax."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.draft import parse, read
from citewell.draft.accept import Choice, with_citations
from citewell.draft.hayagriva import entries, with_entries
from citewell.papers import Draft, Paper
from citewell.text.names import parse_all
from tests.draft.test_any_text import consistent

TYPST = """#set document(title: [Boats in _small_ harbours], author: ("Ann Berg", "Bo Holm"))
#let tool = [BoatCount]
#let code(x) = { if x { [never @hidden] } else { "no" } }
#show: ieee.with(
  abstract: [We count boats @abstract2001.],
  bibliography: bibliography("refs.bib"),
)
// nothing @commented here
/* nor /* here */ @nested */
= Introduction <sec:intro>

Boats are counted by #tool @berg1931 and others @holm2001[p. 3]. See @fig:map and @sec:intro.
As #cite(<lund1999>, form: "prose") says, _tides_ matter [?]. Mail a@b.org. Code is `@raw`, math $x @ y$.

- Second needs @?[p. 4] and #cite(<?>, supplement: [p. 1]).

```python
print("@fenced")
```

#figure(image("map.png"), caption: [A map @mapper2010 of the harbour.]) <fig:map>

A note.#footnote[See @noted2012 for more.] It is known. #todo[cite the tide paper]
It is also known that bees count. // TODO: cite Chittka here
#table(columns: 2, [Work], [@tabled2000])
#bibliography("more.yml")
"""
ORG = """#+title: Boats in /small/ harbours
#+author: Ann Berg and Bo Holm
#+bibliography: refs.bib
# a comment [cite:@commented]

#+begin_abstract
We count boats [cite:@abstract2001].
#+end_abstract

* TODO Introduction                                               :tag:
:PROPERTIES:
:CUSTOM_ID: intro @prop
:END:
Boats are counted [cite/t:see @berg1931 p. 3; @holm2001] and cite:lund1999,one or citep:&two;&three.
As [[cite:&four][text]] says, tides /matter/ [?]. Links [[https://x.org][are text]] and a@b.org.
# TODO: cite the tide paper
It goes on =verb @no= here [cite:@known; @?] and [cite:@?] or cite:? too.[fn:: See [cite:@noted].]

#+begin_src python
print("[cite:@fenced]")
#+end_src
| Work | [cite:@tabled] |
* Hidden :noexport:
Never [cite:@hidden].
"""
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "markdown",
            "source": [
                "# Boats in harbours\n",
                "\n",
                'They "are" counted [@berg1931] é {cite:p}`one,two`.\n',
                "Tides [?] matter [see @a;\n",
                "@b].",
            ],
        },
        {"cell_type": "code", "outputs": [{"text": ["[@out]"]}], "source": ["x = '[@code]'"]},
        {
            "cell_type": "markdown",
            "metadata": {"source": "[@meta]"},
            "source": "End {cite}`?` \\citep{} \U0001f600 [CITATION].",
        },
    ],
    "nbformat": 4,
}


def sources(draft: Draft, *, gaps: bool) -> list[str]:
    places = [each.place for each in draft.citations if each.is_gap is gaps]
    return [draft.sources[place.file][place.begin : place.end] for place in places]


def filled(draft: Draft, *keys: str) -> str:
    return with_citations(draft, [Choice(gap.place, keys) for gap in draft.gaps])[""]


def test_typst() -> None:
    draft = parse(TYPST, "typst")
    assert (draft.title, draft.authors) == ("Boats in small harbours", ["Ann Berg", "Bo Holm"])
    assert draft.abstract == "We count boats."
    assert draft.cited_keys == "abstract2001 berg1931 holm2001 lund1999 mapper2010 noted2012 tabled2000".split()
    todo = ["#todo[cite the tide paper]", "// TODO: cite Chittka here"]
    assert sources(draft, gaps=True) == ["[?]", "@?[p. 4]", "#cite(<?>, supplement: [p. 1])", *todo]
    assert draft.paragraphs[0].text.startswith("Boats are counted by BoatCount OTHERCIT and others OTHERCIT.")
    assert {each.section for each in draft.paragraphs} == {"Introduction"}
    new = filled(draft, "k", "l")
    assert "_tides_ matter @k @l." in new and "- Second needs @k[p. 4] @l and #cite(<k>, supplement: [p. 1]) @l." in new
    assert "It is known. @k @l\nIt is also known that bees count. @k @l\n" in new
    again = parse(new, "typst")
    assert not again.gaps and {"k", "l"} <= set(again.cited_keys)


def test_typst_files(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "paper.typ").write_text('= On Boats\n#include "parts/one.typ"\n#bibliography(("refs.yml", "refs.bib"))\n')
    (tmp_path / "parts" / "one.typ").write_text('Text @deep [?].\n#include "two.typ"\n')
    (tmp_path / "parts" / "two.typ").write_text("More @yaml.\n")
    (tmp_path / "refs.bib").write_text("@article{deep, title={Deep water}}")
    (tmp_path / "refs.yml").write_text(
        'yaml:\n  type: Article\n  title: Shallow water\n  author: ["Berg, Ann"]\n  date: 2001-05\n'
    )
    draft = read(tmp_path / "paper.typ")
    assert (draft.format, draft.cited_keys, not draft.missing) == ("typst", ["deep", "yaml"], True)
    assert draft.bibliography["yaml"].authors == parse_all(["Ann Berg"]) and draft.bibliography["yaml"].year == 2001
    assert draft.entries["yaml"].line == 1 and draft.gaps[0].place.file == "parts/one.typ"
    work = Paper('A "title": of water', authors=parse_all(["Bo van Holm"]), year=2020, ids=["doi:10.1000/x"], venue="J", id="n")
    text = with_entries(draft.sources["refs.yml"], [work], {"n": "holm2020"})
    again = dict(entries(text))["holm2020"]
    assert text.startswith(draft.sources["refs.yml"])
    assert (again.title, again.authors, again.ids, again.venue) == (work.title, work.authors, work.ids, "J")


def test_org() -> None:
    draft = parse(ORG, "org")
    assert (draft.title, draft.authors) == ("Boats in small harbours", ["Ann Berg", "Bo Holm"])
    assert draft.abstract == "We count boats."
    assert draft.cited_keys == "abstract2001 berg1931 holm2001 lund1999 one two three four known noted tabled".split()
    assert sources(draft, gaps=True) == ["[?]", "# TODO: cite the tide paper", "@?", "[cite:@?]", "cite:?"]
    assert "Links are text and a@b.org." in draft.paragraphs[0].text and "verb @no here" in draft.paragraphs[0].text
    new = filled(draft, "k", "l")
    assert "tides /matter/ [cite:@k;@l]. Links" in new and "\n[cite:@k;@l]\nIt goes on" in new
    assert "here [cite:@known; @k;@l] and [cite:@k;@l] or cite:k,l too." in new
    assert not parse(new, "org").gaps


def test_org_ref_drafts_get_org_ref_citations() -> None:
    assert filled(parse("* One\nSaid cite:a and citep:b or citep:c. New [?].", "org"), "k", "l").endswith("New citep:k,l.")
    assert filled(parse("* One\nSaid cite:&a. New [?].", "org"), "k", "l").endswith("New cite:&k;&l.")


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize("indent", [1, None])
def test_a_patch_of_a_notebook_changes_only_the_strings_concerned(tmp_path: Path, ascii: bool, indent: int | None) -> None:
    path = tmp_path / "paper.ipynb"
    path.write_text(json.dumps(NOTEBOOK, indent=indent, ensure_ascii=ascii) + "\n", encoding="utf-8")
    draft = read(path)
    assert (draft.format, draft.title) == ("notebook", "Boats in harbours")
    assert draft.cited_keys == ["berg1931", "one", "two", "a", "b"] and len(draft.gaps) == 4
    assert draft.paragraphs[0].text.startswith('They "are" counted OTHERCIT é OTHERCIT. Tides OTHERCIT matter OTHERCIT.')
    new = filled(draft, "k", "l")
    expected = json.loads(json.dumps(NOTEBOOK).replace("Tides [?]", "Tides [@k; @l]").replace("`?`", "`k,l`"))
    expected["cells"][2]["source"] = expected["cells"][2]["source"].replace("p{}", "p{k, l}").replace("[CITATION]", "[@k; @l]")
    assert json.loads(new) == expected
    assert new == json.dumps(expected, indent=indent, ensure_ascii=ascii) + "\n"


def test_myst_in_markdown() -> None:
    draft = parse("# One\n\nSaid {cite:p}`a,b` and {cite:t}`c`. New [?] and {cite}`?`.\n", "markdown")
    assert draft.cited_keys == ["a", "b", "c"] and len(draft.gaps) == 2
    assert filled(draft, "k").endswith("New {cite:p}`k` and {cite}`k`.\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("typst", "#set page(width: 10cm)\nText."),
        ("org", "#+title: Boats\n\nText [cite:@a]."),
        ("notebook", json.dumps(NOTEBOOK)),
    ],
)
def test_the_format_is_found_by_content(name: str, text: str) -> None:
    assert parse(text).format == name


PIECES = {
    "typst": [
        *r"@a|@b[p. 3]|#cite(<c>)|#cite(|@?|[?]|#todo[cite it]|#let x = [y]|#x|#show: a => b|#if x { [y @d] }".split("|"),
        *r"#figure([z]) <f>|@f|//|/*|*/|`|```|$|$$|[|]|(|)|{|}|<l>|@l|= Head|\|*|_|#|#(|#[|#{|~|---|\u{1f600}".split("|"),
        *r"http://x.y/@z|- item|é".split("|"),
    ],
    "org": [
        *r"[cite:@a]|[cite/t:see @b; @c]|[cite:|cite:d,e|citep:&f;&g|cite:?|@?|[?]|[[cite:&h]]|[[x][y]]|[fn:1]".split("|"),
        *r"[fn:: z|* Head|** TODO Sub :tag:|#+title: x|#+begin_src|#+end_src|#+begin_abstract|#+end_abstract|:P:".split("|"),
        *r":END:|# TODO cite x|# no|\(|\)|\[|\]|$|=|~|*|/|_|+|[|]|\cite{i}|- item|#+caption: y|<<t>>".split("|"),
        *r"<2024-01-01 Mon>|@@html:x@@|é|* Hidden :noexport:".split("|"),
    ],
}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(PIECES)), st.data())
def test_pieces_in_any_order(format: str, data: st.DataObject) -> None:
    more = ["\n", "\n\n", "\r\n", " ", ". ", "A sentence. ", "Word ", "\x00"]
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES[format] + more), max_size=30)))
    consistent(parse(text, format), text)


@pytest.mark.parametrize(("format", "piece"), [(format, piece) for format, pieces in PIECES.items() for piece in pieces])
def test_no_text_takes_long(format: str, piece: str) -> None:
    begun = time.process_time()
    for text in (piece * (20_000 // len(piece)), f"{piece}\n" * (20_000 // (len(piece) + 1))):
        parse(text, format)
    assert time.process_time() - begun < 8


def test_typst_without_a_template() -> None:
    title = "#align(center, text(17pt)[*Boats in the harbour*])"
    text = f"{title}\n#align(center)[\n  *Abstract* \\\n  We count boats.\n]\n= Text\nThey float."
    draft = parse(text, "typst")
    assert (draft.title, draft.abstract) == ("Boats in the harbour", "We count boats.")
    assert [each.text for each in draft.paragraphs][1:] == ["They float."]


def test_displayed_formulas_of_typst_are_not_text() -> None:
    draft = parse("Boats $x$ float.\n$ y = z $ <eq>\nGulls fly.", "typst")
    assert draft.paragraphs[0].text == "Boats x float. Gulls fly."


def test_citations_of_notebooks_in_html() -> None:
    source = (
        'Boats <cite data-cite="berg1931,holm2001">(Berg, 1931)</cite> float. {citep}`lund1999` and {footcite:t}`sund2004`.'
    )
    draft = parse(source, "markdown")
    assert draft.cited_keys == ["berg1931", "holm2001", "lund1999", "sund2004"]
    changed = with_citations(draft, [Choice(draft.citations[0].place, ("new",))])
    assert changed[""].startswith('Boats <cite data-cite="berg1931,holm2001,new">(Berg, 1931)</cite> float.')


def test_citations_by_the_address_of_a_doi() -> None:
    assert parse("Boats [@https://doi.org/10.1000/x; @a] float.", "markdown").cited_keys == ["https://doi.org/10.1000/x", "a"]


def test_headings_of_old_notebooks() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Boats"]},
        {"cell_type": "markdown", "source": ["They [@a] float."]},
    ]
    draft = parse(json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}), "notebook")
    assert (draft.title, draft.cited_keys) == ("Boats", ["a"])
