"""Nogueira's classifier: trained on the candidates of a first stage, served as a cross-encoder."""

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
    numbers = {"steps": 4, "pairs": 8, "top": 4, "dev_every": 2, "dev_queries": 6, "dev_depth": 6, "rate": 1e-3}
    inputs = {
        "query": 48,
        "context": 24,
        "topic": 16,
        "title": 12,
        "paper": 40,
        "paper_title": 12,
        "contexts": 0,
        "window": 8,
        "pair": 70,
    }
    return {**recipes_of("cross-encoder"), "kind": "classifier", "numbers": numbers, "inputs": inputs}


@pytest.fixture(scope="module")
def pack(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with candidate lists for its global queries: every other list has a relevant paper at rank two."""
    from citewell.train.packs import TASKS, load, save
    from citewell.train.sidecars import pack_fingerprint, sidecar_path

    path = Path(shutil.copy(packed, tmp_path_factory.mktemp("classifier") / "pack.npz"))
    arrays = load(path)
    queries = np.flatnonzero(arrays["question_task"] == TASKS.index("global"))
    rows = np.full((len(queries), 6), -1, np.int32)
    for at, query in enumerate(queries.tolist()):
        relevant = arrays["question_wanted"][slice(*arrays["question_wanted_at"][query : query + 2])].tolist()
        others = [paper for paper in range(12) if paper not in relevant]
        rows[at] = [others[0], relevant[0], *others[1:5]] if at % 2 else others[:6]
    save({"questions": queries, "papers": rows, "pack": np.array(pack_fingerprint(arrays))}, sidecar_path(path, "bm25"))
    return path


def new_training(pack: Path, base: Path, recipe: dict[str, Any]) -> Any:
    from citewell.train.bert import read_bert
    from citewell.train.classifier import Hyperparameters, Training
    from citewell.train.cross_encoder import CrossEncoder
    from citewell.train.lists import CandidateLists
    from citewell.train.packs import load

    arrays, device = load(pack), torch.device("cpu")
    torch.manual_seed(1)
    lists = CandidateLists.read(pack, arrays, "bm25", device)
    numbers, inputs = Hyperparameters(**recipe["numbers"]), Inputs(**recipe["inputs"])
    return Training(arrays, CrossEncoder(read_bert(base)), numbers, inputs, lists, device)


def test_it_trains_on_the_top_candidates_without_balancing(pack: Path, base: Path, recipe: dict[str, Any]) -> None:
    training = new_training(pack, base, recipe)
    arrays = training.arrays
    queries = sorted(set(training.queries.tolist()))
    assert all(arrays["question_split"][query] == 0 and arrays["question_task"][query] == 0 for query in queries)
    assert len(training.labels) == 4 * len(queries)
    for query, paper, label in zip(training.queries.tolist(), training.papers.tolist(), training.labels.tolist(), strict=True):
        relevant = arrays["question_wanted"][slice(*arrays["question_wanted_at"][query : query + 2])].tolist()
        assert label == (paper in relevant)
    assert training.labels.sum() == len(queries) // 2, "only the relevant papers that the first stage retrieves"


def test_training_reads_pairs_as_the_served_model_does(pack: Path, base: Path, recipe: dict[str, Any]) -> None:
    from citewell.models.inputs import TokenReader, trimmed
    from citewell.models.onnx import tokenizer

    recipe["inputs"] |= {"query": 30, "paper": 30, "pair": 41}
    training = new_training(pack, base, recipe)
    arrays, inputs = training.arrays, Inputs(**recipe["inputs"])
    reader = TokenReader(tokenizer(base), inputs)

    def plain(kind: str, row: int) -> list[int]:
        parts = [arrays[f"{kind}_{part}"][row] for part in ("title", "abstract")]
        return [token for at in parts for token in arrays["tokens"][slice(*arrays["text_at"][at : at + 2])].tolist()]

    queries, papers = training.queries[:40], training.papers[:40]
    ids, mask, kinds = training._pairs(queries, papers)
    trims = set()
    for row, (query, paper) in enumerate(zip(queries.tolist(), papers.tolist(), strict=True)):
        first, second = plain("question", query)[:30], plain("paper", paper)[:30]
        trims.add(trimmed(len(first), len(second), 38) == (len(first), len(second)))
        tokens, start = reader.pair(first, second)
        assert ids[row][mask[row]].tolist() == tokens
        assert kinds[row][mask[row]].tolist() == [0] * start + [1] * (len(tokens) - start)
    assert trims == {True, False}, "some pairs are cut, others are whole"


def test_the_longer_text_is_cut() -> None:
    from citewell.models.inputs import trimmed

    def one_by_one(first: int, second: int, size: int) -> tuple[int, int]:
        while first + second > size:
            first, second = (first - 1, second) if first > second else (first, second - 1)
        return first, second

    for first in range(12):
        for second in range(12):
            for size in range(11):
                assert trimmed(first, second, size) == one_by_one(first, second, size)


def test_missed_positives_and_random_negatives_may_join(pack: Path, base: Path, recipe: dict[str, Any]) -> None:
    plain = new_training(pack, base, recipe)
    recipe["numbers"] |= {"missed_positives": True, "random_negatives": 3}
    more = new_training(pack, base, recipe)
    arrays = plain.arrays
    queries = sorted(set(plain.queries.tolist()))
    relevant = sum(int(arrays["question_wanted_at"][query + 1] - arrays["question_wanted_at"][query]) for query in queries)
    assert more.labels.sum() == relevant > plain.labels.sum()
    assert len(more.labels) == len(plain.labels) + relevant - plain.labels.sum() + 3 * len(queries)


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
    before, after = new_training(pack, base, recipe), new_training(pack, base, recipe)
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
    from citewell.train.sidecars import sidecar_path

    other = Path(shutil.copy(pack, tmp_path / "pack.npz"))
    with pytest.raises(CitewellError, match="prefilter makes it"):
        fit(other, base, recipe, tmp_path / "out", "cpu")
    save({**load(sidecar_path(pack, "bm25")), "pack": np.array("other")}, sidecar_path(other, "bm25"))
    with pytest.raises(CitewellError, match="another pack"):
        fit(other, base, recipe, tmp_path / "out", "cpu")


def test_sidecars_of_a_recipe_are_made_once(
    packed: Path, set_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.train import authors, sidecars
    from citewell.train.packs import load

    pack = Path(shutil.copy(packed, tmp_path / "pack.npz"))
    recipe = {
        "numbers": {"task": "local"},
        "shape": {"variant": "textbibcon-s", "people": 40},
        "negatives": {"first_stage": "bm25", "depth": 5, "sample": 7},
    }
    paths = sidecars.make_sidecars(pack, [set_folder], recipe)
    assert paths == [tmp_path / "pack.people.npz", tmp_path / "pack.bm25.npz"]
    arrays, lists = load(pack), load(paths[1])
    assert lists["papers"].shape[1] == 5
    splits = arrays["question_split"][lists["questions"]]
    assert (splits == 0).sum() == 7 and (splits == 1).sum() == 48, "all dev queries are used"
    assert load(paths[0])["authors"].max() < 40

    def refuse(*args: Any) -> Any:
        raise AssertionError("the file exists")

    monkeypatch.setattr(authors, "write", refuse)
    assert sidecars.make_sidecars(pack, [set_folder], recipe) == paths
    assert sidecars.make_sidecars(pack, [set_folder], {"shape": {"variant": "textcon"}}) == []


def test_sets_may_count_the_same(pack: Path, base: Path, recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """One query in six is made to belong to another set; half of the pairs of a balanced batch are its own."""
    from citewell.train import losses
    from citewell.train.set_balance import PairSampler

    training = new_training(pack, base, recipe)
    sets = training.arrays["question_set"].copy()
    sets[np.unique(training.queries)[::6]] = 1
    training.arrays["question_set"] = sets
    training._sampler = PairSampler(training.arrays, training.queries, balanced=True)
    seen: list[int] = []

    def scores(queries: Any, papers: Any) -> Any:
        seen.extend(sets[queries.numpy()].tolist())
        return torch.zeros(len(queries), requires_grad=True)

    monkeypatch.setattr(training, "_scores", scores)
    monkeypatch.setattr(losses, "binary", lambda scores, labels: scores.sum())
    training.loss()
    assert sorted(seen) == [0] * 4 + [1] * 4
