"""Many of Medić's models trained as one network: each has the scores, gradients and figures that it has alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.enhanced_context import VARIANTS, Shape
from tests.train.test_enhanced_context import RECIPE, SIZES

torch = pytest.importorskip("torch")

NAMES = ["first", "second"]


@pytest.fixture(scope="module")
def pack(packed: Path, set_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with its sidecar of authors."""
    from citewell.train.authors import write

    path = Path(shutil.copy(packed, tmp_path_factory.mktemp("stacked") / "pack.npz"))
    write(path, [set_folder], 50)
    return path


def texts(rows: int, longest: int) -> Any:
    """Random padded texts, of one token at least."""
    from citewell.train.enhanced_network import Text

    lengths = torch.randint(1, longest + 1, (rows,))
    ids = torch.randint(1, 100, (rows, longest)) * (torch.arange(longest) < lengths[:, None])
    return Text(ids, lengths)


def part(batch: Any, at: int, models: int) -> Any:
    """What one of the models reads of a stacked batch."""
    from citewell.train.enhanced_network import Text

    def own(value: Any) -> Any:
        return Text(*map(own, value)) if isinstance(value, Text) else value.unflatten(0, (models, -1))[at]

    return type(batch)(*map(own, batch))


def test_scores_and_gradients_are_those_of_each_model_alone() -> None:
    from citewell.train.enhanced_network import CandidateBatch, QueryBatch
    from citewell.train.stacked_network import StackedNetwork

    shapes = [Shape(variant, **{**SIZES, "vocabulary": 100}) for variant in VARIANTS]
    models = len(shapes)
    stack = StackedNetwork(shapes, list(range(models)))
    queries = QueryBatch(texts(models * 3, 9), torch.zeros(models * 3, dtype=torch.int64), texts(models * 3, 12))
    authors, cited = torch.randint(0, 50, (models * 12, 3)), torch.randint(0, 9, (models * 12, 3)).float()
    candidates = CandidateBatch(texts(models * 12, 12), authors, cited)
    scores = stack(queries, candidates)
    scores.square().sum().backward()
    for at, shape in enumerate(shapes):
        alone = stack.model(at)
        own = alone(part(queries, at, models), part(candidates, at, models))
        torch.testing.assert_close(scores[at], own, rtol=1e-4, atol=1e-5)
        own.square().sum().backward()
        for name, weight in alone.named_parameters():
            gradient = stack.get_parameter(name.replace(".", "_")).grad[at]
            torch.testing.assert_close(gradient, weight.grad, rtol=1e-3, atol=1e-5, msg=f"{shape.variant} {name}")


@pytest.fixture(scope="module")
def recipes() -> list[dict[str, Any]]:
    numbers = {**RECIPE["numbers"], "steps": 20, "dev_every": 5}
    return [
        {**RECIPE, "numbers": {**numbers, "seed": seed}, "shape": {**RECIPE["shape"], "variant": variant}}
        for seed, variant in ((1, "textcon"), (2, "textbibenh-ws"))
    ]


@pytest.fixture(scope="module")
def trained(pack: Path, base: Path, recipes: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from citewell.train.stacked_training import fit

    folder = tmp_path_factory.mktemp("trained")
    fit(NAMES, recipes, pack, base, folder, "cpu")
    return folder


def test_the_best_weights_of_each_model_are_kept(pack: Path, base: Path, recipes: list[dict[str, Any]], trained: Path) -> None:
    from citewell.train.enhanced_context import Hyperparameters, NegativeSampling, Training, load_bibliography
    from citewell.train.packs import load
    from citewell.train.score_offline import load_network

    arrays, device = load(pack), torch.device("cpu")
    curve = [line.split(",") for line in (trained / "curve.csv").read_text().splitlines()]
    for name, recipe in zip(NAMES, recipes, strict=True):
        figures = [float(value) for _, _, what, value in curve if what == f"{name} small local RR"]
        assert len(figures) == 4
        model = load_network(trained / name, device)
        bibliography = load_bibliography(pack, arrays, model.shape) if model.shape.parts.bibliography else None
        numbers = Hyperparameters(**recipe["numbers"])
        alone = Training(arrays, model, numbers, NegativeSampling(), bibliography, None, device)
        assert alone.dev()["small local RR"] == pytest.approx(max(figures), abs=2e-4)


def test_a_resumed_stack_ends_with_the_same_weights(
    pack: Path, base: Path, recipes: list[dict[str, Any]], trained: Path, tmp_path: Path
) -> None:
    from citewell.train.checkpoints import Checkpoint
    from citewell.train.stacked_training import fit

    save = Checkpoint.save

    def save_and_stop(self: Any, state: Any) -> None:
        save(self, state)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("citewell.train.stacked_training._SAVED", 2)
        patch.setattr(Checkpoint, "save", save_and_stop)
        fit(NAMES, recipes, pack, base, tmp_path, "cpu")
    fit(NAMES, recipes, pack, base, tmp_path, "cpu")
    for name in NAMES:
        with np.load(trained / name / "network.npz") as one, np.load(tmp_path / name / "network.npz") as other:
            assert one.files == other.files and all((one[key] == other[key]).all() for key in one.files)


def test_models_of_other_shapes_or_lengths_are_refused(pack: Path, base: Path, tmp_path: Path) -> None:
    from citewell.train.stacked_training import fit

    longer = {**RECIPE, "numbers": {**RECIPE["numbers"], "steps": 8}}
    with pytest.raises(CitewellError, match="train others apart"):
        fit(["a", "b"], [RECIPE, longer], pack, base, tmp_path, "cpu")
