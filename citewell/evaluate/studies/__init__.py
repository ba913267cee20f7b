"""Published studies as data: their tables, and for each row the pipeline that is the same method."""

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
    """As printed, one for each column; NaN or none if they are not available."""
    pipeline: str = ""
    """Our pipeline that is the same method; empty if there is none."""
    settings: dict[str, Any] = {}


class Table(msgspec.Struct):
    """A published table, and the measures to show next to it."""

    name: str
    caption: str
    task: str
    measures: list[str]
    columns: list[str]
    rows: list[Row]
    split: str = "test"
    """``dev`` for a table that the study used to make choices."""
    lenient: bool = False
    """Whether the study adds relevant papers that retrieval missed to the candidates, before they are re-ranked."""
    percent: bool = False
    """Whether the study prints percentages; ours are then percentages too."""
    found_by: str = ""
    """Our pipeline for the first stage of the study, if it asks only the queries whose relevant paper that stage retrieves."""


class Study(msgspec.Struct):
    """A published study."""

    citation: str
    about: str
    tables: list[Table]


def names() -> list[str]:
    """The available studies."""
    return sorted(path.name.removesuffix(".toml") for path in files(__name__).iterdir() if path.name.endswith(".toml"))


def load(name: str) -> Study:
    """The study called `name`."""
    if name not in names():
        raise CitewellError(f"there is no study {name!r}; choose one of {', '.join(names())}")
    content = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return msgspec.convert(content, Study)
