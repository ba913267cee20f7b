"""What a folder of trained weights says of itself: recipe, budgets, pairs of each set; and the card of what is made of them.

Only numpy is needed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from citewell import __version__
from citewell.models.inputs import Inputs
from citewell.train.curve import dev_figures
from citewell.train.packs import SPLITS, TASKS, Arrays

RECIPE, SETS, CARD = "recipe.json", "sets.json", "card.json"
TOKENIZER = "tokenizer.json"
LICENCE = "Apache-2.0"


def write_about(folder: Path, inputs: Inputs, recipe: Mapping[str, Any], arrays: Arrays, base: Path) -> None:
    """Leave beside the weights what they were made of, and the tokeniser of the weights that they started from."""
    inputs.write(folder)
    if (base / TOKENIZER).exists():
        shutil.copyfile(base / TOKENIZER, folder / TOKENIZER)
    write_json(folder / SETS, pairs_by_set(arrays))
    write_json(folder / RECIPE, recipe)


def write_card(weights: Path, target: Path, what: str) -> None:
    """The card of a model that is served from `target`, of what is known in the folder of its weights."""
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
    """Of each set and task how many questions with one of their answers there are to train on."""
    counts = np.diff(arrays["question_wanted_at"])
    train = arrays["question_split"] == SPLITS.index("train")
    found: dict[str, dict[str, int]] = {}
    for place, name in enumerate(arrays["sets"].tolist()):
        for at, task in enumerate(TASKS):
            for sentences, kind in enumerate(("", " sentences")):
                here = (arrays["question_set"] == place) & (arrays["question_task"] == at)
                here &= (arrays["question_sentences"] == sentences) & train
                if here.any():
                    found.setdefault(name, {})[f"{task}{kind}"] = int(counts[here].sum())
    return found


def write_json(path: Path, value: Any) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    part.rename(path)


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
