"""The stage of Medić's re-ranker, with weights drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.models import enhanced_context
from citewell.models.enhanced_context import Shape
from citewell.papers import Query, Ranking
from citewell.ranking.request import Request
from citewell.rerank.enhanced_context import EnhancedContext, candidates

onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["[PAD]", "[UNK]", "[MASK]", "boats", "gulls", "harbour", "tides", "photographs", "count"]
QUERY = Query("local", "Fog", "Fog hides boats.", "gulls disturb the count TARGETCIT of boats", exclude=["review"])


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model called mine."""
    from citewell.models.enhanced_onnx import convert, write_weights

    shape = Shape("textbibenh-ws", len(WORDS), 6, 4, 8, 12, 30, 5, 2, (1, 2), 3, 2)
    draw, both, known = np.random.default_rng(1), 8, 9
    sizes = {
        "words.weight": (len(WORDS), 6),
        **{f"lstm.weight_ih_l0{end}": (16, 6) for end in ("", "_reverse")},
        **{f"lstm.weight_hh_l0{end}": (16, 4) for end in ("", "_reverse")},
        **{f"lstm.bias_{part}_l0{end}": (16,) for part in ("ih", "hh") for end in ("", "_reverse")},
        **{f"attention.{part}.weight": (both, both) for part in ("queries", "keys")},
        "attention.scores.weight": (1, both),
        "people.weight": (30, 5),
        **{f"groups.{at}.weight": (3, 5, at + 1) for at in (0, 1)},
        **{f"groups.{at}.bias": (3,) for at in (0, 1)},
        "bibliography.0.weight": (known // 2, known),
        "bibliography.0.bias": (known // 2,),
        "bibliography.1.weight": (1, known // 2),
        "bibliography.1.bias": (1,),
        "weighing.weight": (2, both),
        "weighing.bias": (2,),
    }
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    shape.write(folder)
    write_weights(folder, {name: draw.normal(size=size).astype(np.float32) for name, size in sizes.items()})
    convert(folder, folder / "model.onnx")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.add_special_tokens(["[MASK]", "[UNK]"])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    monkeypatch.setenv("CITEWELL_MODELS", str(folder.parent))
    enhanced_context.load.cache_clear()
    yield
    enhanced_context.load.cache_clear()


def ranking(library: Library, *names: str) -> Ranking:
    numbers = np.array([library.store.find(name) for name in names], np.int64)
    return Ranking(numbers, np.arange(len(names), 0, -1).astype(np.float32))


def test_the_top_papers_are_reranked_and_the_others_follow(tiny: Library) -> None:
    with tiny:
        request = Request(LocalCollection(tiny), QUERY)
        given = ranking(tiny, "harbour", "gulls", "tides", "review")
        reranked = EnhancedContext("mine", depth=3).rerank(request, given)
        scores = EnhancedContext("mine").score(request, given.papers[:3])
        assert reranked.papers.tolist() == [*given.papers[:3][np.argsort(-scores)].tolist(), given.papers[3]]
        assert (np.diff(reranked.scores) < 0).all()
        reasons = EnhancedContext("mine").explain(request, reranked, given.papers.tolist())
        assert sorted(reasons) == sorted(given.papers[:3].tolist())
        assert len(EnhancedContext("mine").rerank(request, ranking(tiny)).papers) == 0


def test_the_features_of_a_paper_come_from_the_library(tiny: Library) -> None:
    with tiny:
        described = candidates(Request(LocalCollection(tiny), QUERY), ranking(tiny, "harbour", "review").papers, 4)
    harbour, review = described
    assert harbour.title == "Counting boats in the harbour" and [*map(str, harbour.authors)] == ["Mira Holt", "Jon Pike"]
    # The newest paper is of 2021; harbour is cited in 2017, 2019 and 2021.
    assert list(harbour.cited) == [0, 1, 0, 1, 3] and list(review.cited) == [0, 0, 0, 0, 0]


def test_the_scores_of_a_batch_are_those_of_each_alone(tiny: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    with tiny:
        papers = ranking(tiny, "harbour", "gulls", "tides", "review").papers
        together = EnhancedContext("mine").score(Request(LocalCollection(tiny), QUERY), papers)
        monkeypatch.setattr(enhanced_context, "_BATCH_TOKENS", 1)
        alone = EnhancedContext("mine").score(Request(LocalCollection(tiny), QUERY), papers)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
    assert len(set(together.tolist())) == 4


def test_a_missing_model_is_an_error(tiny: Library) -> None:
    with tiny, pytest.raises(CitewellError, match="medic-textenh"):
        EnhancedContext("textenh").score(Request(LocalCollection(tiny), QUERY), ranking(tiny, "harbour").papers)
