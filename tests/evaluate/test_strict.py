"""Time rules: planted future records change no digit of any ranking, and the tests fail if a guard is removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.evaluate import runner, strict
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.runner import Qrels, Runs
from citewell.evaluate.strict import query_date
from citewell.papers import Ranking
from tests.evaluate.small_set import SmallSet, small_set

PIPELINES = [
    "bm25",
    "bm25-key-terms",
    "bm25-contexts",
    "bm25-citing",
    "bm25-cited",
    "context-similarity",
    "references-of-same-authors",
]
TASKS = ["global", "local", "paragraph"]


class Rankings:
    """Collects every ranking with its scores."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], dict[str, float]] = {}
        self.relevant: dict[str, list[str]] = {}

    def qrels(self, qrels: Qrels) -> None:
        self.relevant |= qrels[""]

    def rankings(self, system: str, runs: Runs) -> None:
        self.made |= {(system, query): ranking for query, ranking in runs[""].items()}


def rankings(
    made: SmallSet, folder: Path, tasks: Sequence[str] = TASKS, pipelines: Sequence[str] = PIPELINES, **rules: Any
) -> dict[tuple[str, str], dict[str, float]]:
    """All rankings of pipelines for the queries of tasks, by system, task and query."""
    made.write(folder)
    by_task = {}
    for task in tasks:
        collected = Rankings()
        Evaluation(folder, task, **rules).run(pipelines, listener=collected)
        by_task.update({(system, f"{task} {query}"): ranking for (system, query), ranking in collected.made.items()})
    return by_task


def relevant_paper(made: SmallSet) -> dict[str, Any]:
    """A paper that a test query cites."""
    return made.paper(made.papers[-1]["references"][0])


def future_paper(made: SmallSet) -> None:
    """A copy of a relevant paper, from the year after the queries."""
    made.papers.append({**relevant_paper(made), "id": "planted", "year": 2021, "authors": ["Someone Else"]})


def paper_without_a_year(made: SmallSet) -> None:
    made.papers.append({**relevant_paper(made), "id": "planted", "year": None, "authors": ["Someone Else"]})


def later_the_same_year(made: SmallSet) -> None:
    """A copy of a relevant paper, from the last day of the queries' year, after every query."""
    made.papers.append(
        {**relevant_paper(made), "id": "planted", "year": 2020, "date": "2020-12-31", "authors": ["Someone Else"]}
    )


def own_reference(made: SmallSet) -> None:
    """Every test query cites a paper that shares its words, and says so."""
    for number, paper in enumerate(made.papers[-12:]):
        paper["references"] = [*paper["references"], "p2016-0"]
        made.contexts.append(
            {"id": f"own{number}", "citing": paper["id"], "cited": ["p2016-0"], "text": f"{paper['title']} TARGETCIT"}
        )


def future_context(made: SmallSet) -> None:
    """A paper from after the queries describes a relevant paper in their words."""
    query, relevant = made.papers[-1], relevant_paper(made)
    made.papers.append({"id": "later", "title": "A later survey", "year": 2021, "references": [relevant["id"]]})
    made.contexts.append(
        {
            "id": "planted",
            "citing": "later",
            "cited": [relevant["id"]],
            "text": f"{query['title']} {query['abstract']} TARGETCIT",
        }
    )


def context_of_nobody(made: SmallSet) -> None:
    """A context whose citing paper is not in the set, so its date is unknown."""
    query, relevant = made.papers[-1], relevant_paper(made)
    made.contexts.append(
        {"id": "planted", "citing": "unknown", "cited": [relevant["id"]], "text": f"{query['title']} TARGETCIT"}
    )


def preprint_links(made: SmallSet) -> None:
    """The preprint of a query, one year older: what it cites is what the query cites."""
    query = made.papers[-1]
    made.paper("p2019-3").update(title=query["title"], authors=query["authors"])
    made.contexts.append(
        {
            "id": "planted",
            "citing": "p2019-3",
            "cited": [query["references"][0]],
            "text": f"{query['title']} {query['abstract']} TARGETCIT",
        }
    )


def with_preprint(made: SmallSet) -> None:
    """The same preprint without its context for the relevant paper."""
    query = made.papers[-1]
    made.paper("p2019-3").update(title=query["title"], authors=query["authors"])


def chain_of_versions(made: SmallSet) -> None:
    """Two earlier versions of a query, the older one two years before it: the library makes one paper of all three."""
    with_chain(made)
    query = made.papers[-1]
    made.contexts.append(
        {"id": "planted", "citing": "p2018-3", "cited": [query["references"][0]], "text": f"{query['title']} TARGETCIT"}
    )


def with_chain(made: SmallSet) -> None:
    query = made.papers[-1]
    for name in ("p2018-3", "p2019-3"):
        made.paper(name).update(title=query["title"], authors=query["authors"])


