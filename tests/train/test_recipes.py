"""Recipes: complete, your own, and wrong ones; and ``citewell train`` with each for a few steps."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.models.inputs import LAYOUT, Inputs
from citewell.train.from_evidence import KINDS as EVIDENCE_KINDS
from citewell.train.from_sets import KINDS as SET_KINDS
from citewell.train.packs import load
from citewell.train.recipe import (
    EvidenceRecipe,
    LibraryRecipe,
    LtrRecipe,
    PackRecipe,
    library_recipe,
    load_recipe,
    recipes,
)
from citewell.train.training import KINDS as LIBRARY_KINDS

NEEDED = {"static": ("steps", "batch", "rate"), "cross-encoder": ("mined", "mine_limit", "evenness", "seed")}
"""The settings of the encoder that other methods use."""


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["train", *map(str, arguments)])


def run_json(*arguments: object) -> Any:
    done = CliRunner().invoke(cli, ["train", *map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(done.stdout)


def error_message(*arguments: object) -> str:
    failed = invoke(*arguments)
    assert isinstance(failed.exception, CitewellError), failed.exception
    return str(failed.exception)


def test_every_recipe_is_of_a_library_or_of_sets() -> None:
    loaded = {name: load_recipe(name) for name in recipes()}
    assert {"lda", "doc2vec", "paper2vec", "hyperdoc2vec", "encoder", "static", "cross-encoder", "ltr"} <= set(loaded)
    for recipe in loaded.values():
        match recipe:
            case LibraryRecipe():
                assert recipe.kind in LIBRARY_KINDS
            case PackRecipe():
                assert recipe.kind in SET_KINDS
            case EvidenceRecipe():
                assert recipe.kind in EVIDENCE_KINDS
            case LtrRecipe():
                assert recipe.kind == "ltr"


def test_recipes_state_every_setting() -> None:
    pytest.importorskip("torch")
    for name in recipes():
        recipe = load_recipe(name)
        if isinstance(recipe, EvidenceRecipe):
            msgspec.convert(recipe.numbers, import_module(EVIDENCE_KINDS[recipe.kind]).Hyperparameters)
        if not isinstance(recipe, PackRecipe):
            continue
        sections = import_module(SET_KINDS[recipe.kind]).SECTIONS
        for section, kind in sections.items():
            values = getattr(recipe, section)
            own = section != "numbers" or recipe.kind not in NEEDED
            # The size of the vocabulary comes from the initial weights.
            every = {field.name for field in fields(kind)} - {"vocabulary"}
            assert values.keys() >= (every if own else set(NEEDED[recipe.kind]))
            assert values.keys() <= {field.name for field in fields(kind)}
            msgspec.convert(values, kind)
        pair = set() if recipe.kind == "classifier" else {"pair"}  # others do not read pairs of plain texts
        budgets = {field.name for field in fields(Inputs)} - set(LAYOUT) - pair
        assert recipe.kind == "static" or recipe.inputs.keys() - set(LAYOUT) == budgets


def test_an_earlier_name_of_a_recipe_still_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_recipe("fusion") == load_recipe("ltr")
    assert capsys.readouterr().err == "The recipe 'fusion' is now called 'ltr'.\n"
    (tmp_path / "mine.toml").write_text('like = "ltr"\nkind = "fusion"\n')
    assert load_recipe(str(tmp_path / "mine.toml")).kind == "ltr"


def test_unusable_recipes_are_errors(tmp_path: Path, recipe_files: dict[str, Path], set_folder: Path) -> None:
    path = tmp_path / "mine.toml"
    assert "no recipe 'magic'; choose one of claims, cross-encoder, doc2vec" in error_message("magic")
    assert f"cannot read the recipe {path}" in error_message(path)
    path.write_text("kind = ")
    assert f"cannot use the recipe {path}" in error_message(path)
    path.write_text('about = "Mine"\nkind = "encoder"\n')
    assert "missing required field `pairs`" in error_message(path)
    path.write_text('about = "Mine"\nkind = "witchcraft"\ntext = "own"\nmin_count = 1\nseed = 1\n[parameters]\n')
    assert "unknown kind; there are lda" in error_message(path, "--library", tmp_path / "none")
    pytest.importorskip("torch")
    text = recipe_files["encoder"].read_text()
    path.write_text(text.replace("steps = 6", "stops = 6"))
    assert "unknown setting 'stops' in [numbers]" in error_message(path, "--set", set_folder, "--out", tmp_path / "out")
    path.write_text(text.replace("steps = 6", 'steps = "six"'))
    assert "[numbers]: Expected `int`" in error_message(path, "--set", set_folder, "--out", tmp_path / "out")


def test_unusable_options_are_errors(tmp_path: Path, set_folder: Path, recipe_files: dict[str, Path]) -> None:
    assert "learns from a library; leave --set out" in error_message("lda", "--set", set_folder)
    assert "leave --pack out" in error_message("ltr", "--set", set_folder, "--out", tmp_path, "--pack", tmp_path / "pack")
    assert "--out DIR" in error_message("encoder", "--set", set_folder)
    assert "--pack FILE" in error_message("encoder", "--set", set_folder, "--pack-only")
    pytest.importorskip("torch")
    assert "--set DIR" in error_message(recipe_files["encoder"], "--out", tmp_path / "out")
    assert "--encoder DIR" in error_message("static", "--set", set_folder, "--out", tmp_path / "out")
    assert "has no config.json" in error_message(
        "static", "--set", set_folder, "--out", tmp_path / "out", "--encoder", set_folder
    )
    import torch

    if not torch.cuda.is_available():
        chosen = ("--set", set_folder, "--out", tmp_path / "out", "--device", "cuda")
        assert "no GPU here" in error_message(recipe_files["encoder"], *chosen)
    with pytest.raises(CitewellError, match="is not for a library"):
        library_recipe("encoder")


def test_a_recipe_of_your_own_trains_a_model_of_a_library(small: Library, tmp_path: Path) -> None:
    text = files("citewell.train").joinpath("recipes", "hyperdoc2vec.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("epochs = 5", "epochs = 1").replace("size = 100", "size = 8"))
    about = run_json(tmp_path / "mine.toml", "--library", small.folder)
    assert about["recipe"]["name"] == "mine" and about["recipe"]["parameters"]["size"] == 8
    assert (small.folder / "models" / "mine" / "card.json").exists()


@pytest.mark.parametrize("name", [name for name in recipes() if isinstance(load_recipe(name), LibraryRecipe)])
def test_every_recipe_of_a_library_trains(small: Library, tmp_path: Path, name: str) -> None:
    if "hyperdoc2vec" not in name:
        pytest.importorskip("gensim")
    recipe = load_recipe(name)
    assert isinstance(recipe, LibraryRecipe)

    def few(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {key: few(inner, key) for key, inner in value.items()}
        return {"epochs": 1, "text_epochs": 1, "size": 8, "topics": 5, "passes": 1, "own_passes": 1}.get(key, value)

    quick = msgspec.structs.replace(recipe, parameters=few(recipe.parameters), min_count=1, name="quick")
    (tmp_path / "quick.toml").write_text(as_toml(msgspec.to_builtins(quick)))
    about = run_json(tmp_path / "quick.toml", "--library", small.folder)
    assert about["papers"] == len(small) and about["recipe"]["kind"] == recipe.kind


def as_toml(recipe: dict[str, Any]) -> str:
    """A recipe as TOML; numbers, strings and lists are written as in JSON."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {inline(inner)}" for key, inner in value.items()) + "}"
        return json.dumps(value)

    return "\n".join(f"{key} = {inline(value)}" for key, value in recipe.items() if key != "name")


