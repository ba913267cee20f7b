"""BERT models in Hugging Face's layout: converted once to the served format and cached.

The files read are ``config.json``, the weights (``model.safetensors`` or ``pytorch_model.bin``), the
tokeniser (``tokenizer.json`` or ``vocab.txt``) and, if sentence-transformers wrote it, ``1_Pooling/config.json``, which says
whether the vector of a text is that of its first token (SPECTER, SciNCL) or the mean of all.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.bert_onnx import CONFIG, OLD_WEIGHTS, WEIGHTS, convert
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.onnx import MODEL, TOKENIZER, by_first_token

VOCABULARY = "vocab.txt"
_FORMAT = 3
"""Version of the converted format; a change converts every model again."""
_CONVERSION_PACKAGES = ("onnx", "safetensors")


def is_layout(folder: Path) -> bool:
    """Whether a folder contains a model in this layout."""
    return (folder / CONFIG).is_file() and any((folder / name).is_file() for name in (WEIGHTS, OLD_WEIGHTS))


def can_convert() -> bool:
    """Whether the packages that the conversion needs are installed."""
    return all(find_spec(name) is not None for name in _CONVERSION_PACKAGES)


def converted_folder(name: str) -> Path:
    """The cache folder of a converted model."""
    return user_cache_path("citewell", appauthor=False) / "models" / name


def converted_folder_by_name(name: str) -> Path:
    """The cache folder of the converted form of the model called `name`."""
    return converted_folder(f"{name}@{weights.fingerprint(name)}.{_FORMAT}")


def convert_by_name(name: str) -> Path:
    """Convert the model called `name` unless that was done before; returns its cache folder."""
    return convert_once(weights.folder(name), converted_folder_by_name(name).name)


def convert_once(source: Path, name: str) -> Path:
    """Convert the model in `source` unless the cache has it under `name`; returns its cache folder."""
    folder = converted_folder(name)
    if (folder / MODEL).is_file():
        return folder
    if not can_convert():
        raise CitewellError(
            f"converting the model in {source} needs more packages; install them with: pip install 'citewell[dense]'"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        converted = Path(scratch) / "model"
        converted.mkdir()
        _convert(source, converted)
        try:
            converted.rename(folder)
        except OSError:  # another process was faster, with the same result
            if not (folder / MODEL).is_file():
                raise
    return folder


def _convert(source: Path, target: Path) -> None:
    _write_tokenizer(source, target)
    convert(source, target / MODEL, by_first_token=by_first_token(source))
    if (source / BUDGETS).is_file():
        shutil.copyfile(source / BUDGETS, target / BUDGETS)


def _write_tokenizer(source: Path, target: Path) -> None:
    if (source / TOKENIZER).is_file():
        shutil.copyfile(source / TOKENIZER, target / TOKENIZER)
        return
    if not (source / VOCABULARY).is_file():
        raise CitewellError(f"{source} has no tokeniser; put {TOKENIZER} or {VOCABULARY} there")
    from tokenizers import BertWordPieceTokenizer

    settings = source / "tokenizer_config.json"
    lowercase = _read(settings).get("do_lower_case", True) if settings.is_file() else True
    BertWordPieceTokenizer(str(source / VOCABULARY), lowercase=bool(lowercase)).save(str(target / TOKENIZER))


def _read(path: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return settings
