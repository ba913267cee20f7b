"""Feedback: recorded only with consent, complete, private, and safe with several processes and a full disk."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.feedback import Feedback, FeedbackError, citing_text
from citewell.judgements import read_judgements
from citewell.library import Library

GAP = citing_text("local", "Boats and gulls", "", "Boats were counted TARGETCIT.", ["Mira Holt"], ["harbour"])

_WRITER = """
import sys
from pathlib import Path
from citewell.feedback import Feedback, citing_text
feedback = Feedback(Path(sys.argv[1]))
for number in range(60):
    text = citing_text("local", sys.argv[2], "", f"gap {number} TARGETCIT " + "word " * 2000)
    assert feedback.record(text, f"p{number}", "relevant")
"""


@pytest.fixture
def feedback(tmp_path: Path) -> Feedback:
    made = Feedback(tmp_path / "library")
    made.turn_on()
    return made


def test_nothing_is_recorded_without_consent(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path / "library")
    assert not feedback.on and feedback.record(GAP, "harbour", "relevant") == ""
    assert not feedback.folder.exists()
    feedback.turn_on()
    assert feedback.record(GAP, "harbour", "relevant")
    feedback.turn_off()
    assert feedback.record(GAP, "gulls", "relevant") == ""
    assert [each.paper for each in feedback.records()] == ["harbour"], "what was recorded stays until it is deleted"


def test_a_mark_can_be_changed_and_taken_back(feedback: Feedback) -> None:
    query = feedback.record(GAP, "harbour", "relevant")
    assert feedback.record(GAP, "gulls", "irrelevant") == query, "marks for one gap have one query"
    feedback.record(citing_text("local", "", "", ""), "gulls", "unclear", query)
    assert [(each.paper, each.mark) for each in feedback.records()] == [("harbour", "relevant")]
    feedback.record(citing_text("local", "", "", ""), "gulls", "relevant", query)
    [_, gulls] = feedback.records()
    assert gulls.mark == "relevant" and gulls.text == GAP and gulls.source == "desk" and gulls.at.endswith("+00:00")
    assert len(list(read_judgements([feedback.file]))) == 4, "the file is only appended to"


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_only_the_user_can_read_it(feedback: Feedback) -> None:
    feedback.record(GAP, "harbour", "relevant")
    assert feedback.file.stat().st_mode & 0o777 == 0o600
    assert feedback.folder.stat().st_mode & 0o777 == 0o700


def test_two_processes_write_at_once(feedback: Feedback) -> None:
    library = str(feedback.folder.parent)
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, library, name]) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(feedback.records()) == 120


def test_a_full_disk_leaves_whole_lines(feedback: Feedback, monkeypatch: pytest.MonkeyPatch) -> None:
    feedback.record(GAP, "harbour", "relevant")
    before = feedback.file.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:40]))
    with pytest.raises(FeedbackError, match="free some space") as failed:
        feedback.record(GAP, "gulls", "relevant")
    assert failed.value.code == errno.ENOSPC
    assert feedback.file.read_bytes() == before


def test_a_line_cut_off_by_a_power_failure_is_dropped(feedback: Feedback) -> None:
    feedback.record(GAP, "harbour", "relevant")
    whole = feedback.file.read_bytes()
    feedback.file.write_bytes(whole + whole[:70])
    feedback.record(GAP, "gulls", "relevant")
    assert [each.paper for each in feedback.records()] == ["harbour", "gulls"]
    feedback.file.write_bytes(whole + whole[:70])
    assert [each.paper for each in feedback.records()] == ["harbour"]


def test_deleting_is_complete(feedback: Feedback) -> None:
    feedback.record(GAP, "harbour", "relevant")
    feedback.record(GAP, "harbour", "unclear")
    assert feedback.delete() == 2 and feedback.delete() == 0
    left = b"".join(path.read_bytes() for path in feedback.folder.iterdir())
    assert not feedback.file.exists() and b"Boats" not in left
    assert feedback.on, "deleting does not change the consent"


def test_the_command_says_what_it_records_and_exports_it(tmp_path: Path) -> None:
    folder = tmp_path / "library"

    def run(*arguments: str) -> str:
        return CliRunner().invoke(cli, ["feedback", *arguments, "--library", str(folder)], catch_exceptions=False).stdout

    folder.mkdir()
    assert run("status").startswith("Feedback is off.")
    said = run("on")
    assert str(folder / "feedback" / "judgements.jsonl") in said and "nothing leaves this machine" in said
    Feedback(folder).record(GAP, "harbour", "relevant")
    Feedback(folder).record(GAP, "gulls", "irrelevant")
    assert json.loads(run("status", "--json"))["irrelevant"] == 1
    assert [json.loads(line)["paper"] for line in run("export").splitlines()] == ["harbour", "gulls"]
    run("export", "--out", str(tmp_path / "out.jsonl"))
    assert [each.mark for each in read_judgements([tmp_path / "out.jsonl"])] == ["relevant", "irrelevant"]
    assert "2 marks are still in" in run("off")
    assert "2 records deleted. Feedback is off." in run("delete", "--yes")


def test_choices_on_the_command_line_are_recorded(tiny: Library, tmp_path: Path) -> None:
    library = tiny.folder
    draft = tmp_path / "draft.md"
    gaps = "Boats are counted from photographs of a harbour [@?]. Gulls are mistaken for boats [@?]."
    (tmp_path / "refs.bib").write_text("")

    def accept(*choices: str) -> None:
        draft.write_text(f"# Boats\n\n{gaps}\n")
        options = [option for choice in choices for option in ("--accept", choice)]
        arguments = ["suggest", str(draft), *options, "--bib", str(tmp_path / "refs.bib"), "--pipeline", "fast", "--write"]
        CliRunner().invoke(cli, [*arguments, "--library", str(library)], catch_exceptions=False)

    accept("1#2")
    assert not Feedback(library).folder.exists()
    Feedback(library).turn_on()
    accept("best")
    assert Feedback(library).records() == [], "the first suggestions for all gaps are nobody's choice"
    accept("1#2", "2")
    one, two = Feedback(library).records()
    assert (one.mark, one.text.task, one.text.title) == ("relevant", "local", "Boats")
    assert "of a harbour TARGETCIT" in one.text.context and "for boats TARGETCIT" in two.text.context
    assert one.paper != two.paper
