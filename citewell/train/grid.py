"""Trains many of Medić's models from one pack, several at a time on one machine, and scores candidates with each.

One model uses little of a GPU, and one of his tables has dozens. Each gives a folder of weights and a file of scores, which
`citewell.train.offline_scoring` turns into runs. Finished models are skipped and interrupted ones resumed. ``medic-textenh@2``
trains a recipe with another seed. Needs only numpy and torch::

    python -m citewell.train.grid cs.npz minilm inputs.npz out --workers 14 medic-textcon medic-textenh medic-textenh@2
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from citewell.train.encoder import CHECKPOINT, choose_device
from citewell.train.enhanced_context import fit
from citewell.train.packs import load, save
from citewell.train.recipe_files import content, folder
from citewell.train.score_offline import load_network, score


def load_with_seed(name: str) -> Mapping[str, Any]:
    """The recipe of a name or path, with the seed after an @, if any."""
    plain, _, seed = name.partition("@")
    recipe = content(Path(plain) if plain.endswith(".toml") else folder().joinpath(f"{plain}.toml"))
    return {**recipe, "numbers": {**recipe.get("numbers", {}), **({"seed": int(seed)} if seed else {})}}


def train_and_score(name: str, pack: Path, base: Path, inputs: Path, out: Path, device: str = "") -> float:
    """Train one model and score with it; returns the seconds it took, 0 if the scores existed."""
    started, scores = time.monotonic(), scores_path(name, out)
    if scores.exists():
        return 0.0
    weights = scores.with_suffix("")
    fit(pack, base, load_with_seed(name), weights, device)
    torch.cuda.empty_cache()  # other processes need the memory that training used
    chosen = choose_device(device)
    save(score(load(inputs), load_network(weights, chosen), chosen), scores)
    (weights / CHECKPOINT).unlink(missing_ok=True)  # until here an interrupted training resumes from it
    return time.monotonic() - started


def scores_path(name: str, out: Path) -> Path:
    """The file with the scores of a recipe."""
    return out / f"{Path(name).name.replace('.toml', '').replace('@', '-seed-')}.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train several recipes and score the candidates with each.")
    for name in ("pack", "base", "inputs", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    work = partial(train_and_score, pack=args.pack, base=args.base, inputs=args.inputs, out=args.out)
    failed = False
    # One process per model: a reused process would keep its GPU memory and starve the others.
    with ProcessPoolExecutor(args.workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        names = {pool.submit(work, name): name for name in args.recipes}
        for future in as_completed(names):
            error = future.exception()  # a failed recipe does not stop the others
            failed |= error is not None
            print(f"{names[future]}: {error or f'{future.result():,.0f} s'}", file=sys.stderr, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
