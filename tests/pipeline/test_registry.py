"""A user's own pipelines: an error in a TOML file is one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import CitewellError
from citewell.pipeline.registry import definitions, pipeline


@pytest.fixture
def toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "mine.toml"
    monkeypatch.setenv("CITEWELL_PIPELINES", str(path))
    definitions.cache_clear()
    yield path
    monkeypatch.undo()
    definitions.cache_clear()


def stages(text: str, name: str = "mine") -> str:
    return f'[{name}]\nabout = "a test"\nstages = [{text}]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mine", r"mine\.toml, which cannot be read: "),
        ("mine = 3", r"mine\.toml: the pipeline 'mine' needs a line \"about\""),
        ('[mine]\nabout = "no stages"\n', r"the pipeline 'mine' needs a list of \"stages\""),
        (stages('{ kind = "magic" }'), "has the unknown kind 'magic'"),
        (stages('"bm25"'), "has the unknown kind 'bm25'"),
        (stages('{ kind = "said-before" }'), r"unknown kind 'said-before'\. It is now called 'context-similarity'\.$"),
        (stages('{ kind = "dense", may_lack = true }'), r"no parameter 'may_lack'\. It is now called 'optional'\.$"),
        (stages('{ kind = "bm25", k2 = 1.0 }'), r"'bm25' of the pipeline 'mine' has no parameter 'k2'\. It has k1, b,"),
        (stages('{ kind = "bm25", k1 = "high" }'), "the parameter 'k1' must be of the type float, not 'high'"),
        (stages('{ kind = "bm25", k1 = true }'), "the parameter 'k1' must be of the type float"),
        (stages('{ kind = "bm25", size = 1.5 }'), "the parameter 'size' must be of the type int"),
        (stages('{ kind = "bm25", fields = { own = "much" } }'), "the parameter 'fields' must be of the type dict"),
        (stages('{ kind = "bm25", fields = { elsewhere = 1.0 } }'), "no field 'elsewhere'"),
        (stages('{ kind = "reciprocal-rank" }'), "needs the parameter 'of'"),
        (stages('{ kind = "reciprocal-rank", of = 3 }'), "the parameter 'of' must name pipelines, not 3"),
        (stages('{ kind = "reciprocal-rank", of = ["nowhere"] }'), "There is no pipeline 'nowhere'"),
        (stages('{ kind = "links" }'), "must start with a retriever, not with Links"),
        (stages('{ kind = "sub-pipeline", of = ["mine"] }'), "'mine' contains itself: mine → mine"),
        (
            stages('{ kind = "sub-pipeline", of = ["other"] }') + stages('{ kind = "sub-pipeline", of = ["mine"] }', "other"),
            "contains itself: mine → other → mine",
        ),
    ],
)
def test_an_error_is_one_line(toml: Path, text: str, message: str) -> None:
    toml.write_text(text, encoding="utf-8")
    with pytest.raises(CitewellError, match=message) as error:
        pipeline("mine")
    assert "\n" not in str(error.value)


def test_a_file_that_is_right_adds_to_the_others(toml: Path) -> None:
    toml.write_text(stages('{ kind = "bm25", k1 = 2 }, { kind = "navigate", by = "bm25", seeds = 9 }'), encoding="utf-8")
    assert pipeline("mine").stages[0].k1 == 2  # type: ignore[attr-defined]
    assert pipeline("mine").stages[1].seeds == (9,)  # type: ignore[attr-defined]
    assert pipeline("best").name == "best"
