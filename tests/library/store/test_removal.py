"""Removed papers are gone; the citations of them by others wait until they are added again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Query
from citewell.pipeline.api import prepare, suggest
from tests.library.records import write_jsonl


def contents(library: Library) -> dict[str, Any]:
    """The contents of the library, by names."""
    library.reload()
    db = library.store.db
    pairs = "SELECT a.id, b.id FROM citations JOIN papers AS a ON a.num = citing JOIN papers AS b ON b.num = cited"
    targets = (
        "SELECT contexts.id, one.id, other.id FROM targets JOIN contexts ON contexts.num = context"
        " JOIN papers AS one ON one.num = targets.citing LEFT JOIN papers AS other ON other.num = cited"
    )
    counts = library.store.counts()
    return {
        "papers": sorted(db.execute("SELECT id, title, abstract FROM papers")),
        "ids": sorted(db.execute("SELECT key, id FROM ids JOIN papers ON num = paper")),
        "citations": sorted(db.execute(pairs)),
        "targets": sorted(db.execute(targets), key=repr),
        "sentences": sorted(db.execute("SELECT id, position, text FROM sentences JOIN papers ON num = paper")),
        "counts": {name: counts[name] for name in ("waiting", "contexts", "waiting_contexts")},
        "suggested": [suggestion.paper.id for suggestion in suggest(library, Query(title="gulls and tides count boats birds"))],
        "indexed": {name: len(library.index.listed(name)) for name in ("own", "cited", "citing")},
    }


@pytest.mark.parametrize("names", [["harbour"], ["gulls"], ["tides"], ["review"], ["gulls", "tides"], ["harbour", "review"]])
def test_adding_again_restores_removed_papers(tiny: Library, tiny_file: Path, names: list[str]) -> None:
    before = contents(tiny)
    assert tiny.remove(names) == len(names)
    assert tiny.check().sound
    assert len(tiny) == 4 - len(names)
    tiny.add([tiny_file])
    assert tiny.check().sound
    assert contents(tiny) == before


def test_citations_of_a_removed_paper_wait(tiny: Library) -> None:
    assert (tiny.info()["citations"], tiny.info()["waiting"]) == (6, 2)
    tiny.remove(["doi:10.1000/harbour"])
    info = tiny.info()
    assert (info["papers"], info["citations"], info["waiting"], info["contexts"]) == (3, 3, 5, 2)
    with pytest.raises(CitewellError, match="has no paper"):
        tiny.paper("harbour")
    waiting = [reference for reference in tiny.paper("review").references if "doi:10.1000/harbour" in reference.ids]
    assert [reference.title for reference in waiting] == ["Counting boats in the harbour"], "its title stays known"
    (context,) = tiny.paper("tides").contexts
    assert context.cited[0].title == "Counting boats in the harbour"


@pytest.mark.parametrize(
    "returning",
    [
        {"id": "harbour", "title": "Under the name of its file"},
        {"id": "z", "doi": "10.1000/harbour", "title": "By its DOI"},
        {"id": "z", "title": "Counting Boats in the Harbour!", "year": 2016},
    ],
)
def test_a_paper_may_return_under_any_of_its_names(tiny: Library, tmp_path: Path, returning: dict[str, Any]) -> None:
    tiny.remove(["harbour"])
    tiny.add([write_jsonl(tmp_path / "returning.jsonl", [{"authors": [], **returning}])])
    info = tiny.info()
    assert (info["papers"], info["citations"], info["waiting"]) == (4, 6, 2)
    assert [reference.ids for reference in tiny.paper("tides").contexts[0].cited] == [[tiny.paper(returning["id"]).id]]
    assert tiny.index.listed("cited").tolist() == sorted(tiny.store.find(name) for name in ("gulls", returning["id"]))
    assert tiny.check().sound


def test_a_citing_paper_takes_its_contexts_with_it(tiny: Library) -> None:
    tiny.remove(["tides", "review"])
    info = tiny.info()
    assert (info["contexts"], info["sentences"], info["citations"], info["waiting"]) == (0, 0, 1, 1)
    assert len(tiny.index.listed("cited")) == len(tiny.index.listed("citing")) == 0
    assert tiny.check().sound


def test_removed_papers_are_not_suggested(tiny: Library) -> None:
    query = Query(title="gulls mistaken for boats")
    prepare(tiny)
    assert suggest(tiny, query)[0].paper.id == "gulls"
    tiny.remove(["gulls"])
    assert "gulls" not in [suggestion.paper.id for suggestion in suggest(tiny, query)]


def test_re_adding_only_the_citing_paper_counts_no_reference_twice(tiny: Library, tiny_file: Path, tmp_path: Path) -> None:
    tiny.remove(["gulls"])
    waiting = tiny.info()["waiting"]
    lines = tiny_file.read_text().splitlines(keepends=True)
    (tmp_path / "citing.jsonl").write_text("".join(line for line in lines if '"id": "gulls"' not in line))
    tiny.add([tmp_path / "citing.jsonl"])
    assert tiny.info()["waiting"] == waiting


def test_naming_a_paper_twice_removes_it_once(tiny: Library) -> None:
    assert tiny.remove(["harbour", "doi:10.1000/harbour"]) == 1


def test_an_unknown_name_stops_the_removal(tiny: Library) -> None:
    with pytest.raises(CitewellError, match="has no paper 'nobody'; nothing was removed"):
        tiny.remove(["harbour", "nobody"])
    assert len(tiny) == 4


def test_an_interrupted_add_starts_again_after_a_removal(tiny: Library, tiny_file: Path) -> None:
    """Otherwise it would continue after records that are no longer there."""
    with tiny._writing() as (db, _):
        db.execute("INSERT INTO imports VALUES ('some file', 3)")
    tiny.remove(["gulls"])
    assert tiny.store.db.execute("SELECT count(*) FROM imports").fetchone() == (0,)