def test_the_shipped_recipes_of_sets_train(base: Path, set_folder: Path, tmp_path: Path) -> None:
    """With all their settings, except for steps, sizes and initial weights."""
    for needed in ("onnx", "onnxruntime"):
        pytest.importorskip(needed)
    few: dict[str, dict[str, Any]] = {
        "numbers": {"steps": 2, "batch": 8, "hard_batch": 8, "mine_at": [1], "mined": 8, "dev_every": 2, "dev_sample": 5},
        "cross": {"steps": 2, "small_steps": 2, "lists": 2, "length": 4, "layers": [1], "dev_every": 2, "dev_queries": 3},
    }
    pack = tmp_path / "pack.npz"
    for name in ("encoder", "static", "cross-encoder"):
        recipe = tomllib.loads(files("citewell.train").joinpath("recipes", f"{name}.toml").read_text("utf-8"))
        for section in recipe.keys() & few.keys():
            recipe[section] |= {key: value for key, value in few[section].items() if key in recipe[section]}
        path = tmp_path / f"quick-{name}.toml"
        path.write_text(as_toml({**recipe, **({"base": str(base)} if name == "encoder" else {})}))
        start = () if name == "encoder" else ("--encoder", tmp_path / "encoder")
        out = tmp_path / name
        about = run_json(path, "--set", set_folder, "--out", out, "--pack", pack, "--device", "cpu", *start)
        assert about["recipe"] == f"quick-{name}" and set(about["dev"]["small local"]) == {"R@10", "RR"}
        assert about["sets"]["small"]["local"] == 96
        assert not list(out.rglob("checkpoint.pt")) and pack.exists()
    assert {"model.onnx", "inputs.json", "tokenizer.json", "card.json"} <= {
        path.name for path in (tmp_path / "encoder").iterdir()
    }
    assert {"table.npz", "inputs.json", "tokenizer.json", "card.json"} <= {
        path.name for path in (tmp_path / "static").iterdir()
    }
    assert (tmp_path / "cross-encoder" / "weights" / "small" / "model.safetensors").exists()


