"""Files that lie beside a pack and speak of its questions and papers by their numbers there.

A recipe of a published re-ranker needs up to two: who wrote the papers and when they were cited, and what a first stage finds.
`make` makes those that are missing, from the sets; a machine that only trains is handed them with the pack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.models.enhanced_context import Shape
from citewell.train.packs import Arrays, load

if TYPE_CHECKING:
    from citewell.evaluate.outcomes import Watcher
    from citewell.library.add import Progress

PEOPLE = "people"


def beside(pack: Path, name: str) -> Path:
    """The file of this name that belongs to a pack."""
    return pack.with_name(f"{pack.name.removesuffix('.npz')}.{name}.npz")


def word(arrays: Arrays) -> str:
    """A word for the questions and papers of a pack: of another pack, another word."""
    found = blake2b(digest_size=8)
    for name in ("question_date", "question_wanted", "paper_date"):
        found.update(arrays[name].astype("int32").tobytes())
    return found.hexdigest()


def make(
    pack: Path,
    sets: Sequence[Path],
    recipe: Mapping[str, Any],
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> list[Path]:
    """The files that a recipe needs beside a pack, which was made of these sets; those that are there stay as they are."""
    from citewell.train import authors as people
    from citewell.train import prefilter

    numbers, negatives = recipe.get("numbers", {}), recipe.get("negatives", {})
    made = []
    if recipe.get("shape") and Shape(variant=recipe["shape"].get("variant", Shape.variant)).parts.bibliography:
        path = beside(pack, PEOPLE)
        size = int(recipe["shape"].get("people", Shape.people))
        made.append(path if _fits(path, pack, people=size) else people.write(pack, sets, size))
    if first_stage := negatives.get("first_stage") or numbers.get("first_stage"):
        depth = int(negatives.get("depth", max(numbers.get("top", 0), numbers.get("dev_depth", 0))))
        sample = int({**numbers, **negatives}.get("sample", 0))
        made.append(
            prefilter.prefilter(
                pack, sets, numbers.get("task", "local"), first_stage, depth, sample, progress=progress, watcher=watcher
            )
        )
    return made


def _fits(path: Path, pack: Path, **numbers: int) -> bool:
    if not path.exists():
        return False
    found = load(path)
    return str(found["pack"]) == word(load(pack)) and all(int(found[name]) == value for name, value in numbers.items())
