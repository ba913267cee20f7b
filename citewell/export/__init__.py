"""Papers in the formats that other programs read: one module per format, each with ``write(papers, out)``.

What is written here is read back by the reader of the same name in `citewell.sources` as the same papers; identifiers for which
a format has no field of its own travel in one that other programs leave alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TextIO

from citewell.errors import CitewellError
from citewell.export import bibtex, csl_json, jsonl, ris
from citewell.papers import Paper

_PRIVATE = ("local:", "record:")
"""Schemes of identifiers that mean nothing outside the library they were given in."""

FORMATS = {"bibtex": bibtex, "ris": ris, "csl": csl_json, "jsonl": jsonl}


def write(papers: Iterable[Paper], format: str, out: TextIO) -> None:
    """Write `papers` to `out`, one after the other, in one of `FORMATS`."""
    if format not in FORMATS:
        raise CitewellError(f"{format!r} is no export format; choose one of {', '.join(FORMATS)}")
    if format != "jsonl":
        papers = map(public, papers)
    FORMATS[format].write(papers, out)


def public(paper: Paper) -> Paper:
    """`paper` without the identifiers that nobody else knows."""
    return replace(paper, ids=[each for each in paper.ids if not each.startswith(_PRIVATE)])
