"""``citewell train claims`` on a tiny set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.models.claims import Claims, SentenceBlock
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in which sentences on gulls cite and those on boats do not."""
    folder = tmp_path_factory.mktemp("claims")
    dataset = small_set(6)
    dataset.paragraphs = [
        {
            "id": f"q{number}",
            "citing": paper["id"],
            "cited": ["p2016-1"],
            "topic_sentence": "A harbour has both of them all year.",
            "text": f"Gulls number {number} fly over the harbour ( OTHERCIT ). The boats number {number} lie in the harbour.",
            "section": "Introduction" if number % 2 else "Results",
        }
        for number, paper in enumerate(each for each in dataset.papers for _ in range(3))
    ]
    (folder / "tiny.toml").write_text(RECIPE)
    return dataset.write(folder / "set").parent


def test_it_learns_the_pattern_of_the_set(folder: Path) -> None:
    out = folder / "models" / "claims"
    command = ["train", str(folder / "tiny.toml"), "--set", str(folder / "set"), "--out", str(out), "--json"]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    about = json.loads(done.output)
    assert about["dev"]["small"]["AP"] == 1.0
    (scores,) = Claims(out).scores([SentenceBlock(["Gulls fly over the old pier.", "The boats lie in the bay."])])
    assert scores[0] > scores[1]
    card = json.loads((out / "card.json").read_text())
    # 54 paragraphs of the three train years; one of two labelled sentences cites.
    assert card["sets"]["small"] == {"paragraphs": 54, "sentences": 108, "cite": 54}
    second = folder / "again"
    CliRunner().invoke(cli, [*command[:-2], str(second), "--json"], catch_exceptions=False)
    (repeated,) = Claims(second).scores([SentenceBlock(["Gulls fly over the old pier.", "The boats lie in the bay."])])
    assert np.array_equal(scores, repeated)


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "--set DIR"), (["--pack", "x.npz"], "leave --pack out")],
)
def test_missing_and_unusable_options_are_errors(folder: Path, options: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, ["train", "claims", "--out", str(folder / "no"), *options])
    assert message in str(done.exception)
