"""``citewell compare``: rankings side by side, of a user's library and of a query of a set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell import Library, demo
from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from tests.evaluate.small_set import small_set

SYSTEMS = ("--pipeline", "bm25", "--pipeline", "bm25-contexts")


def compare(*arguments: object) -> str:
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)], catch_exceptions=False).output


def test_a_query_of_a_set_has_the_ranks_of_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    folder = small_set().write(tmp_path / "small")
    experiment = Evaluation(folder, "local").run(["bm25", "bm25-contexts"])
    at = next(
        at
        for at, ranks in enumerate(zip(*(outcome.ranks for outcome in experiment.outcomes), strict=True))
        if ranks[0] != ranks[1] and all(0 < rank <= 10 for each in ranks for rank in each)
    )
    judged = experiment.queries[at]
    result = json.loads(compare("--set", folder, "--query", judged.id, *SYSTEMS, "--json"))
    assert (result["set"], result["id"], result["query"]["context"]) == ("small", judged.id, judged.query.context)
    assert len(result["relevant"]) == len(judged.relevant)
    for outcome in experiment.outcomes:
        shown = result["pipelines"][outcome.name]
        assert [each["rank"] for each in shown if each["relevant"]] == sorted(outcome.ranks[at])
        assert len(shown) == 10
    table = compare("--set", folder, "--query", judged.id, *SYSTEMS)
    ranks = [outcome.ranks[at][0] for outcome in experiment.outcomes]
    assert f"✓ cited: {result['relevant'][0]['title']}" in table
    assert f"(rank: bm25 {ranks[0]}, bm25-contexts {ranks[1]})" in table
    assert table.count("✓") == 3 * len(judged.relevant)
    with pytest.raises(CitewellError, match="has no query 'none'; its ids are like"):
        compare("--set", folder, "--query", "none", *SYSTEMS)


def test_a_text_is_asked_of_the_library_of_the_user(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.add([demo.path("library.jsonl")])
    text = "documents as mixtures of topics, as in latent Dirichlet allocation [?]"
    arguments = ("--context", text, "--library", tmp_path / "library", *SYSTEMS, "-k", 3)
    result = json.loads(compare(*arguments, "--json"))
    assert result["relevant"] is None
    assert [len(shown) for shown in result["pipelines"].values()] == [3, 3]
    assert result["pipelines"]["bm25"][0]["title"] == "Latent Dirichlet Allocation"
    assert "relevant" not in result["pipelines"]["bm25"][0]
    table = compare(*arguments)
    assert "✓" not in table and "Latent Dirichlet Allocation" in table
    assert "give --set or a text of yours, not both" in compare(*arguments, "--set", tmp_path)
    assert "--query needs --set" in compare(*arguments, "--query", "c1")
