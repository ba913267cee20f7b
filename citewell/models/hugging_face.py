"""Models of BERT's kind in Hugging Face's layout, as they are downloaded: made into what is served, once, and kept.

Read are ``config.json``, the weights (``model.safetensors`` or ``pytorch_model.bin``), the tokeniser
(``tokenizer.json``, or ``vocab.txt``) and, where sentence-transformers has left it, ``1_Pooling/config.json``, which tells
whether a text's vector is that of its first token (SPECTER, SciNCL) or the mean of all.
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
_FORMAT = 2
"""Of what is kept; with another one, it is made anew."""
_CONVERTED_BY = ("onnx", "safetensors")


def is_layout(folder: Path) -> bool:
    """Whether a folder holds a model in this layout."""
    return (folder / CONFIG).is_file() and any((folder / name).is_file() for name in (WEIGHTS, OLD_WEIGHTS))


def can_convert(folder: Path) -> bool:
    """Whether what the conversion needs is installed."""
    needed = _CONVERTED_BY if (folder / WEIGHTS).is_file() else (*_CONVERTED_BY, "torch")
    return all(find_spec(name) is not None for name in needed)


def kept(name: str) -> Path:
    """Where a converted model is kept."""
    return user_cache_path("citewell", appauthor=False) / "models" / name


def kept_by_name(name: str) -> Path:
    """Where the model of a folder that can be found by name is kept, once it is converted."""
    return kept(f"{name}@{weights.version(name)}.{_FORMAT}")


def served_by_name(name: str) -> Path:
    """The folder that the model of a folder that can be found by name is served from."""
    return served(weights.folder(name), kept_by_name(name).name)


def served(source: Path, name: str) -> Path:
    """The folder that the model in `source` is served from; made where there is none of this name."""
    folder = kept(name)
    if (folder / MODEL).is_file():
        return folder
    if not can_convert(source):
        extra = "" if (source / WEIGHTS).is_file() else ",train"
        raise CitewellError(
            f"to convert the model in {source} needs more; install it with: pip install 'citewell[dense{extra}]'"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        _convert(source, made)
        try:
            made.rename(folder)
        except OSError:  # another process was faster; what it made is the same
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
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