def context_by_shared_doi(made: SmallSet) -> None:
    """An earlier record that shares no title with a query, but its DOI, says what the query cites."""
    with_shared_doi(made)
    query = made.papers[-1]
    made.contexts.append(
        {"id": "planted", "citing": "p2019-3", "cited": [query["references"][0]], "text": f"{query['title']} TARGETCIT"}
    )


def with_shared_doi(made: SmallSet) -> None:
    made.papers[-1]["doi"] = made.paper("p2019-3")["doi"] = "10.1000/one-work"


def later_by_its_date(made: SmallSet) -> None:
    """A copy of a relevant paper that says the queries' year, but a date after it."""
    made.papers.append({**relevant_paper(made), "id": "planted", "year": 2020, "date": "2021-03-01", "authors": ["X Y"]})


def nothing(made: SmallSet) -> None:
    """The set as it is."""


PLANTED = [
    (nothing, future_paper, "sees_paper"),
    (nothing, paper_without_a_year, "sees_paper"),
    (nothing, later_the_same_year, "sees_paper"),
    (nothing, own_reference, "sees_links"),
    (nothing, future_context, "sees_links"),
    (nothing, context_of_nobody, None),
    (with_preprint, preprint_links, "same works"),
    (with_chain, chain_of_versions, "same works"),
    (with_shared_doi, context_by_shared_doi, "same works"),
    (nothing, later_by_its_date, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "planted", "guard"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_planted_records_change_no_digit(
    before: Callable[[SmallSet], None], planted: Callable[[SmallSet], None], guard: str | None, tmp_path: Path
) -> None:
    clean, changed = small_set(dates=True), small_set(dates=True)
    before(clean)
    planted(changed)
    expected = rankings(clean, tmp_path / "clean")
    actual = rankings(changed, tmp_path / "changed")
    assert len(expected) > 200
    # A planted reference of its own is one more query of the local task; the other queries stay the same.
    assert {key: list(actual[key].items()) for key in expected} == {key: list(value.items()) for key, value in expected.items()}


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.slow
def test_planted_records_change_no_digit_of_the_default_pipeline(
    guarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the encoders, the trees and the cross-encoder that ship; the other tests use none of them."""
    clean, changed = small_set(), small_set()
    for planted in (future_paper, future_context):
        planted(changed)
    expected = rankings(clean, tmp_path / "clean", ["local"], ["best"], sample=8)
    if not guarded:
        remove_guard("sees_paper", monkeypatch)
        remove_guard("sees_links", monkeypatch)
        monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "unguarded"))
    actual = rankings(changed, tmp_path / "changed", ["local"], ["best"], sample=8)
    assert len(expected) == 8
    same = {key: list(actual[key].items()) for key in expected} == {key: list(value.items()) for key, value in expected.items()}
    assert same == guarded


@pytest.mark.parametrize(
    ("before", "planted", "guard"), [each for each in PLANTED if each[2]], ids=lambda value: getattr(value, "__name__", None)
)
@pytest.mark.slow
def test_without_the_guard_planted_records_change_rankings(
    before: Callable[[SmallSet], None],
    planted: Callable[[SmallSet], None],
    guard: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clean, changed = small_set(dates=True), small_set(dates=True)
    before(clean)
    planted(changed)
    expected = rankings(clean, tmp_path / "clean")
    remove_guard(guard, monkeypatch)
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "unguarded"))
    actual = rankings(changed, tmp_path / "changed")
    assert {key: actual[key] for key in expected} != expected


def remove_guard(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if guard == "sees_paper":
        monkeypatch.setattr(strict, "sees_paper", lambda date, cutoff: True)
        monkeypatch.setattr(runner, "sees_papers", lambda dates, cutoff: np.ones(len(dates), bool))
        monkeypatch.setattr("citewell.evaluate.set_libraries.when", lambda paper: (paper.year or 2020) * 10_000)
    elif guard == "sees_links":
        monkeypatch.setattr(strict, "sees_links", lambda citing, cutoff: True)
        monkeypatch.setattr(strict.SameWorks, "add", lambda self, paper: None)
    else:
        monkeypatch.setattr(strict.SameWorks, "add", lambda self, paper: None)


def test_the_record_of_the_citing_paper_does_not_count_in_the_statistics(tmp_path: Path) -> None:
    changed = small_set()
    changed.papers[-1]["abstract"] = "Anchor " * 50
    expected, actual = rankings(small_set(), tmp_path / "clean"), rankings(changed, tmp_path / "changed")
    own = [f"local {context['id']}" for context in changed.contexts if context["citing"] == changed.papers[-1]["id"]]
    assert len(own) == 4
    for system in PIPELINES:
        for query in own:
            assert actual[system, query] == expected[system, query]


def test_without_train_until_the_years_before_the_splits_are_for_training(tmp_path: Path) -> None:
    explicit, implicit = small_set(), small_set()
    implicit.toml = implicit.toml.replace("train_until = 2018\n", "")
    assert rankings(explicit, tmp_path / "explicit") == rankings(implicit, tmp_path / "implicit")


def test_a_bibliography_never_names_a_relevant_paper_by_another_id(tmp_path: Path) -> None:
    made = small_set()
    relevant, query = relevant_paper(made), made.papers[-1]
    relevant["doi"] = "10.1000/relevant"
    query["references"].append("10.1000/relevant")
    folder = made.write(tmp_path / "set")
    requests = []
    evaluation = Evaluation(folder, "local", with_bibliography=True)

    class Spy:
        name = "spy"
        stages = ()

        def models(self) -> set[str]:
            return set()

        def prepare(self, library: Any, donors: Any, progress: Any = None) -> None: ...

        def prepares(self) -> bool:
            return False

        def rank(self, request: Any) -> Any:
            requests.append((request.query, request.known.tolist()))
            return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))

    evaluation.run([Spy()])  # type: ignore[list-item]
    number = evaluation.libraries().cached(2020_9999).number("doi:10.1000/relevant")
    contexts = [each["text"] for each in made.contexts if each["citing"] == query["id"] and each["cited"] == [relevant["id"]]]
    known = [papers for query, papers in requests if query.context in contexts]
    assert known and all(number not in papers for papers in known)


def test_a_set_with_a_path_as_its_name_stays_in_the_cache(tmp_path: Path, cache: Path) -> None:
    made = small_set()
    made.toml = made.toml.replace('"small"', f'"{tmp_path}/outside"')
    Evaluation(made.write(tmp_path / "set"), "local").run(["bm25"])
    assert not list(tmp_path.glob("outside*"))
    assert list(cache.glob("sets/*outside-2020*"))


def test_a_stage_that_ignores_the_filters_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_set().write(tmp_path / "set")
    monkeypatch.setattr("citewell.ranking.request.Request.hidden", np.zeros(0, np.int64))
    with pytest.raises(CitewellError, match="must not see"):
        Evaluation(folder, "global").run(["bm25"])


def test_links_to_later_papers_are_neither_relevant_nor_used(tmp_path: Path) -> None:
    made = small_set()
    made.papers[-1]["references"].append("later")
    made.paper("p2017-1")["references"].append("p2019-1")
    made.papers.append({"id": "later", "title": "From the future", "year": 2023})
    evaluation = Evaluation(made.write(tmp_path / "set"), "global")
    assert all("small:later" not in judged.relevant for judged in evaluation.queries())
    library = evaluation.libraries().cached(2020_9999)
    assert all(reference.ids != ["p2019-1"] for reference in library.paper("p2017-1").references)


def test_the_test_split_sees_the_links_of_dev_years_and_dev_only_those_of_train_years(tmp_path: Path) -> None:
    folder = small_set().write(tmp_path / "set")
    for split, year, citing in (("test", 2020, {2016, 2017, 2018, 2019}), ("dev", 2019, {2016, 2017, 2018})):
        with Evaluation(folder, "local", split).libraries().cached(year * 10_000 + 9999) as library:
            papers = list(library.store.each())
        assert {paper.year for paper in papers} == set(range(2016, year + 1))
        assert {paper.year for paper in papers if paper.references or paper.contexts} == citing - {2016}


def test_a_set_with_overlapping_years_is_an_error(tmp_path: Path) -> None:
    made = small_set()
    made.toml = made.toml.replace("dev = [2019]", "dev = [2018]")
    with pytest.raises(CitewellError, match="must be after 2018"):
        Evaluation(made.write(tmp_path / "set"), "local", "dev")


@pytest.mark.parametrize(
    ("date", "until"), [(2020_0000, 2020_9999), (2020_0500, 2020_0599), (2020_0517, 2020_0517)], ids=["year", "month", "day"]
)
def test_a_query_sees_papers_up_to_the_end_of_its_known_date(date: int, until: int) -> None:
    assert query_date(date) == until


def test_a_library_that_grew_day_by_day_ranks_like_one_built_at_once(tmp_path: Path) -> None:
    made = small_set(dates=True)
    last = max(paper.get("date", "") for paper in made.papers)
    at_once = small_set(dates=True)
    at_once.papers = [{**paper, "date": ""} if paper["year"] == 2020 else paper for paper in at_once.papers]
    grown, built = rankings(made, tmp_path / "grown"), rankings(at_once, tmp_path / "built")
    queries = [paper["id"] for paper in made.papers if paper.get("date") == last]
    for system in PIPELINES:
        for query in queries:
            key = (system, f"global {query}")
            assert sorted(grown[key].items()) == sorted(built[key].items())
