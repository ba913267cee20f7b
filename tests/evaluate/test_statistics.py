"""The statistics of a set agree with its evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.statistics import statistics
from citewell.evaluate.strict import Timeline


def written(folder: Path, about: str, **files: list[dict[str, Any]]) -> Path:
    """A set of the given lines."""
    folder.mkdir()
    (folder / "set.toml").write_text(about)
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def timed(folder: Path) -> Path:
    """Four cited papers; one that cites in each of five years; the last also cites a later paper, and itself in a context."""
    papers: list[dict[str, Any]] = [
        {"id": f"p{at}", "title": "one two three", "abstract": "four five" if at else "", "year": 1990} for at in range(4)
    ]
    for at in range(5):
        cited = [f"p{each}" for each in range(2 + at % 3)]
        papers.append({"id": f"q{at}", "title": "one", "abstract": "", "year": 2000 + at, "references": [*cited, "elsewhere"]})
    papers[-1]["references"].append("late")
    papers += [{"id": "late", "title": "", "year": 2009}, {"id": "undated", "title": "", "references": ["p0"]}]
    contexts = [{"id": f"c{at}", "citing": f"q{at}", "cited": ["p0", "p1"], "text": "two words TARGETCIT"} for at in range(5)]
    contexts.append({"id": "own", "citing": "q4", "cited": ["q4"], "text": "a self-citation is no query"})
    paragraphs = [{"id": "g", "citing": "q3", "cited": ["p0"], "topic_sentence": "A topic.", "text": "", "section": ""}]
    about = 'name = "t"\ntasks = ["global", "local", "paragraph"]\ntrain_until = 2002\ndev = [2003]\ntest = [2004]\n'
    return written(folder, about, papers=papers, contexts=contexts, paragraphs=paragraphs)


def test_documents_citations_and_lengths(tmp_path: Path) -> None:
    figures = statistics(timed(tmp_path / "set"))
    assert (figures.documents, figures.with_abstract, figures.years) == (11, 3, (1990, 2009))
    # Two, three, four, two and three; what the undated paper cites has no date.
    assert (figures.citing, figures.citations, figures.later_citations, figures.citations_per_citing) == (5, 14, 1, 2.8)
    assert (figures.title_words, figures.abstract_words, figures.document_words) == (1.55, 2.0, 2.09)
    assert (figures.contexts, figures.context_words, figures.paragraphs) == (6, 3.33, 1)


def test_splits_count_the_queries_of_the_evaluation(tmp_path: Path) -> None:
    figures = statistics(timed(tmp_path / "set"))
    train = figures.splits["train"]
    assert (train.years, train.citing) == ((1990, 2002), 3)
    assert train.queries == {"global": 2, "local": 3, "paragraph": 0}
    assert train.pairs == {"global": 7, "local": 6, "paragraph": 0}
    assert figures.splits["dev"].queries == {"global": 0, "local": 1, "paragraph": 1}
    dataset = DataSet.open(tmp_path / "set")
    for split, task in (("dev", "local"), ("dev", "paragraph"), ("test", "global"), ("test", "local")):
        queries = judged_queries(Timeline(dataset, dataset.split(split)), task)
        part = figures.splits[split]
        assert (part.queries[task], part.pairs[task]) == (len(queries), sum(len(each.relevant) for each in queries))


def test_evidence_is_counted_by_its_split(tmp_path: Path) -> None:
    papers = [{"id": str(at), "title": "a title", "sentences": ["One.", "Two."]} for at in range(3)]
    evidence = [
        {"id": f"e{at}", "question": "Why?", "documents": ["0", "1"][: 1 + at % 2], "snippets": [], "split": split}
        for at, split in enumerate(["train", "train", "dev", "test", "test", ""])
    ]
    folder = written(tmp_path / "set", 'name = "e"\ntasks = ["evidence"]\n', papers=papers, evidence=evidence)
    figures = statistics(folder)
    assert {name: part.queries["evidence"] for name, part in figures.splits.items()} == {"train": 2, "dev": 1, "test": 2}
    assert {name: part.pairs["evidence"] for name, part in figures.splits.items()} == {"train": 3, "dev": 1, "test": 3}
    assert (figures.years, figures.citations, figures.splits["dev"].citing) == ((), 0, 0)


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    folder = timed(tmp_path / "set")
    with (folder / "papers.jsonl").open("a") as lines:
        lines.write("{broken\n")
    printed = CliRunner().invoke(cli, ["set", "stats", str(folder)], catch_exceptions=False)
    assert "11 (3 with an abstract), years 1990–2009" in printed.stdout
    assert "14 by 5 documents, 2.8 each (1 more point to later papers)" in printed.stdout
    assert [line.split() for line in printed.stdout.splitlines() if line.startswith("dev")] == [
        ["dev", "2003", "1", "0", "0", "1", "2", "1", "1"]
    ]
    assert "1 lines of papers.jsonl could not be read" in printed.stderr
    figures = json.loads(CliRunner().invoke(cli, ["set", "stats", str(folder), "--json"]).stdout)
    assert figures["splits"]["test"] == {
        "years": [2004, 2004],
        "citing": 1,
        "queries": {"global": 1, "local": 1, "paragraph": 0},
        "pairs": {"global": 3, "local": 2, "paragraph": 0},
    }
