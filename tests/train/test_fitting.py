"""Training with torch: on a machine with only torch, interrupted and resumed, and exported."""

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
from citewell.progress import Progress
from tests.evaluate.small_set import small_set

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
Recipes = Callable[[str], dict[str, Any]]


def apart(module: str, pack: Path, start: Path, recipe: Path, out: Path, times: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.train.bare", module, *map(str, (pack, start, recipe, out, times))]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def weights(folder: Path) -> dict[str, Any]:
    """All arrays that a training wrote."""
    from safetensors.numpy import load_file

    arrays: dict[str, Any] = {}
    for path in folder.rglob("*.npz"):
        with np.load(path) as file:
            arrays |= {f"{path.relative_to(folder)} {name}": file[name] for name in file.files}
    for path in folder.rglob("*.safetensors"):
        arrays |= {f"{path.relative_to(folder)} {name}": array for name, array in load_file(path).items()}
    return arrays


def curve(folder: Path) -> list[tuple[str, str, str]]:
    """The logged values, without times."""
    rows = csv.reader((folder / "curve.csv").read_text().splitlines())
    return [(step, key, value) for step, _, key, value in rows if key != "took"]


@pytest.mark.parametrize(
    ("kind", "times"), [("encoder", 1), ("encoder", 2), ("static", 1), ("cross-encoder", 1), ("cross-encoder", 3)]
)
def test_a_resumed_training_ends_with_the_same_weights(
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
    counts: list[int] = []

    class Counter(Progress):
        def advance(self, count: int = 1) -> None:
            counts.append(count)

    fit(packed, start, recipes_of(kind), once, "cpu")
    fit(packed, start, recipes_of(kind), again, "cpu", Counter())
    assert counts[0] == (4 if times == 3 else 2 * times), "finished steps are not repeated"
    one, other = weights(once), weights(again)
    assert one.keys() == other.keys() and one
    assert all((one[key] == other[key]).all() for key in one)
    for path in once.rglob("curve.csv"):
        assert curve(path.parent) == curve(again / path.parent.relative_to(once))


def test_training_on_a_machine_with_only_torch(packed: Path, base: Path, recipe_files: dict[str, Path], tmp_path: Path) -> None:
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


def test_a_recipe_like_another_on_a_machine_with_only_torch(packed: Path, base: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'like = "medic-textenh"\n[shape]\nwords = 12\nhidden = 8\n[negatives]\nfirst_stage = ""\n'
        "[numbers]\nsteps = 1\npairs = 4\nnegatives = 2\ndev_queries = 2\ndev_depth = 4\n"
    )
    done = apart("citewell.train.enhanced_context", packed, base, recipe, tmp_path / "out", 0)
    assert done.returncode == 0, done.stderr
    used = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert used["shape"]["variant"] == "textenh" and used["shape"]["words"] == 12 and used["numbers"]["margin"] == 0.3


def test_a_checkpoint_of_another_recipe_is_ignored(
    packed: Path, base: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path
) -> None:
    from citewell.train.encoder import fit

    out = tmp_path / "out"
    shutil.copytree(fitted, out)
    recipe = recipes_of("encoder")
    recipe["numbers"] |= {"steps": 2, "mine_at": []}
    fit(packed, base, recipe, out, "cpu")
    assert {step for step, _, _ in curve(out)} == {"2"}


def test_training_lowers_the_loss(packed: Path, base: Path, recipes_of: Recipes, tmp_path: Path) -> None:
    from citewell.train.encoder import Hyperparameters, Training, fit, parse_section
    from citewell.train.packs import load

    recipe = recipes_of("encoder")
    recipe["numbers"] |= {"steps": 30, "mine_at": [], "dev_every": 30}
    fit(packed, base, recipe, tmp_path, "cpu")

    def loss(folder: Path) -> float:
        """The mean over the same batches."""
        numbers = parse_section(Hyperparameters, recipe, "numbers")
        training = Training(load(packed), folder, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))
        training.model.eval()
        with torch.no_grad():
            return sum(training.loss().item() for _ in range(8))

    assert loss(tmp_path) < 0.9 * loss(base)


def queries() -> list[Query]:
    dataset = small_set()
    return [
        *(Query("local", context=context["text"], title="Ferries in fog") for context in dataset.contexts[:6]),
        *(Query("global", title=paper["title"], abstract=paper["abstract"]) for paper in dataset.papers[:6]),
    ]


def papers() -> list[PaperText]:
    dataset = small_set()
    contexts = [context["text"] for context in dataset.contexts]
    return [
        PaperText(paper["title"], paper["abstract"], contexts[at : at + at % 5]) for at, paper in enumerate(dataset.papers[:20])
    ]


def by_torch(encode_query: Callable[[Any], Any], encode_paper: Callable[[Any], Any], folder: Path) -> tuple[Any, Any]:
    """The vectors of queries and papers by torch, one text at a time."""
    from tokenizers import Tokenizer

    from citewell.models.inputs import TokenReader
    from citewell.train.batches import Tokens

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    inputs = Inputs.read(folder)
    assert inputs is not None
    reader = TokenReader(tokenizer, inputs)

    def vector(encode: Callable[[Any], Any], tokens: list[int]) -> Any:
        with torch.no_grad():
            return encode(Tokens(torch.tensor([tokens]), torch.ones(1, len(tokens), dtype=torch.bool)))[0].numpy()

    return (
        np.stack([vector(encode_query, reader.query(query)) for query in queries()]),
        np.stack([vector(encode_paper, tokens) for tokens in reader.papers(papers())]),
    )


def test_the_exported_encoder_is_close_to_the_trained_one(fitted: Path, models: Path) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models.encoder import PairEncoder, load
    from citewell.train.bert import mean_vector, read_bert
    from citewell.train.encoder import export

    export(fitted, models / "mine")
    model = load("mine")
    assert isinstance(model, PairEncoder)
    bert = read_bert(fitted).eval()

    def encode(tokens: Any) -> Any:
        return mean_vector(bert(tokens.ids, tokens.mask), tokens.mask)

    query_vectors, paper_vectors = by_torch(encode, encode, fitted)
    ours = np.stack([model.query(query) for query in queries()])
    assert ((ours * query_vectors).sum(1) > 0.98).all()
    assert ((model.papers(papers()) * paper_vectors).sum(1) > 0.98).all()
    card = json.loads((models / "mine" / "card.json").read_text())
    assert card["licence"] == "Apache-2.0" and card["recipe"]["kind"] == "encoder" and card["citewell"]
    assert card["sets"]["small"]["local"] == 4 * 12 * 2 and set(card["dev"]["small local"]) == {"R@10", "RR"}


def test_the_exported_encoder_retrieves_in_a_pipeline(
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
        suggestions = chosen.suggest(small, queries()[0], 5)
    assert len(suggestions) == 5 and any("are close to yours" in reason.text for reason in suggestions[0].reasons)


def test_the_exported_static_encoder_equals_the_trained_one_up_to_quantisation(
    packed: Path, fitted: Path, recipes_of: Recipes, models: Path, tmp_path: Path
) -> None:
    from citewell.models.encoder import load
    from citewell.models.static import StaticEncoder
    from citewell.train.static import export, fit

    model = fit(packed, fitted, recipes_of("static"), tmp_path / "weights", "cpu")
    export(tmp_path / "weights", models / "mine-static")
    exported = load("mine-static")
    assert isinstance(exported, StaticEncoder)
    own_inputs, teacher_inputs = Inputs.read(models / "mine-static"), Inputs.read(fitted)
    assert own_inputs and teacher_inputs and own_inputs == replace(teacher_inputs, paper=1200, contexts=30), (
        "it reads more of a paper than its teacher"
    )
    table = model.table.detach().numpy()
    with np.load(models / "mine-static" / "table.npz") as served:
        assert served["codes"].dtype == np.int8 and served["scales"].dtype == np.float32
        quantised = served["codes"] * served["scales"][:, None]
        # Half a step of int8, and the loss of float16.
        assert (np.abs(quantised - table) <= 0.5 * served["scales"][:, None] + 2e-3 * np.abs(table).max()).all()
    query_vectors, paper_vectors = by_torch(model.queries, model.papers, tmp_path / "weights")
    assert ((np.stack([exported.query(query) for query in queries()]) * query_vectors).sum(1) > 0.999).all()
    assert ((exported.papers(papers()) * paper_vectors).sum(1) > 0.999).all()
    assert json.loads((models / "mine-static" / "card.json").read_text())["dev"]


def test_the_small_cross_encoder_has_the_chosen_layers(packed: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path) -> None:
    from citewell.train.bert import read_bert
    from citewell.train.cross_encoder import CrossEncoder, fit, with_layers

    model = fit(packed, fitted, recipes_of("cross-encoder"), tmp_path, "cpu")
    assert len(model.bert.layers) == 1
    assert len(read_bert(tmp_path / "large").layers) == 2 and len(read_bert(tmp_path / "small").layers) == 1
    large = CrossEncoder(read_bert(tmp_path / "large"))
    small = with_layers(large, (1,))
    assert torch.equal(small.bert.layers[0].output.dense.weight, large.bert.layers[1].output.dense.weight)
    assert torch.equal(small.head.weight, large.head.weight)
    assert all(any(key.endswith("RR") for _, key, _ in curve(tmp_path / size)) for size in ("large", "small"))
    assert (tmp_path / "small" / "tokenizer.json").exists()


def test_the_exported_cross_encoder_scores_like_the_trained_one(
    packed: Path, fitted: Path, recipes_of: Recipes, models: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    from citewell.models import cross_encoder as served
    from citewell.models.inputs import TokenReader
    from citewell.train.cross_encoder import export, fit

    model = fit(packed, fitted, recipes_of("cross-encoder"), tmp_path / "weights", "cpu").eval()
    export(tmp_path / "weights", models / "mine-cross")
    exported = served.CrossEncoder("mine-cross", models / "mine-cross", Inputs(**recipes_of("cross-encoder")["inputs"]))
    assert Inputs.read(models / "mine-cross") == exported._inputs
    reader: TokenReader = exported._reader
    for query in queries()[::4]:
        query_ids = reader.query(query)
        for paper_ids, score in zip(reader.papers(papers()), exported.scores(query, papers()), strict=True):
            ids = torch.tensor([query_ids + paper_ids[1:]])
            kinds = torch.tensor([[0] * len(query_ids) + [1] * (len(paper_ids) - 1)])
            with torch.no_grad():
                expected = model(ids, torch.ones_like(ids, dtype=torch.bool), kinds, torch.arange(ids.shape[1])[None])
            assert float(expected[0]) == pytest.approx(float(score), abs=0.05)
    assert json.loads((models / "mine-cross" / "card.json").read_text())["dev"]
    assert (models / "mine-cross-large" / "model.onnx").stat().st_size > (models / "mine-cross" / "model.onnx").stat().st_size


def test_padding_does_not_change_the_score_of_a_pair(packed: Path, fitted: Path, recipes_of: Recipes) -> None:
    from citewell.train.batches import Texts
    from citewell.train.bert import read_bert
    from citewell.train.cross_encoder import CrossEncoder, Pairs
    from citewell.train.packs import load

    arrays = load(packed)
    pairs = Pairs(Texts(arrays, Inputs(**recipes_of("cross-encoder")["inputs"]), torch.device("cpu")))
    model = CrossEncoder(read_bert(fitted)).eval()
    queries, some_papers = torch.tensor([0, 40, 90]), torch.tensor([[1, 3], [4, 30], [7, 40]])
    years = torch.full_like(queries, 2019)
    with torch.no_grad():
        together = model(*pairs(queries, some_papers, years))
        alone = [
            model(*pairs(queries[row : row + 1], some_papers[row : row + 1, column : column + 1], years[:1]))
            for row in range(3)
            for column in range(2)
        ]
    assert torch.allclose(together, torch.cat(alone), atol=1e-5)


def test_too_few_papers_to_mine_is_an_error(packed: Path, fitted: Path, recipes_of: Recipes, tmp_path: Path) -> None:
    from citewell.errors import CitewellError
    from citewell.train.cross_encoder import fit

    recipe = recipes_of("cross-encoder")
    recipe["numbers"]["mined"] = 500
    with pytest.raises(CitewellError, match="lower the recipe's 'mined'"):
        fit(packed, fitted, recipe, tmp_path, "cpu")
