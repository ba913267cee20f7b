"""What a user of ``citewell evaluate`` sees: figures, files, external runs, the rules in the heading."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import bm25s
import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.evaluate import set_libraries, trec
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.files import Files, write_report
from citewell.evaluate.report import Report
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.papers import TARGET_MARK
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from citewell.rerank.base import TopReranker
from citewell.retrieve.bm25 import BM25
from citewell.types import Float32Array, PaperNumbers
from tests.evaluate.small_set import SmallSet, small_set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_set(dates=True).write(tmp_path / "set")


def citewell(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *map(str, arguments)], capture_output=True, text=True, check=check, timeout=120
    )


@pytest.mark.slow
def test_the_json_is_that_of_the_contract(folder: Path) -> None:
    result = json.loads(
        citewell("evaluate", folder, "--task", "local", "--pipeline", "bm25", "--pipeline", "best", "--json").stdout
    )
    assert {key: result[key] for key in ("set", "task", "split", "strict")} == {
        "set": "small",
        "task": "local",
        "split": "test",
        "strict": True,
    }
    assert result["queries"] == 48
    assert set(result["pipelines"]) == {"bm25", "best"}
    for figures in result["pipelines"].values():
        named = {"R@10", "R@1000", "RR", "AP", "nDCG@10", "P@5", "Rprec", "F1@20", "nDCG-HC@10", "Success@10"}
        assert named | {"seconds_per_query"} <= set(figures)
        assert all(0 <= value <= 1 for name, value in figures.items() if name != "seconds_per_query")
    assert result["pipelines"]["best"]["R@10"] > 0.5
    assert {each["measure"] for each in result["comparisons"]} >= {"R@10", "RR", "AP"}
    low, high = result["intervals"]["bm25"]["R@10"]
    assert low <= result["pipelines"]["bm25"]["R@10"] <= high


def test_the_table_names_the_rules(folder: Path) -> None:
    shown = citewell(
        "evaluate",
        folder,
        "--task",
        "local",
        "--pipeline",
        "bm25",
        "--pipeline",
        "bm25-contexts",
        "--lenient",
        "--sample",
        "20",
    ).stdout
    assert "small · local · test · 20 queries · sampled with seed 0 · strict in time · LENIENT" in shown
    assert "differences from bm25; p-values are Holm-corrected" in shown


def test_a_second_evaluation_builds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Evaluation(folder, "local").report(["bm25"]).as_json()["pipelines"]["bm25"]
    monkeypatch.setattr(set_libraries.SetLibraries, "_build", lambda *_: pytest.fail("built again"))
    second = Evaluation(folder, "local").report(["bm25"]).as_json()["pipelines"]["bm25"]
    del first["seconds_per_query"], second["seconds_per_query"]
    assert first == second


def test_a_changed_set_gets_a_new_library(folder: Path, tmp_path: Path, cache: Path) -> None:
    Evaluation(folder, "local", "dev").report(["bm25"])
    before = set(cache.glob("sets/small-*/"))
    made = small_set(dates=True)
    made.papers[0]["title"] = "Something else"
    Evaluation(made.write(tmp_path / "changed"), "local", "dev").report(["bm25"])
    assert len({path for path in cache.glob("sets/small-*") if path.is_dir()} - before) == 1


def test_samples_are_drawn_by_seed(folder: Path) -> None:
    def ids(**rules: Any) -> list[str]:
        return [judged.id for judged in Evaluation(folder, "local", **rules).queries()]

    everything = ids()
    assert ids(sample=10) == ids(sample=10)
    assert ids(sample=10) != ids(sample=10, seed=1)
    assert set(ids(sample=10)) <= set(everything)
    assert ids(sample=1000) == everything


def test_global_queries_know_at_least_three_references(tmp_path: Path) -> None:
    made = small_set()
    made.papers[-1]["references"] = made.papers[-1]["references"][:2]
    queries = Evaluation(made.write(tmp_path / "set"), "global").queries()
    assert len(queries) == 11
    assert all(len(judged.relevant) >= 3 for judged in queries)


def test_queries_are_made_of_what_each_task_may_use(folder: Path) -> None:
    (first, *_) = Evaluation(folder, "local").queries()
    assert first.query.text() == f"{first.query.context}\n{first.query.title}"
    (first, *_) = Evaluation(folder, "paragraph").queries()
    assert first.query.text() == f"{first.query.context}\n{first.query.title}\n{first.query.abstract}"
    (first, *_) = Evaluation(folder, "global").queries()
    assert first.query.text() == f"{first.query.title}\n{first.query.abstract}"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A set with a query that has no word in common with its relevant paper."""
    made = small_set()
    made.contexts.append({"id": "odd", "citing": "p2020-1", "cited": ["p2016-5"], "text": "xyzzy TARGETCIT plugh"})
    made.papers.append({"id": "p2016-5x", "title": "Xyzzy", "year": 2016})
    made.paper("p2020-1")["title"] = "Plugh"
    return made.write(tmp_path / "set")


