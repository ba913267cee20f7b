"""The file of judgements: what is appended stays, also after a torn line, and copies merge by time."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from pathlib import Path

import pytest

from citewell.errors import CitewellError
from citewell.judgements import JudgedText, Judgement, Mark, Unjudged, encode, latest, read_judgements
from citewell.user_study.blinding import column_order
from citewell.user_study.importing import import_files
from citewell.user_study.log import Log, merge
from citewell.user_study.state import Answers, answers, same_judge
from citewell.user_study.study import Settings, Study, StudyContext, StudyPaper

TEXT = JudgedText("local", context="A gap TARGETCIT.")


def _mark(judge: str, paper: str, mark: Mark, at: str, query: str = "c1") -> Judgement:
    return Judgement(judge, query, TEXT, paper, mark, at=at)


def _study(folder: Path, judges: list[str] | None = None) -> Study:
    settings = Settings("tiny", "local", 2, 7, ["one", "two", "three"], ["one"], judges=judges or [])
    context = StudyContext("c1", TEXT, {"one": ["p", "q"], "two": ["q"], "three": []})
    study = Study(folder, settings, [context], {name: StudyPaper(name, name) for name in "pq"})
    study.write()
    return study


def test_a_study_is_written_once_and_read_as_it_was(tmp_path: Path) -> None:
    study = _study(tmp_path / "study")
    read = Study.open(tmp_path / "study")
    assert (read.settings, read.contexts, read.papers) == (study.settings, study.contexts, study.papers)
    with pytest.raises(CitewellError, match="exists already"):
        study.write()
    (tmp_path / "study" / "papers.jsonl").write_text("")
    with pytest.raises(CitewellError, match="lacks 2 suggested papers"):
        Study.open(tmp_path / "study")


def test_a_torn_line_is_dropped_and_a_reader_follows_the_file(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    first, second = _mark("Ana", "p", "relevant", "1"), _mark("Ana", "q", "unclear", "2")
    reader = Log(path)
    assert list(reader.records()) == []
    Log(path).append([first])
    with path.open("ab") as file:
        file.write(b'{"judge": "Ana", "que')  # a power failure in the middle of a line
    assert list(reader.records()) == [first]
    Log(path).append([second])
    assert list(reader.records()) == list(Log(path).records()) == [first, second]
    assert list(read_judgements([path])) == [first, second]


def _append(path: Path, judge: str) -> None:
    log = Log(path)
    for number in range(30):
        log.append([_mark(judge, f"p{number}", "relevant", "1"), Unjudged(judge, f"c{number}", "skipped")])


def test_processes_append_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    method = multiprocessing.get_context("fork")
    writers = [method.Process(target=_append, args=(path, judge)) for judge in ("Ana", "Ben")]
    for each in writers:
        each.start()
    for each in writers:
        each.join(30)
    assert Counter(record.judge for record in Log(path).records()) == {"Ana": 60, "Ben": 60}


def test_merging_copies_lets_the_later_mark_win_for_every_reader(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there.jsonl"
    study = _study(here)
    kept = _mark("Ana", "p", "relevant", "2026-01-02")
    Log(study.judgements).append([kept, _mark("Ben", "p", "unclear", "2026-01-01")])
    older, other = _mark("Ana", "p", "irrelevant", "2026-01-01"), _mark("Ana", "q", "unclear", "2026-01-03")
    there.write_bytes(encode(kept) + encode(older) + encode(other))
    assert import_files(study, [there]) == (2, 1)
    records = Log(study.judgements).records()
    assert answers(records)["Ana"]["c1"].marks == {"p": "relevant", "q": "unclear"}
    # A reader that goes by the order of the lines agrees.
    assert {(each.judge, each.paper): each.mark for each in latest(read_judgements([study.judgements]))} == {
        ("Ana", "p"): "relevant",
        ("Ana", "q"): "unclear",
        ("Ben", "p"): "unclear",
    }
    assert import_files(study, [there]) == (0, 3)
    assert merge(Log(study.judgements), []) == 0


def test_wrong_files_are_refused_whole(tmp_path: Path) -> None:
    study = _study(tmp_path / "study", ["Ana"])
    file = tmp_path / "file.jsonl"
    good = encode(_mark("Ana", "p", "relevant", "1"))
    for bad, message in (
        (_mark("Ana", "p", "relevant", "1", "c9"), "no context of"),
        (_mark("Ana", "z", "relevant", "1"), "does not suggest"),
        (_mark("Eve", "p", "relevant", "1"), "is not a judge of"),
    ):
        file.write_bytes(good + encode(bad))
        with pytest.raises(CitewellError, match=message):
            import_files(study, [file])
    assert not study.judgements.exists()


def test_skipping_holds_until_a_later_mark() -> None:
    skipped = Unjudged("Ana", "c1", "insufficient", at="2026-01-02")
    context = StudyContext("c1", TEXT, {"one": ["p"]})
    before = answers([skipped, _mark("Ana", "p", "relevant", "2026-01-01")])["Ana"]["c1"]
    after = answers([_mark("Ana", "p", "relevant", "2026-01-03"), skipped])["Ana"]["c1"]
    assert (before.status(context), after.status(context), Answers().status(context)) == ("insufficient", "done", "open")


def test_names_of_judges_compare_without_case_and_spaces() -> None:
    assert same_judge("  ana   LIM ", ["Ben", "Ana Lim"]) == "Ana Lim"
    assert same_judge(" Cyd ", ["Ana"]) == "Cyd"


def test_the_order_of_systems_is_stable_for_a_judge_and_fair_over_all() -> None:
    settings = Settings("tiny", "local", 2, 7, ["one", "two", "three"], ["one"])
    orders = Counter(tuple(column_order(settings, f"judge {j}", f"c{c}")) for j in range(30) for c in range(40))
    assert column_order(settings, "Ana", "c1") == column_order(settings, "ANA", "c1")
    assert len(orders) == 6
    assert all(150 < count < 250 for count in orders.values())  # 200 each
