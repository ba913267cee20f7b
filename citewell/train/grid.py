"""Many of Medić's models from one pack, several at a time on one machine, each of which marks an examination.

A model takes little of a GPU, and a table of his has dozens. Each becomes a folder of weights and a file of marks beside it
(`citewell.train.offline_scoring` makes runs of them); what is done is not done again, and what was killed goes on. A recipe
may be trained once more with another seed: ``medic-textenh@2``. Only numpy and torch are needed::

    python -m citewell.train.grid cs.npz minilm exam.npz out --workers 14 medic-textcon medic-textenh medic-textenh@2
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

from citewell.train.encoder import CHECKPOINT, device_called
from citewell.train.enhanced_context import fit
from citewell.train.packs import load, save
from citewell.train.recipe_files import content, folder
from citewell.train.score_offline import marks, network


def recipe_called(name: str) -> Mapping[str, Any]:
    """The recipe of a name, or of a path, with the seed that stands behind an @."""
    plain, _, seed = name.partition("@")
    found = content(Path(plain) if plain.endswith(".toml") else folder().joinpath(f"{plain}.toml"))
    return {**found, "numbers": {**found.get("numbers", {}), **({"seed": int(seed)} if seed else {})}}


def train_and_mark(name: str, pack: Path, base: Path, exam: Path, out: Path, device: str = "") -> float:
    """One model and its marks; how many seconds it took, 0 where the marks were there."""
    started, done = time.monotonic(), marks_of(name, out)
    if done.exists():
        return 0.0
    weights = done.with_suffix("")
    fit(pack, base, recipe_called(name), weights, device)
    torch.cuda.empty_cache()  # what training held and marking does not need, others do
    chosen = device_called(device)
    save(marks(load(exam), network(weights, chosen), chosen), done)
    (weights / CHECKPOINT).unlink(missing_ok=True)  # until here one that was killed goes on from it
    return time.monotonic() - started


def marks_of(name: str, out: Path) -> Path:
    """The file with the marks of a recipe."""
    return out / f"{Path(name).name.replace('.toml', '').replace('@', '-seed-')}.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train several recipes, and have each model mark an examination.")
    for name in ("pack", "base", "exam", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("recipes", nargs="+")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    work = partial(train_and_mark, pack=given.pack, base=given.base, exam=given.exam, out=given.out)
    failed = False
    # A process a model: one that went on to the next would keep what it ever held of the GPU's memory, and starve the others.
    with ProcessPoolExecutor(given.workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        names = {pool.submit(work, name): name for name in given.recipes}
        for future in as_completed(names):
            error = future.exception()  # of one recipe; the others go on
            failed |= error is not None
            print(f"{names[future]}: {error or f'{future.result():,.0f} s'}", file=sys.stderr, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