def rank_of(report: Report, query: str, system: int = 0) -> list[int]:
    at = [judged.id for judged in report.experiment.queries].index(query)
    return report.experiment.outcomes[system].ranks[at]


def test_lenient_puts_missed_relevant_papers_at_the_end_of_what_is_retrieved(odd: Path) -> None:
    strict, lenient = (Evaluation(odd, "local", lenient=each).report(["bm25"]) for each in (False, True))
    assert (rank_of(strict, "odd"), rank_of(lenient, "odd")) == ([0], [2])
    assert strict.experiment.outcomes[0].injected == 0 < lenient.experiment.outcomes[0].injected
    assert lenient.as_json()["lenient"] is True


@dataclass(frozen=True)
class NewestFirst(TopReranker):
    """Puts the newest of the first papers first."""

    depth: int = 2
    label: ClassVar[str] = "Newest"

    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        return -papers.astype(np.float32)


def test_lenient_puts_missed_relevant_papers_among_what_is_re_ranked(odd: Path) -> None:
    reranked = BM25() >> NewestFirst(depth=1), BM25() >> NewestFirst(depth=3)
    strict = Evaluation(odd, "local").report(reranked)
    lenient = Evaluation(odd, "local", lenient=True).report(reranked)
    assert [rank_of(strict, "odd", at) for at in (0, 1)] == [[0], [0]]
    # With one place among the candidates the relevant paper takes it; with three, the re-ranker decides.
    assert rank_of(lenient, "odd", 0) == [1]
    assert rank_of(lenient, "odd", 1) == [1]
    missed = [outcome.injected for outcome in lenient.experiment.outcomes]
    assert missed[0] > missed[1] > 0, "of fewer candidates more are missing"
    fusion = ReciprocalRank(of=(pipeline("bm25"), pipeline("bm25-contexts")))
    fused = Evaluation(odd, "local", lenient=True).report([fusion])
    assert rank_of(fused, "odd") != [0]


def test_found_by_leaves_out_what_a_first_stage_misses(odd: Path) -> None:
    everything = Evaluation(odd, "local").report(["bm25"])
    found = Evaluation(odd, "local", found_by="bm25").report(["bm25"])
    missed = [judged.id for judged in everything.experiment.queries if not any(rank_of(everything, judged.id))]
    assert "odd" in missed
    asked, left = ({judged.id for judged in each.experiment.queries} for each in (everything, found))
    assert asked - left == set(missed)
    assert found.experiment.skipped == everything.experiment.skipped + len(missed)
    assert found.as_json()["found_by"] == "bm25" and "ONLY QUERIES whose relevant paper bm25 retrieves" in found.heading()


def test_contexts_can_be_cut(odd: Path) -> None:
    whole, cut = Evaluation(odd, "local").queries(), Evaluation(odd, "local", context_characters=12).queries()
    assert [judged.id for judged in whole] == [judged.id for judged in cut]
    assert all(max(map(len, judged.query.context.split(TARGET_MARK))) <= 12 for judged in cut)
    assert any(len(one.query.context) > len(other.query.context) for one, other in zip(whole, cut, strict=True))
    report = Evaluation(odd, "local", context_characters=12).report(["bm25"])
    assert report.as_json()["context_characters"] == 12 and "CONTEXTS of at most 12 characters" in report.heading()
    with pytest.raises(CitewellError, match="local task, not with global"):
        Evaluation(odd, "global", context_characters=12)


def test_with_bibliography_queries_know_the_other_references_and_never_the_relevant_ones(folder: Path) -> None:
    evaluation = Evaluation(folder, "local", with_bibliography=True)
    for judged in evaluation.queries():
        assert len(judged.query.known) == 3
        assert not set(judged.query.known) & set(judged.relevant)
    informed = evaluation.report(["bm25", "bm25-bibliography"])
    plain = Evaluation(folder, "local").report(["bm25"])
    assert informed.experiment.outcomes[0].ranks == plain.experiment.outcomes[0].ranks
    assert informed.experiment.outcomes[1].ranks != plain.experiment.outcomes[0].ranks
    with pytest.raises(CitewellError, match="local and paragraph"):
        Evaluation(folder, "global", with_bibliography=True).queries()


