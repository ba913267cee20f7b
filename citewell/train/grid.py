"""Trains many of Medić's models from one pack in the same steps, and scores candidates with each.

One model uses little of a GPU, and one of his tables has dozens (`citewell.train.stacked_training`). Each gives a folder of
weights and a file of scores for each file of inputs, which `citewell.train.offline_scoring` makes runs of. Finished models are
skipped and an interrupted training resumes; ``medic-textenh@2`` is a recipe with another seed. Needs numpy and torch::

    python -m citewell.train.grid pack.npz words out medic-textcon medic-textenh@2 --inputs cs.npz --inputs elife.npz
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citewell.errors import CitewellError
from citewell.progress import Progress
from citewell.train.card import RECIPE
from citewell.train.encoder import CHECKPOINT, choose_device
from citewell.train.packs import Arrays, load, save
from citewell.train.recipe_files import load as load_recipe
from citewell.train.score_offline import load_network, score
from citewell.train.stacked_training import fit


def load_with_seed(name: str, settings: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The recipe of a name or path, with the seed after an @, if any, and other settings of [numbers]."""
    plain, _, seed = name.partition("@")
    recipe = load_recipe(plain)
    return {**recipe, "numbers": {**recipe.get("numbers", {}), **({"seed": int(seed)} if seed else {}), **(settings or {})}}


def train_and_score(
    names: Sequence[str],
    pack: Path,
    base: Path,
    inputs: Sequence[Path],
    out: Path,
    device: str = "",
    settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Train the models that have no weights yet, and score each of the inputs with all; returns the trained ones."""
    scored = [(path, load(path), [name for name in names if not scores_path(name, path, out).exists()]) for path in inputs]
    for _, arrays, unscored in scored:
        for name in unscored:
            _check_inputs(name, load_with_seed(name), arrays)
    missing = [name for name in names if not (out / label(name) / RECIPE).exists()]
    if missing:
        recipes = [load_with_seed(name, settings) for name in missing]
        fit([label(name) for name in missing], recipes, pack, base, out, device, _Lines())
        (out / CHECKPOINT).unlink(missing_ok=True)  # until here an interrupted training resumes from it
    chosen = choose_device(device)
    for path, arrays, unscored in scored:
        for name in unscored:
            save(score(arrays, load_network(out / label(name), chosen), chosen), scores_path(name, path, out))
    return missing


def _check_inputs(name: str, recipe: Mapping[str, Any], inputs: Arrays) -> None:
    """Raise if a recipe is for other candidates, or for contexts of another length, than the inputs have."""
    first_stage = recipe.get("negatives", {}).get("first_stage", "")
    if first_stage and "first_stage" in inputs and str(inputs["first_stage"]) != first_stage:
        raise CitewellError(
            f"the recipe {name!r} re-ranks {first_stage}, but the inputs have candidates of {inputs['first_stage']};"
            f" make them with --recipe {name.partition('@')[0]}"
        )
    if int(inputs.get("context_characters", 0)) != recipe.get("inputs", {}).get("context_characters", 0):
        raise CitewellError(f"the recipe {name!r} reads contexts of another length; make inputs with that recipe")


def label(name: str) -> str:
    """The folder of a recipe's weights."""
    return Path(name).name.replace(".toml", "").replace("@", "-seed-")


def scores_path(name: str, inputs: Path, out: Path) -> Path:
    """The file with the scores that a recipe's model gives to some inputs."""
    return out / f"{label(name)}.{inputs.name}"


class _Lines(Progress):
    """Prints a line every few steps to standard error."""

    def __init__(self) -> None:
        self._done, self._total = 0, 0

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self._done, self._total = 0, total or 0

    def advance(self, by: int = 1) -> None:
        self._done += by
        if self._done % 100 == 0:
            print(f"{self._done:,} of {self._total:,} steps", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train several recipes at once and score the candidates with each.")
    for name in ("pack", "base", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--inputs", type=Path, action="append", default=[], help="What to score with every model.")
    parser.add_argument("--steps", type=int, help="Steps, in place of those of the recipes.")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        settings = {"steps": args.steps} if args.steps else {}
        trained = train_and_score(args.recipes, args.pack, args.base, args.inputs, args.out, settings=settings)
    except CitewellError as error:
        sys.exit(str(error))
    print(f"{len(trained)} models trained, {len(args.recipes) - len(trained)} were there", file=sys.stderr)


if __name__ == "__main__":
    main()