def test_a_pack_is_made_once_and_checked(recipe_files: dict[str, Path], set_folder: Path, fitted: Path, tmp_path: Path) -> None:
    pack, recipe = tmp_path / "packs" / "small.npz", recipe_files["encoder"]
    about = run_json(recipe, "--set", set_folder, "--pack", pack, "--pack-only")
    assert about["bytes"] == pack.stat().st_size and about["pairs"]["small"]["local"] == 96 and about["papers"] > 60
    made = pack.stat().st_mtime_ns
    assert set(LAYOUT).isdisjoint(json.loads(str(load(pack)["made_of"]))["inputs"]), "packs of earlier versions fit"
    again = invoke(recipe, "--set", set_folder, "--pack", pack, "--pack-only")
    assert pack.stat().st_mtime_ns == made and "pairs" in again.stdout
    assert run_json(recipe, "--pack", pack, "--pack-only") == about, "an existing pack does not need the sets"
    other = tmp_path / "other.toml"
    other.write_text(recipe.read_text().replace("context = 40", "context = 50"))
    assert "was packed from other sets or by another recipe" in error_message(
        other, "--set", set_folder, "--pack", pack, "--pack-only"
    )
    assert "has only 40 tokens per context" in error_message(other, "--pack", pack, "--pack-only")
    pack.write_bytes(b"no pack")
    assert "is not a pack" in error_message(recipe, "--pack", pack, "--pack-only")


def test_sidecars_of_a_published_re_ranker(base: Path, set_folder: Path, tmp_path: Path) -> None:
    recipe = msgspec.to_builtins(load_recipe("medic-textbibenh-ws"))
    path, pack = tmp_path / "quick.toml", tmp_path / "small.npz"
    path.write_text(as_toml({**recipe, "base": str(base)}))
    about = run_json(path, "--set", set_folder, "--pack", pack, "--pack-only")
    assert about["sidecars"] == [str(tmp_path / "small.people.npz"), str(tmp_path / "small.bm25.npz")]
    assert all(Path(made).exists() for made in about["sidecars"])
    assert "small.people.npz (sidecar)" in invoke(path, "--set", set_folder, "--pack", pack, "--pack-only").stdout


def test_the_command_prints_dev_measures_and_removes_temporary_files(
    recipe_files: dict[str, Path], set_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    done = invoke(recipe_files["encoder"], "--set", set_folder, "--out", tmp_path / "mine", "--device", "cpu")
    assert done.exit_code == 0, done.exception
    assert "on dev:" in done.stdout and "small local: R@10 0." in done.stdout
    left = {path.name for path in (tmp_path / "mine").iterdir()}
    assert left - {"training.lock"} == {"model.onnx", "inputs.json", "tokenizer.json", "card.json", "weights"}


PUBLISHED = {
    "textbibenh-ws": """
like = "medic-textbibenh-ws-negatives-prefiltered-strict-after-dense"
base = "{base}"
shape = {{ words = 8, hidden = 4, people = 50, author = 4, channels = 3 }}
negatives = {{ depth = 20, sample = 30 }}
numbers = {{ steps = 2, pairs = 3, negatives = 2, dev_every = 2, dev_queries = 4, dev_depth = 6 }}
""",
    "paragraph": """
like = "medic-paragraph-quadruplet-cls"
base = "{base}"
pairs = {{ tasks = ["paragraph", "global"] }}
numbers = {{ epochs = 1.0, queries = 2, negatives = [1, 1, 1], layers = 1, dev_every = 2, dev_sample = 5 }}
""",
    "classifier": """
like = "nogueira-bert"
base = "{base}"
numbers = {{ steps = 2, pairs = 4, dev_every = 2, dev_queries = 3, dev_depth = 5 }}
""",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_re_rankers_train(name: str, base: Path, set_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    recipe = tmp_path / f"{name}.toml"
    recipe.write_text(PUBLISHED[name].format(base=base))
    done = run_json(recipe, "--set", set_folder, "--out", tmp_path / "models" / name, "--device", "cpu")
    assert done["recipe"] == name
    assert done["dev"] or name == "paragraph", "the small set has no dev paragraphs"
    assert (tmp_path / "models" / name / "model.onnx").is_file() and (tmp_path / "models" / name / "card.json").is_file()
    assert not list((tmp_path / "models" / name).glob("pack*"))


def test_a_recipe_like_another_states_only_the_differences(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('like = "encoder"\nabout = "Mine"\n[numbers]\nsteps = 7\n')
    mine, other = load_recipe(str(path)), load_recipe("encoder")
    assert isinstance(mine, PackRecipe) and isinstance(other, PackRecipe)
    assert mine.numbers == {**other.numbers, "steps": 7} and mine.inputs == other.inputs and mine.about == "Mine"
    path.write_text('like = "magic"\n')
    with pytest.raises(CitewellError, match="there is no such recipe"):
        load_recipe(str(path))
