"""Entries without a title add to the entries with their key in other files."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from citewell.export.own_entries import export
from citewell.library.library import Library
from citewell.library.provenance import provenance
from tests.library.test_corrections import described, entry, written

ABSTRACT = "@article{{{key},\n  abstract = {{{text}}}\n}}\n"


def abstract(key: str, text: str) -> str:
    return ABSTRACT.format(key=key, text=text)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


@pytest.mark.parametrize("order", [["main.bib", "abstracts.bib"], ["abstracts.bib", "main.bib"]])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_entry_without_a_title_joins_the_one_with_its_key(
    library: Library, tmp_path: Path, order: list[str], at_once: bool
) -> None:
    written(tmp_path / "main.bib", entry("a", "Boats"), entry("b", "Harbours"))
    written(tmp_path / "abstracts.bib", abstract("a", "We count boats."), abstract("c", "Of nothing here."))
    for step in [order] if at_once else [[name] for name in order]:
        outcome = library.add([tmp_path / name for name in step])
    assert len(library) == 2 and library.check().sound
    assert (library.paper("a").title, library.paper("a").abstract) == ("Boats", "We count boats.")
    assert outcome.new_papers <= 2
    own, added = provenance(library, library.number("a"))
    assert (own.used[0], added.used[0], Path(added.source).name) == ("title", "abstract", "abstracts.bib")


def test_those_that_nothing_joins_are_listed_and_exported(library: Library, tmp_path: Path) -> None:
    text = "% Notes\n" + abstract("a", "Boats.") + entry("b", "Harbours") + "@misc{c, note = {n}}\n"
    (tmp_path / "refs.bib").write_text(text)
    outcome = library.add([tmp_path / "refs.bib"])
    assert (outcome.papers, outcome.new_papers, outcome.skipped) == (1, 1, 2)
    assert [problem.reason.partition(":")[0] for problem in outcome.problems] == ["a", "c"]
    out = io.StringIO(newline="")
    export(library, "bibtex", out)
    assert out.getvalue() == text
    assert library.add([tmp_path / "refs.bib"]).changed == 0


def test_both_files_come_back_and_a_chosen_paper_has_one_entry(library: Library, tmp_path: Path) -> None:
    added = written(tmp_path / "abstracts.bib", abstract("a", "We count boats."))
    main = written(tmp_path / "main.bib", entry("a", "Boats"))
    library.add([added, main])
    whole, chosen, merged = io.StringIO(), io.StringIO(), io.StringIO()
    assert export(library, "bibtex", whole) == []
    assert whole.getvalue() == added.read_text() + main.read_text()
    export(library, "bibtex", chosen, [library.number("a")])
    assert chosen.getvalue().strip() == main.read_text().strip()
    export(library, "bibtex", merged, merged=True)
    assert "We count boats." in merged.getvalue() and merged.getvalue().count("@article") == 1


def test_edits_of_either_file_arrive(library: Library, tmp_path: Path) -> None:
    main = written(tmp_path / "main.bib", entry("a", "Boats"))
    added = written(tmp_path / "abstracts.bib", abstract("a", "We count boats."))
    library.add([main, added])
    assert library.add([written(added, abstract("a", "We count gulls."))]).changed == 1
    assert library.paper("a").abstract == "We count gulls."
    library.add([written(main, entry("a", "Ships"))])
    assert (library.paper("a").title, library.paper("a").abstract) == ("Ships", "We count gulls.")
    library.add([written(added, entry("a", "Ships of the line"))])
    assert {paper.title for paper in library} == {"Ships", "Ships of the line"}
    library.add([written(added, abstract("a", "We count boats."))])
    assert [paper.title for paper in library] == ["Ships"]
    assert library.add([written(main, entry("b", "Tides"))], sync=True).removed == 1
    assert [paper.title for paper in library] == ["Tides"]
    library.add([written(main, entry("a", "Boats"))], sync=True)
    assert [(paper.title, paper.abstract) for paper in library] == [("Boats", "We count boats.")]
    assert library.add([written(added, "% nothing\n" + entry("z", "Zebras"))], sync=True).removed == 1
    assert sorted((paper.title, paper.abstract) for paper in library) == [("Boats", ""), ("Zebras", "")]
    assert library.check().sound and library.check().doubtful == []


@pytest.mark.parametrize("seed", range(20))
def test_after_any_edits_the_library_is_the_one_built_afresh(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    library = Library(tmp_path / "library")
    for _ in range(5):
        for name in choose.sample(["abstracts.bib", "main.bib"], choose.randint(1, 2)):
            entries = []
            for key in choose.sample("abcdef", choose.randint(1, 5)):
                adds = choose.random() < (0.8 if name == "abstracts.bib" else 0.1)
                text = choose.choice(["Boats", "Harbours", "Tides"])
                entries.append(abstract(key, text) if adds else entry(key + name[0], f"{text} of {key}{name[0]}"))
                if not adds and choose.random() < 0.5:
                    entries.append(entry(key, f"{text} {key}", 2000 + ord(name[0])))
            library.add([written(tmp_path / name, *entries)], sync=True)
        assert library.check().sound
    order = {
        Path(name).name: at for at, (name,) in enumerate(library.store.db.execute("SELECT name FROM sources ORDER BY num"))
    }
    fresh = Library(tmp_path / "fresh")
    fresh.add(sorted(tmp_path.glob("*.bib"), key=lambda file: order[file.name]))
    assert described(library) == described(fresh)


def titled(key: str, title: str, doi: str = "", pages: str = "", more: str = "") -> str:
    text = entry(key, title, doi=doi)
    return text.replace("\n}\n", f"\n  journal = {{J}}, pages = {{{pages}}},{more}\n}}\n") if pages or more else text


def test_an_entry_that_becomes_a_supplement_takes_nothing_with_it(library: Library, tmp_path: Path) -> None:
    both = written(tmp_path / "a.bib", titled("a", "Boats", "10.1000/d"), titled("b", "Boats", "10.1000/d"))
    other = written(tmp_path / "c.bib", titled("x", "Boats", "10.1000/d", more=" abstract = {Of boats.},"))
    library.add([both, other])
    assert len(library) == 1
    library.add([written(both, abstract("a", "Gulls."), titled("b", "Boats", "10.1000/d"))])
    out = io.StringIO()
    export(library, "bibtex", out)
    assert "{x," in out.getvalue() and library.check().sound
    assert sorted(each.key for each in provenance(library, library.number("x"))) == ["b", "x"]


def test_entries_that_part_when_one_becomes_a_supplement(library: Library, tmp_path: Path) -> None:
    last = titled("b", "Editorial on boats", "10.1000/d")
    p = titled("p", "Editorial on boats", pages="20")
    file = written(tmp_path / "a.bib", titled("a", "Editorial on boats", "10.1000/d", "10"), p, last)
    library.add([file])
    library.add([written(file, abstract("a", "Gulls."), p, last)])
    assert library.check().sound and library.number("p") is not None and library.number("b") is not None


def test_a_supplement_becomes_an_entry_while_another_is_corrected(library: Library, tmp_path: Path) -> None:
    a = written(tmp_path / "a.bib", titled("n", "Boats", "10.1000/v"), abstract("l", "Of boats."))
    b = written(tmp_path / "b.bib", titled("l", "Boats", "10.1000/v"))
    library.add([a, b])
    library.add([written(a, titled("n", "Boats at sea", "10.1000/v"), entry("l", "Tides"))])
    assert {paper.title for paper in library} == {"Boats at sea", "Tides"} and library.check().sound


def test_a_paper_of_another_format_is_exported_next_to_an_entry_with_its_key(library: Library, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"id": "k", "title": "Boats"}\n')
    library.add([tmp_path / "p.jsonl", written(tmp_path / "s.bib", abstract("k", "Of boats."))])
    out = io.StringIO()
    export(library, "bibtex", out)
    assert "Boats" in out.getvalue() and "Of boats." in out.getvalue()


def test_splitting_keeps_what_other_files_add(library: Library, tmp_path: Path) -> None:
    library.add([written(tmp_path / "a.bib", entry("k", "Boats"), entry("q", "Gulls"))])
    library.add([written(tmp_path / "s.bib", abstract("k", "Of boats."), abstract("q", "Of gulls."))])
    library.merge(["k", "q"])
    library.split("k")
    assert (library.paper("k").abstract, library.paper("q").abstract) == ("Of boats.", "Of gulls.")


def test_a_supplement_that_comes_back_counts_again(library: Library, tmp_path: Path) -> None:
    library.add([written(tmp_path / "a.bib", entry("k", "Boats"))])
    one, two = written(tmp_path / "one.bib", abstract("k", "One.")), written(tmp_path / "two.bib", abstract("k", "Two."))
    library.add([one, two])
    assert library.paper("k").abstract == "One."
    library.add([written(one, entry("z", "Zebras"))])
    assert library.paper("k").abstract == "Two."
    library.add([written(one, abstract("k", "One."))])
    assert library.paper("k").abstract == "One."
