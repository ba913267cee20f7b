"""BioASQ's official measures on data sets, and the filter of papers that have only a title."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.evaluate.bioasq import Snippet
from citewell.evaluate.bioasq_measures import score_snippets
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.measures import score
from citewell.evaluate.names import Names
from citewell.evaluate.sentences import SentenceIds
from citewell.library import Library
from citewell.papers import Paper, Sentence
from citewell.ranking.sentences import SentenceRanking
from citewell.sources.citewell_jsonl import naming_of
from tests.evaluate.small_set import small_set


def test_document_precision_is_of_ten_papers_and_divided_by_at_most_ten() -> None:
    run = {"q": {f"p{rank}": 100.0 - rank for rank in range(1, 13)}}
    few = {"q": ["p1", "p3", "p12"]}
    assert score(["AP-BioASQ", "AP@10"], few, run)["AP-BioASQ"] == pytest.approx([(1 / 1 + 2 / 3) / 3]), "p12 is too late"
    many = {"q": ["p2", "p4", *(f"other{at}" for at in range(18))]}
    values = score(["AP-BioASQ", "AP@10"], many, run)
    assert values["AP-BioASQ"] == pytest.approx([(1 / 2 + 2 / 4) / 10])
    assert values["AP@10"] == pytest.approx([(1 / 2 + 2 / 4) / 20]), "trec_eval divides by all of them"
    assert score(["AP-BioASQ"], {"q": ["p1"]}, {})["AP-BioASQ"] == pytest.approx([0])


ABSTRACT = "Gulls err. Boats drift far. Fog lifts."
"""Sentences of 10, 16 and 10 characters, at 0, 11 and 28."""


def test_snippet_precision_counts_characters(tmp_path: Path) -> None:
    sentences = [Sentence("Gulls err."), Sentence("Boats drift far."), Sentence("Fog lifts.")]
    with Library(tmp_path / "library") as library:
        library.take([Paper(title="A", abstract=ABSTRACT, ids=["pmid:1"], sentences=sentences)])
        library.take([Paper(title="B", abstract="Tides turn.", ids=["pmid:2"], sentences=[Sentence("Tides turn.")])])
        ids = SentenceIds(library, Names(library, naming_of("made")))
        one, two = (Names(library, naming_of("made")).number(name) for name in ("pmid:1", "pmid:2"))
        assert one is not None and two is not None
        ranking = SentenceRanking(np.array([two, one, one]), np.array([0, 1, 0]), np.array([3.0, 2.0, 1.0]))
        run = ids.ranked(ranking)
        names = list(run)
        # As BioASQ counts, a snippet that begins at 0 and ends at 10 has 11 characters: the lengths are 12, 17 and 11.
        assert ids.average_precision([names[2]], run) == pytest.approx(11 / (12 + 17 + 11))
        assert ids.average_precision([names[1], names[2]], run) == pytest.approx((17 / 29 + 28 / 40) / 2)
        assert ids.average_precision([names[0]], run) == 1.0
        assert ids.average_precision([names[0]], {}) == 0.0
        assert ids.average_precision([names[2]], {"pmid:7#0": 1.0, names[2]: 0.5}) == 1.0, "a paper that does not exist"


def test_the_measure_of_a_set_is_that_of_the_challenge(tmp_path: Path) -> None:
    """`citewell evaluate` on a set, and `citewell bioasq` on the same questions and the same library."""
    made = small_set()
    for number, paper in enumerate(made.papers):
        paper["id"] = paper["pmid"] = str(1000 + number)
        paper["references"] = []
    for number, record in enumerate(made.evidence):
        paper = made.papers[number]
        record |= {"documents": [paper["id"]], "split": "test", "snippets": [{"paper": paper["id"], "sentences": [1, 2]}]}
    made.contexts = made.paragraphs = []
    folder = made.write(tmp_path / "set")
    outcome = Evaluation(folder, "evidence").report(["bm25"]).experiment.outcomes[0]
    with Library(tmp_path / "library") as library:
        library.add([folder])
        questions = tmp_path / "questions.json"
        test_file = {"questions": [{"id": each["id"], "body": each["question"]} for each in made.evidence]}
        questions.write_text(json.dumps(test_file))
    run = str(tmp_path / "run.json")
    answer = ["bioasq", "answer", str(questions), "--library", str(tmp_path / "library"), "--pipeline", "bm25", "--out", run]
    CliRunner().invoke(cli, answer, catch_exceptions=False)
    golden = json.loads(questions.read_text())
    for question, record in zip(golden["questions"], made.evidence, strict=True):
        paper = made.paper(record["documents"][0])
        texts = [paper["sentences"][at] for at in (1, 2)]
        begins = [paper["abstract"].index(text) for text in texts]
        url = f"http://www.ncbi.nlm.nih.gov/pubmed/{paper['id']}"
        question["documents"] = [url]
        question["snippets"] = [
            {
                "document": url,
                "text": text,
                "offsetInBeginSection": begin,
                "offsetInEndSection": begin + len(text),
                "beginSection": "abstract",
                "endSection": "abstract",
            }
            for text, begin in zip(texts, begins, strict=True)
        ]
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    scored = CliRunner().invoke(cli, ["bioasq", "score", run, str(tmp_path / "golden.json"), "--json"], catch_exceptions=False)
    figures = json.loads(scored.stdout)
    assert outcome.mean("sentences:AP-BioASQ") == pytest.approx(figures["snippets"]["MAP"])
    assert 0 < outcome.mean("sentences:AP-BioASQ") != pytest.approx(outcome.mean("sentences:AP"))


def test_overlapping_golden_snippets_count_more_than_once() -> None:
    """The study's remark that a MAP may exceed 1: two returned snippets lie in one golden snippet."""

    def snippet(begin: int, end: int) -> Snippet:
        return Snippet(
            document="1",
            offset_in_begin_section=begin,
            offset_in_end_section=end,
            begin_section="abstract",
            end_section="abstract",
        )

    assert score_snippets([snippet(0, 10), snippet(20, 30)], [snippet(0, 40)]).average_precision == 2.0


def test_papers_with_only_a_title_are_left_out_on_request(tmp_path: Path) -> None:
    made = small_set()
    bare = {**made.papers[0], "id": "bare", "abstract": "", "sentences": [], "references": [], "authors": ["Zed"]}
    made.papers.append({**bare, "title": made.papers[0]["title"] + " again"})
    folder = made.write(tmp_path / "set")
    everything, filtered = (Evaluation(folder, "evidence", abstracts_only=each).report(["bm25"]) for each in (False, True))
    assert everything.experiment.outcomes[0].mean("RR") < filtered.experiment.outcomes[0].mean("RR") == 1.0
    assert "without papers that have only a title" in filtered.heading() and filtered.as_json()["abstracts_only"] is True
    done = CliRunner().invoke(cli, ["evaluate", str(folder), "--task", "evidence", "--pipeline", "bm25", "--abstracts-only"])
    assert "without papers that have only a title" in done.output
