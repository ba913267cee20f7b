"""Sets that are cut from a library: what stays, where the years are cut, and that an evaluation can use them."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.build_set import Graph, make, split_years
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.library import Library
from citewell.papers import Context, Name, Paper, Reference, Sentence

TOPICS = ["gulls", "boats", "tides", "piers", "nets", "sails", "ropes", "crabs", "buoys", "masts"]


def cites(*names: str) -> list[Reference]:
    return [Reference([f"lib:{name}"]) for name in names]


def paper(name: str, year: int | None, *cited: str, title: str = "") -> Paper:
    title = title or f"{name} seen from the shore"
    abstract = f"We compare {', '.join(cited)}." if cited else f"All about {name}."
    return Paper(title, abstract, [Name("Ann", name)], year, ids=[f"lib:{name}"], id=name, references=cites(*cited))


def context(citing: str, *cited: str) -> Context:
    # Sources name their contexts as they like: in a library of several, names are not unique.
    return Context(f"seen of {' and '.join(cited)} TARGETCIT before", cites(*cited), f"lib:{citing}", "1 Introduction", "c0")


def harbour() -> list[Paper | Context]:
    """Ten old papers, and from 2001 to 2010 one a year that cites four of them, with a context for two."""
    records: list[Paper | Context] = [paper(topic, 2000 - at) for at, topic in enumerate(TOPICS)]
    for at in range(10):
        cited = [TOPICS[(at + step) % 10] for step in range(4)]
        records += [paper(f"study{at}", 2001 + at, *cited), context(f"study{at}", *cited[:2])]
    return records


def library(folder: Path, records: list[Paper | Context]) -> Library:
    made = Library(folder)
    made.take(records)
    return made


def contents(folder: Path) -> dict[str, list[str]]:
    """The papers of a set and what each cites."""
    return {each.id: sorted(name for other in each.references for name in other.ids) for each in DataSet.open(folder).papers()}


# -- the whole way --------------------------------------------------------------------------------------------------


def test_a_set_cut_from_a_library_can_be_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    made = make(library(tmp_path / "library", harbour()), tmp_path / "set", "harbour")
    dataset = DataSet.open(tmp_path / "set")
    assert dataset.tasks == ("global", "local")
    assert (dataset.train_until, dataset.years) == (2008, {"dev": (2009,), "test": (2010,)})
    queries = judged_queries(Timeline(dataset, dataset.split("test")), "global")
    assert [sorted(each.relevant) for each in queries] == [["harbour:boats", "harbour:gulls", "harbour:masts", "harbour:tides"]]
    for task, relevant in (("global", 4), ("local", 2)):
        experiment = Evaluation(tmp_path / "set", task).report(["bm25"]).experiment
        assert [len(each) for each in experiment.relevant] == [relevant]
        assert experiment.outcomes[0].mean("R@10") == 1.0
    assert not dataset.problems
    assert made.statistics.splits["test"].pairs == {"global": 4, "local": 2}
    assert json.loads((tmp_path / "set" / "statistics.json").read_text())["documents"] == 20


def test_a_set_can_be_added_to_a_library_and_cut_again(tmp_path: Path) -> None:
    make(library(tmp_path / "library", harbour()), tmp_path / "set", "harbour")
    again = Library(tmp_path / "again")
    outcome = again.add([tmp_path / "set"])
    assert (outcome.new_papers, outcome.contexts, outcome.skipped) == (20, 10, 0)
    make(again, tmp_path / "second", "harbour")
    for file in ("set.toml", "papers.jsonl.gz", "contexts.jsonl.gz", "statistics.json"):
        assert (tmp_path / "second" / file).read_bytes() == (tmp_path / "set" / file).read_bytes()


def test_every_field_of_the_format_is_written(tmp_path: Path) -> None:
    full = paper("full", 2005, "gulls")
    full.ids.append("doi:10.1000/full")
    full.date, full.venue, full.keywords = "2005-05-17", "Harbours", ["birds"]
    full.sentences = [Sentence("One."), Sentence("Two.", "Results")]
    make(library(tmp_path / "library", [*harbour(), full]), tmp_path / "set", "s", about='A "set"\n\x7f')
    assert DataSet.open(tmp_path / "set").about == 'A "set"\n\x7f'
    result = next(each for each in DataSet.open(tmp_path / "set").papers() if each.id == "full")
    assert result.ids == ["s:full", "doi:10.1000/full"]
    for name in ("title", "abstract", "authors", "year", "date", "venue", "keywords", "sentences"):
        assert getattr(result, name) == getattr(full, name)
    with gzip.open(tmp_path / "set" / "contexts.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    assert records[0] == {
        "id": "c0",
        "citing": "study0",
        "cited": ["gulls", "boats"],
        "text": "seen of gulls and boats TARGETCIT before",
        "section": "1 Introduction",
    }
    assert len({record["id"] for record in records}) == 10


# -- what stays -----------------------------------------------------------------------------------------------------


def test_papers_without_a_year_or_a_citation_are_left_out(tmp_path: Path) -> None:
    odd: list[Paper | Context] = [
        paper("undated", None, "gulls"),
        paper("alone", 2004),
        paper("seer", 1990, "study9"),
        paper("twin", 2003, "study2", "undated", "missing"),
        paper("later", 2012),
        context("twin", "undated"),
        context("twin", "study2", "undated"),
        context("undated", "gulls"),
    ]
    made = make(library(tmp_path / "library", [*harbour(), *odd]), tmp_path / "set", "s")
    result = contents(tmp_path / "set")
    assert set(result) == {*TOPICS, *(f"study{at}" for at in range(10)), "twin"}
    assert result["twin"] == ["s:study2"]
    contexts = [each for each in DataSet.open(tmp_path / "set").contexts() if each.citing == "s:twin"]
    assert [each.cited for each in contexts] == [[Reference(["s:study2"])]]
    left = made.left_out
    assert (left.papers_without_year, left.papers_without_link, left.citations, left.contexts) == (1, 3, 3, 2)


def test_only_citing_papers_in_one_round(tmp_path: Path) -> None:
    records: list[Paper | Context] = [paper("old", 1999)]
    for year in (2001, 2002, 2003):
        records += [paper(f"c{year}", year, "old"), paper(f"d{year}", year, f"c{year}")]
    made = make(library(tmp_path / "library", records), tmp_path / "set", "s", citing_only=True)
    result = contents(tmp_path / "set")
    assert set(result) == {f"{letter}{year}" for letter in "cd" for year in (2001, 2002, 2003)}
    # A paper that cited only the old one stays, now without references.
    assert result["c2001"] == [] and result["d2001"] == ["s:c2001"]
    assert made.left_out.papers_without_link == 1
    with pytest.raises(CitewellError, match="leave out --citing-only"):
        make(library(tmp_path / "harbour", harbour()), tmp_path / "none", "s", citing_only=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["harbour", "library", "set"]


def test_only_citations_of_the_training_years_make_a_paper_often_cited(tmp_path: Path) -> None:
    source = library(tmp_path / "library", harbour())
    made = make(source, tmp_path / "set", "s", min_citations=3)
    # Gulls, boats and masts have four citations like the others, but two of them are from the years of dev and test.
    often = set(TOPICS) - {"gulls", "boats", "masts"}
    assert contents(tmp_path / "set") == {**{topic: [] for topic in often}, "study8": ["s:buoys"], "study9": ["s:tides"]}
    dataset = DataSet.open(tmp_path / "set")
    assert (dataset.train_until, dataset.years) == (2008, {"dev": (2009,), "test": (2010,)})
    assert [(each.citing, each.cited) for each in dataset.contexts()] == [("s:study8", [Reference(["s:buoys"])])]
    left = made.left_out
    assert (left.papers_with_few_citations, left.citations, left.contexts) == (11, 38, 9)
    with pytest.raises(CitewellError, match="no dev paper cites one with 4 citations until 2008; lower --min-citations"):
        make(source, tmp_path / "none", "s", min_citations=4)


def test_papers_of_other_sets_are_left_out_by_title(tmp_path: Path) -> None:
    other = harbour()
    other.append(paper("x1", 2003, "gulls", title="Gulls: Seen from the Shöre!"))
    long = "a b c d e f g h i j".split()
    other.append(paper("x2", 2003, "gulls", title=" ".join(long)))
    make(library(tmp_path / "other-library", other), tmp_path / "other", "other")
    mine: list[Paper | Context] = [paper(f"{name}-2", 1990, title=f"{name} as seen by me") for name in TOPICS]
    mine += [paper(f"work{at}", 2001 + at, *(f"{name}-2" for name in TOPICS[:4])) for at in range(5)]
    mine += [
        paper("same", 2002, "gulls-2", title="GULLS seen from the shore."),
        paper("near", 2002, "gulls-2", title=" ".join(long[:7])),
        paper("far", 2002, "gulls-2", title=" ".join(long[:6])),
        paper("cites-same", 2003, "same"),
        context("cites-same", "same"),
    ]
    made = make(library(tmp_path / "library", mine), tmp_path / "set", "s", without=[tmp_path / "other"])
    result = contents(tmp_path / "set")
    assert {"same", "near", "cites-same"}.isdisjoint(result)
    assert "far" in result
    assert made.left_out.papers_in_other_sets == 2
    assert DataSet.open(tmp_path / "set").tasks == ("global",)
    assert not (tmp_path / "set" / "contexts.jsonl.gz").exists()


def test_papers_that_a_reader_would_take_for_one_get_names_of_their_own(tmp_path: Path) -> None:
    records = harbour()
    for name in ("one", "two"):
        records.append(paper(name, 2004, "gulls"))
        records[-1].id = "10.1000/same"
    make(library(tmp_path / "library", records), tmp_path / "set", "s")
    named = [each for each in DataSet.open(tmp_path / "set").papers() if each.year == 2004]
    assert len({each.ids[0] for each in named}) == len(named) == 3


# -- where the years are cut ----------------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(1990, 2005), st.integers(1, 30), min_size=3))
def test_the_years_are_cut_where_the_shares_are_nearest(sizes: dict[int, int]) -> None:
    years = np.array([1900, *(year for year in sorted(sizes) for _ in range(sizes[year]))])
    citing = np.arange(1, len(years))
    result = split_years(Graph(np.arange(len(years)), years, citing, np.zeros_like(citing)))
    known = sorted(sizes)

    def distance(until: int, share: float) -> float:
        return abs(sum(sizes[year] for year in known if year <= until) / sum(sizes.values()) - share)

    assert [year for year in known if year <= result.train_until] + result.dev + result.test == known
    assert result.dev
    assert result.test
    assert distance(result.train_until, 0.8) == pytest.approx(min(distance(year, 0.8) for year in known[:-2]))
    after = [year for year in known[:-1] if year > result.train_until]
    assert distance(result.dev[-1], 0.9) == pytest.approx(min(distance(year, 0.9) for year in after))


def test_fewer_than_three_years_are_an_error(tmp_path: Path) -> None:
    records: list[Paper | Context] = [paper("old", 1999), paper("a", 2001, "old"), paper("b", 2002, "old")]
    with pytest.raises(CitewellError, match="2001 and 2002; a set needs at least three years") as failure:
        make(library(tmp_path / "library", records), tmp_path / "set", "s")
    assert "\n" not in str(failure.value)
    assert [path.name for path in tmp_path.iterdir()] == ["library"]


# -- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_empty_is_left_unchanged(tmp_path: Path) -> None:
    source = library(tmp_path / "library", harbour())
    (tmp_path / "set").mkdir()
    make(source, tmp_path / "set", "s")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "set").iterdir())
    with pytest.raises(CitewellError, match="already exists and is not empty; choose a new folder"):
        make(source, tmp_path / "set", "s")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "set").iterdir()) == before


def test_nothing_is_left_behind_when_it_fails_half_way(tmp_path: Path) -> None:
    source = library(tmp_path / "library", harbour())
    with sqlite3.connect(tmp_path / "library" / "library.sqlite") as db:
        db.execute("UPDATE papers SET details = '{' WHERE id = 'study9'")
    with pytest.raises(Exception, match=r"[Tt]runcated"):
        make(source, tmp_path / "new" / "set", "s")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_library_without_citations_says_so(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match="add papers with years and references"):
        make(library(tmp_path / "library", [paper("a", 2001), paper("b", 2002)]), tmp_path / "set", "s")


@pytest.mark.parametrize("name", ["", "a/b", "..", 'x"y', "a b"])
def test_a_name_that_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(CitewellError, match="is not a valid name of a set"):
        make(library(tmp_path / "library", harbour()), tmp_path / "set", name)


# -- the commands ---------------------------------------------------------------------------------------------------


def run(*arguments: object) -> str:
    return CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False).stdout


def test_make_prints_the_statistics_and_what_was_left_out(tmp_path: Path) -> None:
    library(tmp_path / "library", [*harbour(), paper("undated", None)])
    printed = run("set", "make", tmp_path / "set", "--library", tmp_path / "library", "--name", "s")
    assert "20 (20 with an abstract), years 1991–2010" in printed
    assert "left out: 1 papers without year" in printed
    arguments = ("set", "make", tmp_path / "new", "--library", tmp_path / "library", "--name", "s", "--json")
    result = json.loads(run(*arguments))
    assert result["left_out"]["papers_without_year"] == 1
    assert result["splits"]["train"]["citing"] == 8
    written = json.loads((tmp_path / "new" / "statistics.json").read_text())
    assert {key: result[key] for key in written} == written


def test_the_cache_is_listed_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    assert json.loads(run("set", "cache", "--json"))["libraries"] == []
    make(library(tmp_path / "library", harbour()), tmp_path / "set", "harbour")
    Evaluation(tmp_path / "set", "global").report(["bm25"])
    folder = tmp_path / "cache" / "sets"
    library(folder / "killed.building", [paper("a", 2001)])
    (folder / "citewell-scratch" / "2010").mkdir(parents=True)
    listed = json.loads(run("set", "cache", "--json"))
    assert [each["name"].startswith("harbour-2010") for each in listed["libraries"]] == [True]
    assert listed["bytes"] == listed["libraries"][0]["bytes"] > 0
    assert "MB  harbour-2010" in run("set", "cache")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert f"removed 1 library, {size / 1e6:,.1f} MB freed" in run("set", "cache", "--clear")
    assert list(folder.iterdir()) == []
    assert json.loads(run("set", "cache", "--clear", "--json")) == {"folder": str(folder), "cleared": 0, "freed_bytes": 0}


def test_a_library_that_is_being_built_is_not_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path))
    library(tmp_path / "sets" / "busy.building", [paper("a", 2001)])
    with FileLock(tmp_path / "sets" / "busy.lock"):
        run("set", "cache", "--clear")
        assert (tmp_path / "sets" / "busy.building").exists()
