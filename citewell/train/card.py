"""The records in a folder of trained weights (recipe, token budgets, pairs per set), and the card of the served model.

Needs only numpy.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from citewell import __version__
from citewell.files import write_atomically
from citewell.models.inputs import Inputs
from citewell.train.curve import dev_figures
from citewell.train.packs import SPLITS, TASKS, Arrays

RECIPE, SETS, CARD = "recipe.json", "sets.json", "card.json"
TOKENIZER = "tokenizer.json"
LICENCE = "Apache-2.0"


def write_record(folder: Path, inputs: Inputs, recipe: Mapping[str, Any], arrays: Arrays, base: Path) -> None:
    """Write the recipe, the sets and the tokeniser next to the trained weights."""
    inputs.write(folder)
    if (base / TOKENIZER).exists():
        shutil.copyfile(base / TOKENIZER, folder / TOKENIZER)
    write_json(folder / SETS, pairs_by_set(arrays))
    write_json(folder / RECIPE, recipe)


def write_card(weights: Path, target: Path, what: str) -> None:
    """Write the card of the model served from `target`, from the records in the folder of its weights."""
    card = {
        "what": what,
        "recipe": _read(weights / RECIPE),
        "sets": _read(weights / SETS),
        "dev": dev_figures(weights),
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(target / CARD, card)


def pairs_by_set(arrays: Arrays) -> dict[str, dict[str, int]]:
    """The number of training pairs (a query and a relevant paper) per set and task."""
    counts = np.diff(arrays["question_wanted_at"])
    train = arrays["question_split"] == SPLITS.index("train")
    pairs: dict[str, dict[str, int]] = {}
    for place, name in enumerate(arrays["sets"].tolist()):
        for at, task in enumerate(TASKS):
            for sentences, kind in enumerate(("", " sentences")):
                here = (arrays["question_set"] == place) & (arrays["question_task"] == at)
                here &= (arrays["question_sentences"] == sentences) & train
                if here.any():
                    pairs.setdefault(name, {})[f"{task}{kind}"] = int(counts[here].sum())
    return pairs


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, (json.dumps(value, indent=1) + "\n").encode(), durable=False)


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
