"""Papers in the formats that other programs read: one module per format, each with ``write(papers, out)``.

The reader of the same name in `citewell.sources` reads the same papers back. Identifiers for which a format has no field go
into a field that other programs ignore.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TextIO

from citewell.errors import CitewellError
from citewell.export import bibtex, csl_json, jsonl, ris
from citewell.papers import Paper

_PRIVATE = ("local:", "record:", "group:")
"""Schemes of identifiers that are meaningless outside of one library."""

FORMATS = {"bibtex": bibtex, "ris": ris, "csl": csl_json, "jsonl": jsonl}


def write(papers: Iterable[Paper], format: str, out: TextIO) -> None:
    """Write `papers` to `out` in one of `FORMATS`."""
    if format not in FORMATS:
        raise CitewellError(f"unknown export format {format!r}; choose one of {', '.join(FORMATS)}")
    if format != "jsonl":
        papers = map(public, papers)
    FORMATS[format].write(papers, out)


def public(paper: Paper) -> Paper:
    """`paper` without the identifiers that are meaningless elsewhere."""
    return replace(paper, ids=[each for each in paper.ids if not each.startswith(_PRIVATE)])
