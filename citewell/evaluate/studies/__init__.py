"""Published studies as data: their tables, for each row the pipeline that is the same method, and their other analyses."""

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
    abstracts_only: bool = False
    """Whether the study leaves papers that have only a title out of its collection."""
    found_by: str = ""
    """Our pipeline for the first stage of the study, if it asks only the queries whose relevant paper that stage retrieves."""


class Published(msgspec.Struct, forbid_unknown_fields=True):
    """The figures of an analysis as the study prints them."""

    columns: list[str]
    """The first column names the row."""
    rows: list[list[str | float]]


class Analysis(msgspec.Struct, forbid_unknown_fields=True):
    """A figure or an experiment of a study that is not a table of pipelines."""

    name: str
    caption: str
    analysis: str
    """The name of ours: a key of `citewell.evaluate.analyses.ANALYSES`."""
    task: str = ""
    """Only sets that have this task; empty: every set."""
    split: str = "test"
    settings: dict[str, Any] = {}
    """What the study chose; the analysis documents its settings."""
    published: Published | None = None
    percent: bool = False
    """Whether the study prints percentages; ours are then percentages too."""


class Study(msgspec.Struct):
    """A published study."""

    citation: str
    about: str
    tables: list[Table]
    analyses: list[Analysis] = []


def names() -> list[str]:
    """The available studies."""
    return sorted(path.name.removesuffix(".toml") for path in files(__name__).iterdir() if path.name.endswith(".toml"))


def load(name: str) -> Study:
    """The study called `name`."""
    if name not in names():
        raise CitewellError(f"there is no study {name!r}; choose one of {', '.join(names())}")
    content = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return msgspec.convert(content, Study)
