"""``citewell train claims``: the model of sentences that call for a citation, made of a tiny set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.models.claims import Claims, Passage
from tests.evaluate.small_set import small_set

pytest.importorskip("lightgbm")

RECIPE = """
like = "claims"
buckets = 4096
steps = 20
[trees]
rounds = 5
min_data_in_leaf = 5
num_threads = 1
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in which sentences on gulls cite and those on boats do not."""
    folder = tmp_path_factory.mktemp("claims")
    found = small_set(6)
    found.paragraphs = [
        {
            "id": f"q{number}",
            "citing": paper["id"],
            "cited": ["p2016-1"],
            "topic_sentence": "A harbour has both of them all year.",
            "text": f"Gulls number {number} fly over the harbour ( OTHERCIT ). The boats number {number} lie in the harbour.",
            "section": "Introduction" if number % 2 else "Results",
        }
        for number, paper in enumerate(each for each in found.papers for _ in range(3))
    ]
    (folder / "tiny.toml").write_text(RECIPE)
    return found.write(folder / "set").parent


def test_it_learns_what_the_set_shows(made: Path) -> None:
    out = made / "models" / "claims"
    command = ["train", str(made / "tiny.toml"), "--set", str(made / "set"), "--out", str(out), "--json"]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    about = json.loads(done.output)
    assert about["dev"]["small"]["AP"] == 1.0
    (scores,) = Claims(out).scores([Passage(["Gulls fly over the old pier.", "The boats lie in the bay."])])
    assert scores[0] > scores[1]
    card = json.loads((out / "card.json").read_text())
    # 54 paragraphs of the three train years, one sentence of each two that are judged cites.
    assert card["sets"]["small"] == {"paragraphs": 54, "sentences": 108, "cite": 54}
    again = made / "again"
    CliRunner().invoke(cli, [*command[:-2], str(again), "--json"], catch_exceptions=False)
    (same,) = Claims(again).scores([Passage(["Gulls fly over the old pier.", "The boats lie in the bay."])])
    assert np.array_equal(scores, same)


@pytest.mark.parametrize(
    ("given", "said"),
    [([], "--set DIR"), (["--pack", "x.npz"], "leave --pack out")],
)
def test_what_is_missing_or_too_much_is_said(made: Path, given: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["train", "claims", "--out", str(made / "no"), *given])
    assert said in str(done.exception)