def test_distractors_are_added_to_the_library(tmp_path: Path) -> None:
    made = small_set()
    made.distractors = [{**paper, "id": f"d{paper['id']}", "references": [], "authors": ["X"]} for paper in made.papers]
    folder = made.write(tmp_path / "set")
    narrow = Evaluation(folder, "local").report(["bm25"]).experiment.outcomes[0]
    wide = Evaluation(folder, "local", distractors=True).report(["bm25"]).experiment.outcomes[0]
    assert wide.mean("RR") < narrow.mean("RR")
    with pytest.raises(CitewellError, match="no distractors"):
        Evaluation(small_set().write(tmp_path / "other"), "local", distractors=True).report(["bm25"])


def test_evidence_measures_papers_and_sentences(folder: Path) -> None:
    report = Evaluation(folder, "evidence").report(["bm25"])
    figures = report.as_json()["pipelines"]["bm25"]
    assert figures["Success@10"] == 1.0
    assert figures["oracle:R@10"] == 1.0
    assert 0 < figures["sentences:AP"] <= figures["oracle:AP"]
    marked = [bool(judged.sentences) for judged in report.experiment.queries]
    assert (~np.isnan(report.experiment.outcomes[0].values["oracle:AP"])).tolist() == marked
    assert len(Evaluation(folder, "evidence", kind="manual").queries()) == 3
    with pytest.raises(CitewellError, match="there are auto, manual"):
        Evaluation(folder, "evidence", kind="none").queries()


# -- files, and external runs --------- ------------------------------------------------------------------------------------


def test_a_written_run_scores_the_same_when_it_is_read_again(folder: Path, tmp_path: Path) -> None:
    evaluation = Evaluation(folder, "local")
    with Files(tmp_path / "out") as files:
        report = evaluation.report(["bm25", "bm25-contexts"], listener=files)
    write_report(tmp_path / "out", report, evaluation.timeline.names)
    again = evaluation.report([], [tmp_path / "out" / "run-bm25.txt.gz"])
    for name, values in report.experiment.outcomes[0].values.items():
        np.testing.assert_allclose(again.experiment.outcomes[0].values[name], values, atol=1e-6, err_msg=name)
    assert again.experiment.outcomes[0].removed == 0
    qrels = trec.read_qrels(tmp_path / "out" / "qrels.txt")
    assert list(qrels.values()) == report.experiment.relevant
    lines = [json.loads(line) for line in (tmp_path / "out" / "per-query-bm25.jsonl").read_text().splitlines()]
    assert np.mean([line["RR"] for line in lines]) == pytest.approx(report.experiment.outcomes[0].mean("RR"))
    assert len((tmp_path / "out" / "queries.jsonl").read_text().splitlines()) == len(lines)
    assert json.loads((tmp_path / "out" / "report.json").read_text())["queries"] == len(lines)


def bm25s_run(made: SmallSet, queries: list[dict[str, Any]], path: Path) -> None:
    """Run another system on the queries of ``queries.jsonl``, over all papers of the set: it ignores the time rules."""
    engine = bm25s.BM25()
    texts = [f"{paper['title']} {paper['abstract']}" for paper in made.papers]
    engine.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    with path.open("w") as out:
        for query in queries:
            tokens = bm25s.tokenize([f"{query['context']} {query['title']}"], show_progress=False)
            papers, scores = engine.retrieve(tokens, k=30, show_progress=False)
            for rank, (paper, score) in enumerate(zip(papers[0], scores[0], strict=True), 1):
                out.write(f"{query['id']} Q0 {made.papers[int(paper)]['id']} {rank} {score} bm25s\n")


