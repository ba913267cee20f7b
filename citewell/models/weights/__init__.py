"""The weights that ship with citewell, one folder per model, and where to find others by name."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_WEIGHT_FILES = (".onnx", ".data", ".onnx_data", ".npz", ".json", ".safetensors", ".bin", ".txt")
POOLING = Path("1_Pooling") / "config.json"
"""The file that sentence-transformers writes next to a model."""
_SAMPLES, _SAMPLE = 16, 4096
"""How many samples of a file are hashed, and how many bytes each has."""


def model_folders() -> list[Path]:
    """The folders that are searched for models: those of ``$CITEWELL_MODELS``, then the user's; new models go to the first."""
    from platformdirs import user_data_path  # machines that only train do not have it

    named = os.environ.get("CITEWELL_MODELS", "").split(os.pathsep)
    return [*(Path(each) for each in named if each), user_data_path("citewell", appauthor=False) / "models"]


def folder(name: str) -> Path:
    """The folder of a model: the first one in `model_folders`, otherwise the one that ships."""
    shipped = Path(__file__).parent / name
    return next((models / name for models in model_folders() if _is_readable_folder(models / name)), shipped)


def _is_readable_folder(path: Path) -> bool:
    """False, not an error, where the data folder is that of another user."""
    return os.access(path, os.R_OK | os.X_OK) and path.is_dir()


def fingerprint(name: str) -> str:
    """Fingerprint of the model files, hashed from samples of them; empty if the folder does not exist."""
    here = folder(name)
    if not here.is_dir():
        return ""
    files = sorted(path for path in here.iterdir() if path.suffix in _WEIGHT_FILES and path.name != "card.json")
    files += [here / POOLING] if (here / POOLING).is_file() else []
    return _hash_samples(tuple((path, stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()]))


@lru_cache(maxsize=32)
def _hash_samples(files: tuple[tuple[Path, int, int], ...]) -> str:
    digest = blake2b(digest_size=4)
    for path, size, _ in files:
        digest.update(f"{path.name} {size} ".encode())
        with path.open("rb") as file:
            for at in range(_SAMPLES):
                file.seek(at * max(0, size - _SAMPLE) // max(1, _SAMPLES - 1))
                digest.update(file.read(_SAMPLE))
    return digest.hexdigest()
