"""Packages that only some commands need, and the extra of citewell that installs each."""

from __future__ import annotations

from importlib.util import find_spec

from citewell.errors import CitewellError

PACKAGES = {
    "ir_measures": ("ir-measures", "evaluate"),
    "matplotlib": ("matplotlib", "evaluate"),
    "scipy": ("scipy", "evaluate"),
    "onnx": ("onnx", "dense"),
    "safetensors": ("safetensors", "dense"),
    "usearch": ("usearch", "dense"),
    "gensim": ("gensim", "train"),
    "lightgbm": ("lightgbm", "train"),
    "torch": ("torch", "train"),
}
"""Module to package and extra."""


def advice(error: ModuleNotFoundError) -> str | None:
    """One line that says how to install the missing package, None if no extra of citewell has it."""
    module = (error.name or "").partition(".")[0]
    if module not in PACKAGES:
        return None
    package, extra = PACKAGES[module]
    return f"this needs {package}, which is not installed; run: pip install 'citewell[{extra}]'"


def require(*modules: str) -> None:
    """Raise `CitewellError` unless all `modules` are installed: before long work, not at its end."""
    for module in modules:
        if find_spec(module) is None:
            raise CitewellError(str(advice(ModuleNotFoundError(name=module))))
