"""Readers: one module per file format, each turning a `Source` into Papers, Contexts and Problems.

A reader is a module with three names::

    NAME = "ris"                                   # what people call the format
    def matches(head: bytes) -> bool: ...          # does a file that begins like this hold it?
    def read(source: Source) -> Iterator[Record]: ...

`matches` sees up to 64 KiB of decompressed text and never the file's name. To add a format, add the module and its line in
`READERS`; the first one that matches wins, so the more particular formats stand first.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from citewell.papers import Context, Paper, Problem
from citewell.sources.source import InputError, Source

Record = Paper | Context | Problem

READERS = (
    "zotero",
    "jats",
    "pubmed",
    "acl_anthology",
    "dblp",
    "arxiv_oai",
    "arxiv_atom",
    "openalex",
    "semantic_scholar",
    "arxiv_snapshot",
    "citewell_jsonl",
    "csl_json",
    "ris",
    "bibtex",
)


class Reader(Protocol):
    """What every module named in `READERS` offers."""

    NAME: str

    def matches(self, head: bytes) -> bool: ...

    def read(self, source: Source) -> Iterator[Record]: ...


def reader(name: str) -> Reader:
    """The reader module called `name`."""
    return cast(Reader, import_module(f"citewell.sources.{name}"))


def find_reader(head: bytes) -> Reader | None:
    """The reader for a file that begins with `head`, or None where no format is recognised."""
    return next((found for name in READERS if (found := reader(name)).matches(head)), None)


__all__ = ["READERS", "InputError", "Reader", "Record", "Source", "find_reader", "reader"]
