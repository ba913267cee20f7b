"""Nogueira's classifier: trained on what a first stage found and nothing else, served as a cross-encoder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.inputs import Inputs, PaperText
from citewell.papers import Query
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")

Recipes = Callable[[str], dict[str, Any]]


@pytest.fixture
def recipe(recipes_of: Recipes) -> dict[str, Any]:
    numbers = {"steps": 4, "pairs": 8, "top": 4, "dev_every": 2, "dev_questions": 6, "dev_depth": 6, "rate": 1e-3}
    inputs = {"query": 48, "context": 24, "topic": 16, "title": 12, "paper": 40, "paper_title": 12, "contexts": 0, "window": 8}
    return {**recipes_of("cross-encoder"), "kind": "classifier", "numbers": numbers, "inputs": inputs}


@pytest.fixture(scope="module")
def pack(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with lists for its global questions: every other one has an answer in the second place."""
    from citewell.train.packs import TASKS, load, save
    from citewell.train.sidecars import beside, word

    made = Path(shutil.copy(packed, tmp_path_factory.mktemp("classifier") / "pack.npz"))
    arrays = load(made)
    asked = np.flatnonzero(arrays["question_task"] == TASKS.index("global"))
    rows = np.full((len(asked), 6), -1, np.int32)
    for at, question in enumerate(asked.tolist()):
        wanted = arrays["question_wanted"][slice(*arrays["question_wanted_at"][question : question + 2])].tolist()
        others = [paper for paper in range(12) if paper not in wanted]
        rows[at] = [others[0], wanted[0], *others[1:5]] if at % 2 else others[:6]
    save({"questions": asked, "papers": rows, "pack": np.array(word(arrays))}, beside(made, "bm25"))
    return made


def made_training(pack: Path, base: Path, recipe: dict[str, Any]) -> Any:
    from citewell.train.bert import read_bert
    from citewell.train.classifier import Numbers, Training
    from citewell.train.cross_encoder import CrossEncoder
    from citewell.train.lists import Lists
    from citewell.train.packs import load

    arrays, device = load(pack), torch.device("cpu")
    torch.manual_seed(1)
    lists = Lists.read(pack, arrays, "bm25", device)
    numbers, inputs = Numbers(**recipe["numbers"]), Inputs(**recipe["inputs"])
    return Training(arrays, CrossEncoder(read_bert(base)), numbers, inputs, lists, device)


def test_it_learns_from_the_best_candidates_as_they_come(pack: Path, base: Path, recipe: dict[str, Any]) -> None:
    training = made_training(pack, base, recipe)
    arrays = training.arrays
    asked = sorted(set(training.questions.tolist()))
    assert all(arrays["question_split"][question] == 0 and arrays["question_task"][question] == 0 for question in asked)
    assert len(training.labels) == 4 * len(asked)
    for question, paper, label in zip(
        training.questions.tolist(), training.papers.tolist(), training.labels.tolist(), strict=True
    ):
        wanted = arrays["question_wanted"][slice(*arrays["question_wanted_at"][question : question + 2])].tolist()
        assert label == (paper in wanted)
    assert training.labels.sum() == len(asked) // 2, "the first stage's own right papers, and no others"


def test_the_budgets_of_query_and_candidate_are_kept(pack: Path, base: Path, recipe: dict[str, Any]) -> None:
    recipe["inputs"] |= {"query": 20, "paper": 34}
    training = made_training(pack, base, recipe)
    ids, mask, kinds, _ = training._pairs(training.questions[:5], training.papers[:5, None], training.questions[:5] * 0 + 2018)
    assert ids.shape == mask.shape
    assert ((kinds == 0) & mask).sum(1).tolist() == [20] * 5
    assert (((kinds == 1) & mask).sum(1) <= 33).all() and ((kinds == 1) & mask).sum() > 5 * 20


def test_a_few_steps_lower_the_loss_and_it_is_served_as_a_cross_encoder(
    pack: Path, base: Path, recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models import cross_encoder
    from citewell.train.classifier import export, fit
    from citewell.train.curve import dev_figures

    recipe["numbers"] |= {"steps": 30, "dev_every": 30, "rate": 3e-3, "pairs": 16}
    model = fit(pack, base, recipe, tmp_path / "weights", "cpu").eval()
    assert set(dev_figures(tmp_path / "weights")) == {"small global"}
    before, after = made_training(pack, base, recipe), made_training(pack, base, recipe)
    after.model.load_state_dict(model.state_dict())
    with torch.no_grad():
        losses = []
        for training in (before, after):
            training.model.eval()
            torch.manual_seed(2)
            losses.append(sum(training.loss().item() for _ in range(4)))
    assert losses[1] < 0.95 * losses[0]

    export(tmp_path / "weights", tmp_path / "models" / "nogueira-bert")
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    papers = small_set().papers
    texts = [PaperText(paper["title"], paper["abstract"]) for paper in papers[:6]]
    query = Query("global", papers[40]["title"], papers[40]["abstract"])
    scores = cross_encoder.load("nogueira-bert").scores(query, texts)
    assert scores.shape == (6,) and np.isfinite(scores).all()


def test_lists_of_another_pack_are_refused(pack: Path, base: Path, recipe: dict[str, Any], tmp_path: Path) -> None:
    from citewell.train.classifier import fit
    from citewell.train.packs import load, save
    from citewell.train.sidecars import beside

    other = Path(shutil.copy(pack, tmp_path / "pack.npz"))
    with pytest.raises(CitewellError, match="prefilter makes it"):
        fit(other, base, recipe, tmp_path / "out", "cpu")
    save({**load(beside(pack, "bm25")), "pack": np.array("other")}, beside(other, "bm25"))
    with pytest.raises(CitewellError, match="another pack"):
        fit(other, base, recipe, tmp_path / "out", "cpu")


def test_what_a_recipe_needs_beside_its_pack_is_made_once(
    packed: Path, set_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.train import authors as people
    from citewell.train import sidecars as companions
    from citewell.train.packs import load

    pack = Path(shutil.copy(packed, tmp_path / "pack.npz"))
    recipe = {
        "numbers": {"task": "local"},
        "shape": {"variant": "textbibcon-s", "people": 40},
        "negatives": {"first_stage": "bm25", "depth": 5, "sample": 7},
    }
    made = companions.make(pack, [set_folder], recipe)
    assert made == [tmp_path / "pack.people.npz", tmp_path / "pack.bm25.npz"]
    arrays, lists = load(pack), load(made[1])
    assert lists["papers"].shape[1] == 5
    splits = arrays["question_split"][lists["questions"]]
    assert (splits == 0).sum() == 7 and (splits == 1).sum() == 48, "all of dev are asked"
    assert load(made[0])["authors"].max() < 40

    def refuse(*given: Any) -> Any:
        raise AssertionError("it is there")

    monkeypatch.setattr(people, "write", refuse)
    assert companions.make(pack, [set_folder], recipe) == made
    assert companions.make(pack, [set_folder], {"shape": {"variant": "textcon"}}) == []
