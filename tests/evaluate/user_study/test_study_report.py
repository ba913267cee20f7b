"""Measures and the report of a small study against values computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.errors import CitewellError
from citewell.evaluate.user_study.measures import names, score
from citewell.evaluate.user_study.report import report
from citewell.judgements import JudgedText, Judgement, Mark, Record, Unjudged
from citewell.user_study.study import Settings, Study, StudyContext, StudyPaper

TEXT = JudgedText("local", context="A gap TARGETCIT.")
RANKINGS = {"x": ["a", "b", "c"], "y": ["d", "a", "e"], "both": ["a", "d", "f"]}
PAPERS = ("a", "b", "c", "d", "e", "f")


def _study(folder: Path, contexts: int = 3) -> Study:
    settings = Settings("tiny", "local", 3, 0, list(RANKINGS), ["x", "y"])
    shown = [StudyContext(f"c{number}", TEXT, RANKINGS) for number in range(contexts)]
    return Study(folder, settings, shown, {name: StudyPaper(name, name.upper()) for name in PAPERS})


def _marks(judge: str, context: str, relevant: str, unclear: str = "", at: str = "2026-01-01") -> list[Record]:
    """All papers of a context, marked."""

    def mark(paper: str) -> Mark:
        return "relevant" if paper in relevant else "unclear" if paper in unclear else "irrelevant"

    return [Judgement(judge, context, TEXT, paper, mark(paper), at=at) for paper in PAPERS]


def test_measures_by_hand() -> None:
    # Relevant: a, c, d. x has them at 1 and 3, y at 1 (d) and 2 (a), both at 1 and 2.
    # x and y return 2 + 2 = 4 relevant papers, three different ones.
    scores = score(RANKINGS, ["x", "y"], {"a", "c", "d"}, 3)
    assert names(3) == ("MAP@3", "recall@3", "MRR@3", "pooled recall@3", "P@3", "coverage")
    assert scores["x"] == pytest.approx(((1 + 2 / 3) / 2, 2 / 4, 1, 2 / 3, 2 / 3, 1))
    assert scores["y"] == pytest.approx((1, 2 / 4, 1, 2 / 3, 2 / 3, 1))
    assert scores["both"] == pytest.approx((1, 2 / 4, 1, 2 / 3, 2 / 3, 1))
    assert score(RANKINGS, ["x", "y"], {"e"}, 3)["y"] == pytest.approx((1 / 3, 1, 1 / 3, 1, 1 / 3, 1))
    assert score(RANKINGS, ["x", "y"], {"f"}, 3)["both"] == pytest.approx((1 / 3, 0, 1 / 3, 1, 1 / 3, 1))
    assert score(RANKINGS, ["x", "y"], set(), 3)["x"] == (0, 0, 0, 0, 0, 0)


def test_judges_are_averaged_and_vote(tmp_path: Path) -> None:
    records = [
        *_marks("Ana", "c0", "a"),
        *_marks("Ben", "c0", "ad"),
        *_marks("Cyd", "c0", "d", unclear="a"),
        *_marks("Ana", "c1", ""),
        Unjudged("Ben", "c1", "insufficient", at="2026-01-01"),
        *_marks("Cyd", "c1", "e")[:3],  # not finished
        *_marks("Ana", "c2", "e"),
        Unjudged("Ana", "c2", "skipped", at="2026-01-02"),
    ]
    made = report(_study(tmp_path), records)
    assert (made.judged, made.judged_by_all) == (2, 1)
    # RR of x in c0: Ana 1 (a), Ben 1 (a), Cyd 0; in c1: Ana 0.
    assert made.mean.means["x"]["MRR@3"] == pytest.approx((2 / 3 + 0) / 2)
    # RR of y in c0: Ana 1/2 (a), Ben 1 (d), Cyd 1 (d).
    assert made.mean.means["y"]["MRR@3"] == pytest.approx((2.5 / 3 + 0) / 2)
    # By majority a (Ana, Ben) and d (Ben, Cyd) are relevant in c0: x and y return 1 + 2 of them.
    assert made.majority.means["x"]["recall@3"] == pytest.approx((1 / 3 + 0) / 2)
    assert made.majority.means["both"]["MAP@3"] == pytest.approx((1 + 0) / 2)
    ana, ben, cyd = made.judges
    assert ana.contexts == {"done": 2, "begun": 0, "skipped": 1, "insufficient": 0, "open": 0}
    assert ben.contexts == {"done": 1, "begun": 0, "skipped": 0, "insufficient": 1, "open": 1}
    assert cyd.contexts == {"done": 1, "begun": 1, "skipped": 0, "insufficient": 0, "open": 1}
    assert ana.marks == {"relevant": 1, "irrelevant": 11, "unclear": 0}
    assert ana.means["x"]["MRR@3"] == 0.5
    # If unclear counts as relevant, Cyd too finds a, and x has RR 1 in c0 for all three.
    assert report(_study(tmp_path), records, "relevant").mean.means["x"]["MRR@3"] == pytest.approx(0.5)
    # Ana and Cyd share c0 and three papers of c1: 9 papers. They differ in a and d of c0.
    with_cyd = next(each for each in made.agreement["marks"].kappas if each.judges == ("Ana", "Cyd"))
    assert (with_cyd.items, with_cyd.observed) == (9, pytest.approx(7 / 9))
    pairs = {each.system for each in made.comparisons}
    assert pairs == {"y − x", "both − x", "both − y"}
    difference = next(each for each in made.comparisons if (each.system, each.measure) == ("y − x", "MRR@3"))
    assert difference.difference == pytest.approx(made.mean.means["y"]["MRR@3"] - made.mean.means["x"]["MRR@3"])


def test_a_later_mark_takes_back_that_a_context_was_skipped(tmp_path: Path) -> None:
    records = [
        *_marks("Ana", "c0", "a", at="2026-01-03"),
        Unjudged("Ana", "c0", "skipped", at="2026-01-02"),  # earlier, though later in the file
        *_marks("Ana", "c1", "a", at="2026-01-01"),
        *_marks("Ana", "c1", "b", at="2026-01-02"),
    ]
    made = report(_study(tmp_path), records)
    assert made.judged == 2
    assert made.mean.means["x"]["MRR@3"] == pytest.approx((1 + 1 / 2) / 2)


def test_a_report_needs_a_finished_context(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match="no judge has finished"):
        report(_study(tmp_path), _marks("Ana", "c0", "a")[:5])
    with pytest.raises(CitewellError, match="not among the systems: x, y, both"):
        report(_study(tmp_path), _marks("Ana", "c0", "a"), components=["z"])
