"""The published studies as data: their tables, and which of our pipelines is the same method as which row."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import msgspec

from citewell.errors import CitewellError


class Row(msgspec.Struct):
    """One method of a published table."""

    method: str
    values: list[float] = []
    """As printed, one for each column; NaN or none where they could not be had."""
    pipeline: str = ""
    """Our pipeline that is the same method; empty where there is and will be none."""
    settings: dict[str, Any] = {}


class Table(msgspec.Struct):
    """A published table, and what to measure beside it."""

    name: str
    caption: str
    task: str
    measures: list[str]
    columns: list[str]
    rows: list[Row]
    split: str = "test"
    """``dev`` for a table that the study's choices were made on."""
    lenient: bool = False
    """Whether the study puts wanted papers that retrieval missed among the candidates."""


class Study(msgspec.Struct):
    """A published study."""

    citation: str
    about: str
    tables: list[Table]


def names() -> list[str]:
    """The studies at hand."""
    return sorted(path.name.removesuffix(".toml") for path in files(__name__).iterdir() if path.name.endswith(".toml"))


def load(name: str) -> Study:
    """The study called `name`."""
    if name not in names():
        raise CitewellError(f"there is no study {name!r}; choose one of {', '.join(names())}")
    content = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return msgspec.convert(content, Study)
