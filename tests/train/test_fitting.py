"""Trainings with torch: on a bare machine, killed and gone on with; and what is made of their weights."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.library import Library
from citewell.models.inputs import Inputs, PaperText
from citewell.papers import Query
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
Recipes = Callable[[str], dict[str, Any]]


def apart(module: str, pack: Path, start: Path, recipe: Path, out: Path, times: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.train.bare", module, *map(str, (pack, start, recipe, out, times))]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def weights(folder: Path) -> dict[str, Any]:
    """Every array that a training left."""
    from safetensors.numpy import load_file

    found: dict[str, Any] = {}
    for path in folder.rglob("*.npz"):
        with np.load(path) as arrays:
            found |= {f"{path.relative_to(folder)} {name}": arrays[name] for name in arrays.files}
    for path in folder.rglob("*.safetensors"):
        found |= {f"{path.relative_to(folder)} {name}": array for name, array in load_file(path).items()}
    return found


def curve(folder: Path) -> list[tuple[str, str, str]]:
    """What was noted, but for how long it took."""
    rows = csv.reader((folder / "curve.csv").read_text().splitlines())
    return [(step, key, value) for step, _, key, value in rows if key != "took"]


@pytest.mark.parametrize(
    ("kind", "times"), [("encoder", 1), ("encoder", 2), ("static", 1), ("cross-encoder", 1), ("cross-encoder", 3)]
)
def test_a_training_that_was_killed_goes_on_to_the_same_weights(
    packed: Path,
    base: Path,
    fitted: Path,
    recipe_files: dict[str, Path],
    recipes_of: Recipes,
    tmp_path: Path,
    kind: str,
    times: int,
) -> None:
    name = f"citewell.train.{kind.replace('-', '_')}"
    start = base if kind == "encoder" else fitted
    once, again = tmp_path / "once", tmp_path / "again"
    killed = apart(name, packed, start, recipe_files[kind], again, times)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(list(again.rglob("checkpoint.pt"))) == (2 if times == 3 else 1)
    assert times == 3 or not weights(again)
    torch.set_num_threads(1)
    fit = import_module(name).fit
    seen: list[int] = []

    class Watch:
        def training(self, steps: int) -> None: ...

        def trained(self, steps: int) -> None:
            seen.append(steps)

    fit(packed, start, recipes_of(kind), once, "cpu")
    fit(packed, start, recipes_of(kind), again, "cpu", Watch())
    assert seen[0] == (4 if times == 3 else 2 * times), "the steps that were done are not done again"
    one, other = weights(once), weights(again)
    assert one.keys() == other.keys() and one
    assert all((one[key] == other[key]).all() for key in one)
    for path in once.rglob("curve.csv"):
        assert curve(path.parent) == curve(again / path.parent.relative_to(once))


def test_a_training_ends_on_a_bare_machine(packed: Path, base: Path, recipe_files: dict[str, Path], tmp_path: Path) -> None:
    done = apart("citewell.train.encoder", packed, base, recipe_files["encoder"], tmp_path / "out", 0)
    assert done.returncode == 0, done.stderr
    assert "small local R@10" in done.stderr
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left >= {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "inputs.json",
        "recipe.json",
        "sets.json",
        "curve.csv",
    }


def test_a_recipe_that_is_like_another_is_read_whole_on_a_bare_machine(packed: Path, base: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'like = "medic-textenh"\n[shape]\nwords = 12\nhidden = 8\n[negatives]\nfirst_stage = ""\n'
        "[numbers]\nsteps = 1\npairs = 4\nwrong = 2\ndev_questions = 2\ndev_depth = 4\n"
    )
    done = apart("citewell.train.enhanced_context", packed, base, recipe, tmp_path / "out", 0)
    assert done.returncode == 0, done.stderr
    used = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert used["shape"]["variant"] == "textenh" and used["shape"]["words"] == 12 and used["numbers"]["margin"] == 0.3


def test_a_checkpoint_of_another_recipe_is_not_gone_on_from(
    packed: Path, base: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path
) -> None:
    from citewell.train.encoder import fit

    out = tmp_path / "out"
    shutil.copytree(fitted, out)
    recipe = recipes_of("encoder")
    recipe["numbers"] |= {"steps": 2, "mine_at": []}
    fit(packed, base, recipe, out, "cpu")
    assert {step for step, _, _ in curve(out)} == {"2"}


def test_training_makes_the_loss_smaller(packed: Path, base: Path, recipes_of: Recipes, tmp_path: Path) -> None:
    from citewell.train.encoder import Numbers, Training, fit, numbers_of
    from citewell.train.packs import load

    recipe = recipes_of("encoder")
    recipe["numbers"] |= {"steps": 30, "mine_at": [], "dev_every": 30}
    fit(packed, base, recipe, tmp_path, "cpu")

    def loss(folder: Path) -> float:
        """The mean over the same batches."""
        numbers = numbers_of(Numbers, recipe, "numbers")
        training = Training(load(packed), folder, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))
        training.model.eval()
        with torch.no_grad():
            return sum(training.loss().item() for _ in range(8))

    assert loss(tmp_path) < 0.9 * loss(base)


def queries() -> list[Query]:
    made = small_set()
    return [
        *(Query("local", context=context["text"], title="Ferries in fog") for context in made.contexts[:6]),
        *(Query("global", title=paper["title"], abstract=paper["abstract"]) for paper in made.papers[:6]),
    ]


def papers() -> list[PaperText]:
    made = small_set()
    said = [context["text"] for context in made.contexts]
    return [PaperText(paper["title"], paper["abstract"], said[at : at + at % 5]) for at, paper in enumerate(made.papers[:20])]


def by_torch(asked: Callable[[Any], Any], found: Callable[[Any], Any], folder: Path) -> tuple[Any, Any]:
    """The vectors of the queries and papers as torch makes them, one text at a time."""
    from tokenizers import Tokenizer

    from citewell.models.inputs import Reader
    from citewell.train.batches import Tokens

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    inputs = Inputs.read(folder)
    assert inputs is not None
    reader = Reader(tokenizer, inputs)

    def vector(encode: Callable[[Any], Any], tokens: list[int]) -> Any:
        with torch.no_grad():
            return encode(Tokens(torch.tensor([tokens]), torch.ones(1, len(tokens), dtype=torch.bool)))[0].numpy()

    return (
        np.stack([vector(asked, reader.query(query)) for query in queries()]),
        np.stack([vector(found, tokens) for tokens in reader.papers(papers())]),
    )


def test_the_exported_encoder_is_near_the_one_that_was_trained(fitted: Path, models: Path) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models.encoder import PairEncoder, load
    from citewell.train.bert import mean_vector, read_bert
    from citewell.train.encoder import export

    export(fitted, models / "mine")
    made = load("mine")
    assert isinstance(made, PairEncoder)
    bert = read_bert(fitted).eval()

    def encode(tokens: Any) -> Any:
        return mean_vector(bert(tokens.ids, tokens.mask), tokens.mask)

    asked, found = by_torch(encode, encode, fitted)
    ours = np.stack([made.query(query) for query in queries()])
    assert ((ours * asked).sum(1) > 0.98).all()
    assert ((made.papers(papers()) * found).sum(1) > 0.98).all()
    card = json.loads((models / "mine" / "card.json").read_text())
    assert card["licence"] == "Apache-2.0" and card["recipe"]["kind"] == "encoder" and card["citewell"]
    assert card["sets"]["small"]["local"] == 4 * 12 * 2 and set(card["dev"]["small local"]) == {"R@10", "RR"}


def test_the_exported_encoder_finds_papers_through_a_pipeline(
    fitted: Path, models: Path, small: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.pipeline.registry import definitions, pipeline
    from citewell.train.encoder import export

    export(fitted, models / "mine")
    path = tmp_path / "pipelines.toml"
    path.write_text('[mine]\nabout = "Ours"\nstages = [{ kind = "dense", encoder = "mine", text = "own+cited" }]\n')
    monkeypatch.setenv("CITEWELL_PIPELINES", str(path))
    definitions.cache_clear()
    chosen = pipeline("mine")
    with small:
        chosen.prepare(small)
        found = chosen.suggest(small, queries()[0], 5)
    assert len(found) == 5 and any("close in meaning" in reason.text for reason in found[0].reasons)


def test_the_exported_static_encoder_is_the_one_that_was_trained_but_for_rounding(
    packed: Path, fitted: Path, recipes_of: Recipes, models: Path, tmp_path: Path
) -> None:
    from citewell.models.encoder import load
    from citewell.models.static import StaticEncoder
    from citewell.train.static import export, fit

    model = fit(packed, fitted, recipes_of("static"), tmp_path / "weights", "cpu")
    export(tmp_path / "weights", models / "mine-static")
    made = load("mine-static")
    assert isinstance(made, StaticEncoder)
    read, taught = Inputs.read(models / "mine-static"), Inputs.read(fitted)
    assert read and taught and read == replace(taught, paper=1200, contexts=30), "it reads more of papers than its teacher"
    table = model.table.detach().numpy()
    with np.load(models / "mine-static" / "table.npz") as served:
        assert served["codes"].dtype == np.int8 and served["scales"].dtype == np.float32
        rounded = served["codes"] * served["scales"][:, None]
        # Half a step of int8, and what float16 had lost before.
        assert (np.abs(rounded - table) <= 0.5 * served["scales"][:, None] + 2e-3 * np.abs(table).max()).all()
    asked, found = by_torch(model.questions, model.papers, tmp_path / "weights")
    assert ((np.stack([made.query(query) for query in queries()]) * asked).sum(1) > 0.999).all()
    assert ((made.papers(papers()) * found).sum(1) > 0.999).all()
    assert json.loads((models / "mine-static" / "card.json").read_text())["dev"]


def test_the_small_cross_encoder_has_the_layers_that_were_chosen(
    packed: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path
) -> None:
    from citewell.train.bert import read_bert
    from citewell.train.cross_encoder import CrossEncoder, fit, shortened

    made = fit(packed, fitted, recipes_of("cross-encoder"), tmp_path, "cpu")
    assert len(made.bert.layers) == 1
    assert len(read_bert(tmp_path / "large").layers) == 2 and len(read_bert(tmp_path / "small").layers) == 1
    large = CrossEncoder(read_bert(tmp_path / "large"))
    small = shortened(large, (1,))
    assert torch.equal(small.bert.layers[0].output.dense.weight, large.bert.layers[1].output.dense.weight)
    assert torch.equal(small.head.weight, large.head.weight)
    assert all(any(key.endswith("RR") for _, key, _ in curve(tmp_path / size)) for size in ("large", "small"))
    assert (tmp_path / "small" / "tokenizer.json").exists()


def test_the_exported_cross_encoder_scores_as_the_one_that_was_trained(
    packed: Path, fitted: Path, recipes_of: Recipes, models: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models import cross_encoder as served
    from citewell.models.inputs import Reader
    from citewell.train.cross_encoder import export, fit

    model = fit(packed, fitted, recipes_of("cross-encoder"), tmp_path / "weights", "cpu").eval()
    export(tmp_path / "weights", models / "mine-cross")
    made = served.CrossEncoder("mine-cross", models / "mine-cross", Inputs(**recipes_of("cross-encoder")["inputs"]))
    assert Inputs.read(models / "mine-cross") == made._inputs
    reader: Reader = made._reader
    for query in queries()[::4]:
        asked = reader.query(query)
        for found, score in zip(reader.papers(papers()), made.scores(query, papers()), strict=True):
            ids = torch.tensor([asked + found[1:]])
            kinds = torch.tensor([[0] * len(asked) + [1] * (len(found) - 1)])
            with torch.no_grad():
                expected = model(ids, torch.ones_like(ids, dtype=torch.bool), kinds, torch.arange(ids.shape[1])[None])
            assert float(expected[0]) == pytest.approx(float(score), abs=0.05)
    assert json.loads((models / "mine-cross" / "card.json").read_text())["dev"]
    assert (models / "mine-cross-large" / "model.onnx").stat().st_size > (models / "mine-cross" / "model.onnx").stat().st_size


def test_a_pair_is_scored_alike_whatever_is_padded(packed: Path, fitted: Path, recipes_of: Recipes) -> None:
    from citewell.train.batches import Texts
    from citewell.train.bert import read_bert
    from citewell.train.cross_encoder import CrossEncoder, Pairs
    from citewell.train.packs import load

    arrays = load(packed)
    pairs = Pairs(Texts(arrays, Inputs(**recipes_of("cross-encoder")["inputs"]), torch.device("cpu")))
    model = CrossEncoder(read_bert(fitted)).eval()
    questions, found = torch.tensor([0, 40, 90]), torch.tensor([[1, 3], [4, 30], [7, 40]])
    years = torch.full_like(questions, 2019)
    with torch.no_grad():
        together = model(*pairs(questions, found, years))
        alone = [
            model(*pairs(questions[row : row + 1], found[row : row + 1, column : column + 1], years[:1]))
            for row in range(3)
            for column in range(2)
        ]
    assert torch.allclose(together, torch.cat(alone), atol=1e-5)


def test_no_wrong_papers_to_learn_from_is_said(packed: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path) -> None:
    from citewell.errors import CitewellError
    from citewell.train.cross_encoder import fit

    recipe = recipes_of("cross-encoder")
    recipe["numbers"]["mined"] = 500
    with pytest.raises(CitewellError, match="lower the recipe's 'mined'"):
        fit(packed, fitted, recipe, tmp_path, "cpu")