def test_another_system_is_scored_through_trec_files(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    citewell("evaluate", folder, "--task", "local", "--pipeline", "bm25", "--out", out)
    queries = [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()]
    bm25s_run(small_set(dates=True), queries, tmp_path / "bm25s.txt")
    result = json.loads(
        citewell("evaluate", folder, "--task", "local", "--pipeline", "bm25", "--run", tmp_path / "bm25s.txt", "--json").stdout
    )
    theirs = result["pipelines"]["bm25s"]
    assert theirs["seconds_per_query"] is None
    assert theirs["R@10"] == pytest.approx(result["pipelines"]["bm25"]["R@10"], abs=0.15)
    # It ranked the papers of the whole year, with the citing paper itself first.
    assert result["removed"]["bm25s"] > len(queries)
    assert {each["system"] for each in result["comparisons"]} == {"bm25s"}


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "empty run"), ("q Q0 p 1\n", "line 1: a run has six fields"), ("q Q0 p 1 high x\n", "line 1: a run has six fields")],
)
def test_a_broken_run_is_one_line(folder: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.txt").write_text(content)
    failed = citewell("evaluate", folder, "--task", "local", "--run", tmp_path / "run.txt", check=False)
    assert failed.returncode == 1
    assert message in failed.stderr and failed.stderr.count("\n") == 1


def test_ties_in_an_external_run_are_broken_as_trec_eval_does(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q Q0 a 1 1.0 x\nq Q0 b 2 1.0 x\nq Q0 c 3 2.0 x\n")
    assert list(trec.read_run(tmp_path / "run.txt")["q"]) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "local", "--pipeline", "nope"], "There is no pipeline 'nope'"),
        (["--task", "local", "--baseline", "nope"], "the baseline 'nope' is not among the systems"),
        (["--task", "local", "--measure", "recall"], "there is no measure 'recall'"),
    ],
)
def test_an_invalid_option_gives_a_one_line_error(folder: Path, arguments: list[str], message: str) -> None:
    failed = citewell("evaluate", folder, *arguments, check=False)
    assert failed.returncode == 1
    assert message in failed.stderr and failed.stderr.count("\n") == 1


def test_a_folder_that_is_not_a_set_gives_a_one_line_error(tmp_path: Path) -> None:
    failed = citewell("evaluate", tmp_path, "--task", "local", check=False)
    assert "no set.toml" in failed.stderr and failed.stderr.count("\n") == 1


def test_broken_lines_of_a_set_are_counted(folder: Path) -> None:
    with (folder / "papers.jsonl").open("a") as out:
        out.write('{"id": "broken", "title": \n')
    done = citewell("evaluate", folder, "--task", "local", "--pipeline", "bm25")
    assert "1 lines of papers.jsonl could not be read" in done.stderr


# -- edge cases ----------------------------------------------------------------------------------------------------------


def test_values_stay_aligned_when_only_late_queries_have_sentences(tmp_path: Path) -> None:
    made = small_set()
    plain = {"question": made.papers[0]["title"], "documents": ["p2016-0"], "split": "test"}
    marked = {**plain, "snippets": [{"paper": "p2016-0", "sentences": [1]}, {"paper": "p2016-0", "sentences": [0, 99, -1]}]}
    made.evidence = [plain] * 230 + [marked] * 3
    evaluation = Evaluation(made.write(tmp_path / "set"), "evidence")
    report = evaluation.report(["bm25"])
    values = report.experiment.outcomes[0].values["oracle:AP"]
    assert len(values) == 233 and np.isnan(values[:230]).all() and not np.isnan(values[230:]).any()
    assert [len(texts) for texts in report.experiment.queries[-1].sentences.values()] == [2]
    assert len({judged.id for judged in report.experiment.queries}) == 233
    with Files(tmp_path / "out"):
        write_report(tmp_path / "out", report, evaluation.timeline.names)


def test_ids_may_be_numbers_or_contain_blanks_and_percent_signs(tmp_path: Path) -> None:
    made = small_set()
    text = json.dumps(made.__dict__).replace("p2018-3", "p 2018%203")
    for name, value in json.loads(text).items():
        setattr(made, name, value)
    made.paragraphs[0]["id"] = 7
    made.evidence[0].update(documents=[17, "p2016-0"])
    made.papers.append({"id": 17, "title": "Seventeen", "year": 2016})
    evaluation = Evaluation(made.write(tmp_path / "set"), "local")
    with Files(tmp_path / "out") as files:
        report = evaluation.report(["bm25"], listener=files)
    again = evaluation.report([], [tmp_path / "out" / "run-bm25.txt.gz"])
    assert again.experiment.outcomes[0].mean("RR") == pytest.approx(report.experiment.outcomes[0].mean("RR"))
    assert "7" in {judged.id for judged in Evaluation(tmp_path / "set", "paragraph").queries()}
    assert "small:17" in Evaluation(tmp_path / "set", "evidence").queries()[0].relevant


