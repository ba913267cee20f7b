"""``citewell train transitions`` on a tiny set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.models.transitions import Transitions
from tests.evaluate.small_set import small_set

pytest.importorskip("scipy")

TOPIC, DETAIL = "Many gulls have been studied for years.", "The boats lie in the bay at noon."


def written(folder: Path, section: str) -> Path:
    dataset = small_set(6)
    dataset.paragraphs = [
        {
            "id": f"q{number}",
            "citing": paper["id"],
            "cited": ["p2016-1"],
            "topic_sentence": TOPIC if number % 3 else "We describe our own boats in this section.",
            "text": f"{DETAIL} Nets number {number} hang there ( OTHERCIT ).",
            "section": section,
        }
        for number, paper in enumerate(each for each in dataset.papers for _ in range(3))
    ]
    return dataset.write(folder / section.replace(" ", "-"))


def test_it_tells_first_sentences_from_others(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text('like = "transitions"\nbuckets = 4096\nsteps = 20\n')
    out = tmp_path / "models"
    command = ["train", str(tmp_path / "tiny.toml"), "--set", str(written(tmp_path, "2 Related work")), "--json"]
    done = CliRunner().invoke(cli, [*command, "--out", str(out)], catch_exceptions=False)
    assert json.loads(done.output)["dev"]["small"]["AP"] == 1.0
    assert Transitions(out).are_transitions([TOPIC, DETAIL]).tolist() == [True, False]
    card = json.loads((out / "card.json").read_text())
    # 54 paragraphs of the three train years, with one sentence each after the first.
    assert card["sets"]["small"] == {"first sentences": 54, "sentences": 108, "transition": 36}
    CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "again")], catch_exceptions=False)
    assert (tmp_path / "again" / "words.npz").read_bytes() == (out / "words.npz").read_bytes()


def test_a_set_without_introductions_is_an_error(tmp_path: Path) -> None:
    folder = written(tmp_path, "Results")
    done = CliRunner().invoke(cli, ["train", "transitions", "--set", str(folder), "--out", str(tmp_path / "no")])
    assert "has no paragraphs of introductions or related work" in str(done.exception)
