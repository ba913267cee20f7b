"""The shipped model of transition sentences."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import pytest

from citewell.errors import CitewellError
from citewell.models.transitions import is_of_own_work, is_whole, load

TOPIC = "A number of approaches have been proposed for counting gulls."


def test_topics_are_told_from_own_work_and_from_parts_of_sentences() -> None:
    others = [
        "In this section, we describe how our cameras were mounted.",
        "The error bars in Figure 2 are those of the five boats.",
        "gulls, which were counted in the second step.",
    ]
    assert load().are_transitions([TOPIC, *others]).tolist() == [True, False, False, False]


def test_a_relation_to_the_work_of_others_is_not_own_work() -> None:
    assert is_of_own_work("We count gulls in photographs of the harbour.")
    assert not is_of_own_work("Our work is also related to the counting of boats.")


def test_whole_sentences() -> None:
    assert is_whole(TOPIC)
    assert is_whole("p53 is known to be a gull (or a boat).")
    assert not is_whole("Too short.")
    assert not is_whole("counted by many of the people in the harbour.")
    assert not is_whole("Half of a sentence that goes on in another")


def test_a_folder_without_the_model_says_how_to_train_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "transitions").mkdir()
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path))
    with pytest.raises(CitewellError, match="citewell train transitions"):
        load()


def test_serving_needs_neither_scipy_nor_torch() -> None:
    script = (
        "import sys\nfrom citewell.models.transitions import load\n"
        f"load().scores([{TOPIC!r}])\n"
        "print([name for name in ('lightgbm', 'torch', 'onnxruntime', 'scipy') if name in sys.modules])"
    )
    assert run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"
