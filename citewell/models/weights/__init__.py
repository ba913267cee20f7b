"""The weights that ship with citewell, a folder each, and where others are found by name."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_WEIGHTS = (".onnx", ".data", ".onnx_data", ".npz", ".json", ".safetensors", ".bin", ".txt")
POOLING = Path("1_Pooling") / "config.json"
"""What sentence-transformers leaves beside a model."""
_SAMPLES, _SAMPLE = 16, 4096
"""Of a file that is told by samples, so many pieces of so many bytes are read."""


def folder(name: str) -> Path:
    """The folder of a model: one of ``$CITEWELL_MODELS``, else the one that ships by this name."""
    given = os.environ.get("CITEWELL_MODELS")
    if given and (Path(given) / name).is_dir():
        return Path(given) / name
    return Path(__file__).parent / name


def version(name: str) -> str:
    """A word for the model's files, by samples of them: other weights, another word. Empty where there is no such folder."""
    here = folder(name)
    if not here.is_dir():
        return ""
    files = sorted(path for path in here.iterdir() if path.suffix in _WEIGHTS and path.name != "card.json")
    files += [here / POOLING] if (here / POOLING).is_file() else []
    return _sampled(tuple((path, stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()]))


@lru_cache(maxsize=32)
def _sampled(files: tuple[tuple[Path, int, int], ...]) -> str:
    found = blake2b(digest_size=4)
    for path, size, _ in files:
        found.update(f"{path.name} {size} ".encode())
        with path.open("rb") as file:
            for at in range(_SAMPLES):
                file.seek(at * max(0, size - _SAMPLE) // max(1, _SAMPLES - 1))
                found.update(file.read(_SAMPLE))
    return found.hexdigest()
