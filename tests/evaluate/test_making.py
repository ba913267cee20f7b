"""Sets that are cut from a library: what stays, where the years are cut, and that an evaluation can use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.making import Graph, make, split_years
from citewell.evaluate.questions import questions
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.library import Library
from citewell.papers import Context, Paper, Reference, Sentence

TOPICS = ["gulls", "boats", "tides", "piers", "nets", "sails", "ropes", "crabs", "buoys", "masts"]


def paper(name: str, year: int | None, *cited: str, title: str = "", **more: Any) -> Paper:
    title = title or f"On {name} and what is known of {name} in {year}"
    return Paper(
        title, f"We study {name}.", [f"Ann {name.title()}"], year, ids=[f"lib:{name}"], id=name,
        references=[Reference([f"lib:{other}"]) for other in cited], **more,
    )  # fmt: skip


def context(citing: str, *cited: str, text: str = "") -> Context:
    written = text or f"as was shown for {' and '.join(cited)} TARGETCIT by others"
    return Context(written, [Reference([f"lib:{name}"]) for name in cited], f"lib:{citing}", "1 Introduction", "same-for-all")


def harbour() -> list[Paper | Context]:
    """Ten old papers, and from 2001 to 2010 one a year that cites four of them, with a context."""
    records: list[Paper | Context] = [paper(topic, 2000 - at) for at, topic in enumerate(TOPICS)]
    for at in range(10):
        cited = [TOPICS[(at + step) % 10] for step in range(4)]
        records += [paper(f"study{at}", 2001 + at, *cited), context(f"study{at}", *cited[:2])]
    return records


def library(folder: Path, records: list[Paper | Context]) -> Library:
    made = Library(folder)
    made.take(records)
    return made


def papers(folder: Path) -> dict[str, Paper]:
    return {each.id: each for each in DataSet.open(folder).papers()}


def test_a_set_cut_from_a_library_can_be_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    made = make(library(tmp_path / "library", harbour()), tmp_path / "set", "harbour", "Boats \"and\" gulls\x7f\n")
    dataset = DataSet.open(tmp_path / "set")
    assert (dataset.name, dataset.about, dataset.tasks) == ("harbour", "Boats \"and\" gulls\x7f\n", ("global", "local"))
    assert (dataset.train_until, dataset.years) == (2008, {"dev": (2009,), "test": (2010,)})
    timeline = Timeline(dataset, dataset.split("test"))
    assert [question.wanted for question in questions(timeline, "global")] == [["harbour:masts", *wanted("gulls boats tides")]] or (
        sorted(questions(timeline, "global")[0].wanted) == sorted(wanted("masts gulls boats tides"))
    )
    for task, hits in (("global", 4), ("local", 2)):
        report = Evaluation(tmp_path / "set", task).report(["bm25"])
        outcome = report.experiment.outcomes[0]
        assert len(report.experiment.questions) == 1
        assert len(report.experiment.wanted[0]) == hits
        assert outcome.mean("R@1000") == (1.0 if task == "local" else outcome.mean("R@1000"))
    assert made.statistics.splits["test"].queries == {"global": 1, "local": 1}


def wanted(names: str) -> list[str]:
    return [f"harbour:{name}" for name in names.split()]
