"""Models trained on a library: arrays in ``DIR/models/NAME``, mapped, and a card that says what they were made from.

The card names the file of arrays that it belongs to and is replaced by a rename, so a reader sees the old model or the new one,
never a mixture. Paper numbers are never reused, so a model stays valid while the library grows: papers that came later have no
vector until it is trained again.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citewell.arrays import Arrays, DamagedFileError, map_arrays
from citewell.errors import CitewellError
from citewell.library.library import Library

CARD = "card.json"


class Card(msgspec.Struct):
    """What a file of arrays is and how it was made."""

    file: str
    bytes: int
    about: dict[str, Any] = {}
    """The recipe, the papers and contexts trained on, the seconds it took, the version of citewell."""


def model_folder(library: Library, name: str) -> Path:
    return library.folder / "models" / name


def read_card(folder: Path) -> Card | None:
    """The card of a folder of arrays, None where there is no readable one."""
    try:
        return msgspec.json.decode((folder / CARD).read_bytes(), type=Card)
    except (OSError, msgspec.DecodeError):
        return None


def load_model(library: Library, name: str) -> Arrays:
    """The arrays of a model; an error says how to train it where it is missing or damaged."""
    folder = model_folder(library, name)
    advice = f"run 'citewell train {name} --library {library.folder}'"
    card = read_card(folder)
    if card is None:
        raise CitewellError(f"{library.folder} has no model {name!r}; {advice}")
    try:
        return _mapped(folder / card.file, card.bytes)
    except DamagedFileError as error:
        raise CitewellError(f"the model {name!r} of {library.folder} is damaged ({error}); {advice}") from None


@lru_cache(maxsize=16)
def _mapped(path: Path, size: int) -> Arrays:
    return map_arrays(path, size)


def untrained(library: Library, name: str) -> int:
    """The number of papers that were added after the model was trained and have no vector."""
    return int((~np.isin(library.index.listed("own"), load_model(library, name)["papers"])).sum())


class TrainedModel(msgspec.Struct):
    """A trained model, and how much of its library it covers."""

    name: str
    papers: int = 0
    """How many papers it was trained on."""
    later: int = 0
    """How many papers were added later and have no vector."""
    damage: str = ""
    """What is wrong with it and how to fix it; the counts are then unknown."""


def trained_models(library: Library) -> list[TrainedModel]:
    """The trained models of a library, by name."""
    models = []
    for folder in sorted((library.folder / "models").glob("*/")):
        if read_card(folder) is not None:
            try:
                papers = len(load_model(library, folder.name)["papers"])
                models.append(TrainedModel(folder.name, papers, untrained(library, folder.name)))
            except CitewellError as error:
                models.append(TrainedModel(folder.name, damage=str(error)))
    return models
