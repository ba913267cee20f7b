"""Sidecar files of a pack, which refer to its queries and papers by number.

The recipes of published re-rankers need up to two: the authors and citation years of the papers, and the candidates of a first
stage. `make_sidecars` makes the missing ones from the sets; a machine that only trains gets them with the pack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from citewell.models.enhanced_context import Shape
from citewell.progress import SILENT, Progress
from citewell.train.packs import Arrays, load

AUTHORS = "people"
_LISTED = 4
"""Dev queries with a list for each that is measured: recipes that measure others share the lists, and strict ones choose."""


def sidecar_path(pack: Path, name: str) -> Path:
    """The sidecar `name` of a pack."""
    return pack.with_name(f"{pack.name.removesuffix('.npz')}.{name}.npz")


def pack_fingerprint(arrays: Arrays) -> str:
    """Fingerprint of the queries and papers of a pack."""
    state = blake2b(digest_size=8)
    for name in ("question_date", "question_wanted", "paper_date"):
        state.update(arrays[name].astype("int32").tobytes())
    return state.hexdigest()


def make_sidecars(
    pack: Path,
    sets: Sequence[Path],
    recipe: Mapping[str, Any],
    progress: Progress = SILENT,
) -> list[Path]:
    """Make the sidecars that a recipe needs for a pack of these sets; existing ones are kept."""
    from citewell.train import authors, prefilter

    numbers, negatives = recipe.get("numbers", {}), recipe.get("negatives", {})
    paths = []
    if recipe.get("shape") and Shape(variant=recipe["shape"].get("variant", Shape.variant)).parts.bibliography:
        path = sidecar_path(pack, AUTHORS)
        size = int(recipe["shape"].get("people", Shape.people))
        paths.append(path if _fits(path, pack, people=size) else authors.write(pack, sets, size))
    if first_stage := negatives.get("first_stage") or numbers.get("first_stage"):
        depth = int(negatives.get("depth", max(numbers.get("top", 0), numbers.get("dev_depth", 0))))
        sample = int({**numbers, **negatives}.get("sample", 0))
        dev_sample = _LISTED * int(numbers.get("dev_queries", 0))
        kept = int(negatives.get("kept", 0))
        task = numbers.get("task", "local")
        lists = prefilter.prefilter(
            pack,
            sets,
            task,
            first_stage,
            depth,
            sample,
            kept,
            context_characters=int(recipe.get("inputs", {}).get("context_characters", 0)),
            progress=progress,
            dev_sample=dev_sample,
        )
        paths.append(lists)
    return paths


def _fits(path: Path, pack: Path, **numbers: int) -> bool:
    if not path.exists():
        return False
    arrays = load(path)
    return str(arrays["pack"]) == pack_fingerprint(load(pack)) and all(
        int(arrays[name]) == value for name, value in numbers.items()
    )