def test_an_external_run_may_use_either_id_of_a_merged_paper(tmp_path: Path) -> None:
    made = small_set()
    relevant = made.paper(made.papers[-1]["references"][0])
    made.papers.append({**relevant, "id": "duplicate", "references": []})
    queries = Evaluation(made.write(tmp_path / "set"), "global").queries()
    lines = [
        f"{q.id} Q0 {'duplicate' if name.endswith(relevant['id']) else name.removeprefix('small:')} 1 {9 - at} oracle\n"
        for q in queries
        for at, name in enumerate(q.relevant)
    ]
    (tmp_path / "oracle.txt").write_text("".join(lines))
    outcome = Evaluation(tmp_path / "set", "global").report([], [tmp_path / "oracle.txt"]).experiment.outcomes[0]
    assert outcome.mean("R@10") == 1.0 and outcome.removed == 0


def test_queries_without_relevant_papers_in_the_library_are_skipped(tmp_path: Path) -> None:
    made = small_set()
    made.evidence.append({"id": "nowhere", "question": "boats", "documents": ["unknown"], "split": "test"})
    report = Evaluation(made.write(tmp_path / "set"), "evidence").report(["bm25"])
    assert report.experiment.skipped == 1
    assert "nowhere" not in {judged.id for judged in report.experiment.queries}


def test_lenient_applies_to_external_runs_too(folder: Path, tmp_path: Path) -> None:
    first = Evaluation(folder, "local").queries()[0]
    (tmp_path / "poor.txt").write_text(f"{first.id} Q0 p2016-0 1 1.0 poor\n")
    report = Evaluation(folder, "local", lenient=True).report([], [tmp_path / "poor.txt"])
    assert report.experiment.outcomes[0].mean("R@1000") == 1.0
    assert report.experiment.outcomes[0].missing == len(report.experiment.queries) - 1


def test_the_shown_measures_are_the_tested_ones(folder: Path) -> None:
    result = json.loads(
        citewell(
            *("evaluate", folder, "--task", "local", "--pipeline", "bm25", "--pipeline", "fast"),
            *("--measure", "nDCG@5", "--json"),
        ).stdout
    )
    assert [each["measure"] for each in result["comparisons"]] == ["nDCG@5"]
    assert set(result["intervals"]["fast"]) == {"nDCG@5"}


@pytest.mark.parametrize("measure", ["R", "R@0", "P@00", "nope:R@10", "ERR@10", "sentences:R@77", ""])
def test_a_measure_that_cannot_be_computed_is_an_error(folder: Path, measure: str) -> None:
    with pytest.raises(CitewellError, match="there is no measure"):
        Evaluation(folder, "local", measures=[measure])


def test_two_runs_with_the_same_name_are_an_error(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.txt").write_text("q Q0 p 1 1.0 x\n")
    with pytest.raises(CitewellError, match="same file name"):
        Evaluation(folder, "local").report([], [tmp_path / "a" / "run.txt", tmp_path / "b" / "run.txt"])


@pytest.mark.parametrize("option", ["--out", "--plots"])
def test_a_place_that_cannot_be_written_to_is_one_line(folder: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("")
    failed = citewell(
        "evaluate", folder, "--task", "local", "--pipeline", "bm25", option, tmp_path / "file" / "below", check=False
    )
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1 and "below" in failed.stderr


@pytest.mark.parametrize("grid", ["k1=a,b", "k1=1,,2", "size=0", "size=1.5", "fields=1", "fields.bogus=1", "b=nan", "b=2"])
def test_a_grid_that_makes_no_sense_is_one_line(folder: Path, grid: str) -> None:
    failed = citewell("tune", folder, "--grid", grid, check=False)
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1


def test_recall_by_how_often_the_relevant_paper_was_cited_before(folder: Path) -> None:
    report = Evaluation(folder, "local").report(["bm25", "bm25-contexts"], by_citations=True)
    slices = report.as_json()["by_citations"]
    assert slices["cited_before"] == ("never", "1–4", "5–20", "more")
    assert sum(slices["pairs"]) >= report.as_json()["queries"]
    retrieved = sum(recall * size for recall, size in zip(slices["recall"]["bm25"], slices["pairs"], strict=True) if size)
    ranks = [rank for ranks in report.experiment.outcomes[0].ranks for rank in ranks]
    assert round(retrieved) == sum(0 < rank <= 10 for rank in ranks)
    shown = citewell("evaluate", folder, "--task", "local", "--pipeline", "bm25", "--by-citations").stdout
    assert "recall at 10 by how often the relevant paper was cited before" in shown and "never" in shown
    refused = citewell("evaluate", folder, "--task", "evidence", "--by-citations", check=False)
    assert refused.returncode == 1 and "leave out --by-citations" in refused.stderr
    assert "by_citations" not in Evaluation(folder, "local").report(["bm25"]).as_json()
