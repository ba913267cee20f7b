"""Medić's paragraph model: triplets, quadruplets, and the tuned layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from citewell.models.inputs import Inputs

torch = pytest.importorskip("torch")

Recipes = Callable[[str], dict[str, Any]]


@pytest.fixture
def recipe(recipes_of: Recipes) -> dict[str, Any]:
    numbers = {"epochs": 2, "queries": 6, "layers": 1, "rate": 2e-3, "dev_every": 2}
    return {**recipes_of("encoder"), "kind": "paragraph", "numbers": numbers}


@pytest.fixture(params=["triplet", "quadruplet"])
def training(request: pytest.FixtureRequest, packed: Path, base: Path, recipe: dict[str, Any]) -> Any:
    from citewell.train.packs import load
    from citewell.train.paragraph import Hyperparameters, Training

    numbers = Hyperparameters(**recipe["numbers"], loss=request.param)
    return Training(load(packed), base, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))


def test_positives_and_negatives_of_a_batch(training: Any) -> None:
    arrays = training.arrays
    cites = {(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in arrays["cites"]}
    count = 2 if training.numbers.loss == "quadruplet" else 1
    for _ in range(5):
        queries, positives, negatives = training.sample()
        assert positives.shape == (len(queries), count) and negatives.shape == (len(queries), 10)
        for query, positive_papers, others in zip(queries.tolist(), positives.tolist(), negatives.tolist(), strict=True):
            relevant, citing = training.pools.relevant(query), int(arrays["question_citing"][query])
            assert set(positive_papers) <= set(relevant) and len(set(positive_papers)) == count
            assert not set(others) & {*relevant, citing}
            assert all(0 < arrays["paper_date"][paper] <= arrays["question_date"][query] for paper in others)
            pools = training.pools.pools_of(query)
            assert all((citing, paper) in cites for pool in pools[:2] for paper in pool)
            assert all((citing, paper) not in cites for paper in pools[2])
            assert not set(pools[0]) & set(pools[1]) and not set(pools[1]) & set(pools[2])
            for pool, size in zip(pools, (4, 3, 3), strict=True):
                assert len(set(others) & set(pool)) >= min(size, len(pool))


def test_pools_separate_other_paragraphs_from_the_rest_of_the_paper(tmp_path: Path, minilm: Path) -> None:
    from tokenizers import Tokenizer

    from citewell.models.inputs import TokenReader
    from citewell.train.packing import pack
    from citewell.train.packs import TASKS
    from citewell.train.pairs import read_source
    from citewell.train.paragraph import NegativePools
    from tests.evaluate.small_set import small_set

    dataset = small_set()
    citing = dataset.paper("p2018-2")
    paragraphs = (("a", citing["references"][:2]), ("b", citing["references"][2:3]))
    for name, cited in paragraphs:
        dataset.paragraphs.append({"id": name, "citing": citing["id"], "cited": cited, "topic_sentence": name, "text": ""})
    source = read_source(dataset.write(tmp_path / "set"), ["paragraph"])
    reader = TokenReader(Tokenizer.from_file(str(minilm / "tokenizer.json")), Inputs())
    arrays = pack([source], reader, Inputs())
    pools = NegativePools(arrays)
    first = int(np.flatnonzero(arrays["question_task"] == TASKS.index("paragraph"))[0])
    numbers = {paper["id"]: at for at, paper in enumerate(dataset.papers)}
    other, elsewhere, further = pools.pools_of(first)
    assert pools.relevant(first) == sorted(numbers[name] for name in citing["references"][:2])
    assert other == [numbers[citing["references"][2]]] and elsewhere == [numbers[citing["references"][3]]]
    beyond = {name for start in citing["references"][:3] for name in dataset.paper(start)["references"]}
    assert further == sorted(numbers[name] for name in beyond - set(citing["references"]))


def test_triplet_and_quadruplet_losses() -> None:
    from citewell.train.paragraph import quadruplet, triplet

    def at(*place: float) -> Any:
        return torch.tensor([[place]])

    query, one, other, negative = at(0, 0), at(3, 0), at(0, 4), at(1, 0)
    assert triplet(query, one, negative, 0.5).item() == pytest.approx(3 - 1 + 0.5)
    between, to_one, to_other = 5.0, 2.0, 17**0.5
    expected = (3 - 1 + 0.5) + (4 - 1 + 0.5) + (between - to_one + 0.5) + (between - to_other + 0.5)
    assert quadruplet(query, one, other, negative, 0.5).item() == pytest.approx(expected)
    assert quadruplet(query, at(0.1, 0), at(0, 0.1), at(9, 9), 0.5).item() == 0


@pytest.mark.parametrize("loss", ["triplet", "quadruplet"])
def test_only_the_last_layers_are_tuned_and_the_loss_falls(
    packed: Path, base: Path, recipe: dict[str, Any], tmp_path: Path, loss: str
) -> None:
    from citewell.train.bert import read_bert
    from citewell.train.packs import load
    from citewell.train.paragraph import Hyperparameters, Training, fit

    recipe["numbers"] |= {"loss": loss, "epochs": 8, "dev_every": 100}
    fit(packed, base, recipe, tmp_path, "cpu")
    before, after = read_bert(base).state_dict(), read_bert(tmp_path).state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(name.startswith("encoder.layer.1.") for name in changed)

    def total_loss(folder: Path) -> float:
        numbers = Hyperparameters(**{**recipe["numbers"], "queries": 12})
        training = Training(load(packed), folder, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))
        training.model.eval()
        with torch.no_grad():
            return float(sum(training.loss().item() for _ in range(4)))

    assert total_loss(tmp_path) < 0.95 * total_loss(base)


def test_the_paragraph_model_is_served_as_an_encoder(
    packed: Path, base: Path, recipe: dict[str, Any], models: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models.encoder import PairEncoder, load
    from citewell.papers import Query
    from citewell.train.paragraph import export, fit

    recipe["numbers"] |= {"epochs": 0.5}
    fit(packed, base, recipe, tmp_path / "weights", "cpu")
    export(tmp_path / "weights", models / "paragraph-quadruplet")
    encoder = load("paragraph-quadruplet")
    assert isinstance(encoder, PairEncoder)
    assert encoder.query(Query("paragraph", "Ferries", "in fog", "Ferries are late.")).shape == (32,)


def test_papers_as_queries_learn_what_their_paragraphs_cite(packed: Path, base: Path, recipe: dict[str, Any]) -> None:
    from citewell.train.packs import load
    from citewell.train.paragraph import Hyperparameters, Training

    numbers = Hyperparameters(**recipe["numbers"], loss="triplet", queries_are="papers")
    training = Training(load(packed), base, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))
    arrays = training.arrays
    citing = [int(arrays["question_citing"][query]) for query in training.queries]
    assert len(set(citing)) == len(citing) > 3, "one query for each paper"
    cites = {(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in arrays["cites"]}
    queries, positives, negatives = training.sample()
    for query, positive, others in zip(queries.tolist(), positives.tolist(), negatives.tolist(), strict=True):
        paper = int(arrays["question_citing"][query])
        assert all((paper, each) in cites for each in positive)
        assert not any((paper, each) in cites or each == paper for each in others) and len(others) == 10
        assert all(0 < arrays["paper_date"][each] <= arrays["question_date"][query] for each in others)


@pytest.mark.parametrize("pooling", ["mean", "first token"])
def test_vectors_are_served_as_they_are_trained(
    set_folder: Path, base: Path, recipe: dict[str, Any], models: Path, tmp_path: Path, pooling: str
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models.encoder import PairEncoder, load
    from citewell.models.inputs import PaperText
    from citewell.train.from_sets import load_or_pack
    from citewell.train.packs import TASKS
    from citewell.train.packs import load as load_pack
    from citewell.train.pairs import read_source
    from citewell.train.paragraph import Hyperparameters, Training, export, fit
    from citewell.train.recipe import PackRecipe

    recipe["inputs"] |= {"query": 90, "context_last": True, "context_mark": "[unused1]"}
    recipe["numbers"] |= {"epochs": 0.5, "pooling": pooling}
    chosen = msgspec.convert({**recipe, "base": str(base), "name": "mine"}, PackRecipe)
    pack = load_or_pack(tmp_path / "pack.npz", chosen, [set_folder])
    fit(pack, base, recipe, tmp_path / "weights", "cpu")
    export(tmp_path / "weights", models / "mine")
    served = load("mine")
    assert isinstance(served, PairEncoder)
    numbers, inputs = Hyperparameters(**recipe["numbers"]), Inputs(**recipe["inputs"])
    training = Training(load_pack(pack), tmp_path / "weights", numbers, inputs, torch.device("cpu"))
    source = read_source(set_folder, recipe["pairs"]["tasks"])
    judged = source.queries["train"]["paragraph"]
    rows = np.flatnonzero(
        (training.arrays["question_task"] == TASKS.index("paragraph")) & (training.arrays["question_split"] == 0)
    )
    trained = training.encoder.query_vectors(torch.from_numpy(rows)).numpy()
    vectors = np.array([served.query(each.query) for each in judged])
    assert len(rows) == len(judged) > 5 and ((vectors * trained).sum(1) > 0.98).all()
    papers = [PaperText(paper.title, paper.abstract) for paper in source.papers[:9]]
    own = training.encoder.paper_vectors(torch.arange(9), 0).numpy()
    assert ((served.papers(papers) * own).sum(1) > 0.98).all()
    other = Hyperparameters(**{**recipe["numbers"], "pooling": "mean" if pooling == "first token" else "first token"})
    unlike = Training(load_pack(pack), tmp_path / "weights", other, inputs, torch.device("cpu")).encoder
    assert ((vectors * unlike.query_vectors(torch.from_numpy(rows)).numpy()).sum(1) < 0.9).all()
