"""The library itself: what it holds, one paper, papers as files."""

from __future__ import annotations

import io

from citewell import __version__
from citewell.export import write
from citewell.library.library import Library
from citewell.serialize import brief, of_library, of_paper, of_pipelines
from citewell.serve.answering import Given
from citewell.serve.answering.asking import numbered
from citewell.serve.messages import Reply

_MEDIA = {
    "bibtex": ("application/x-bibtex", "papers.bib"),
    "ris": ("application/x-research-info-systems", "papers.ris"),
    "csl": ("application/vnd.citationstyles.csl+json", "papers.json"),
    "jsonl": ("application/jsonl", "papers.jsonl"),
}
"""The media type of each format, and the name that a file of it goes by."""


def health(library: Library, given: Given, attached: bytes = b"") -> object:
    return {"status": "ok", "version": __version__, "papers": len(library)}


def library(library: Library, given: Given, attached: bytes = b"") -> object:
    """What ``citewell library info --json`` says, and how many papers each year has."""
    years = library.store.years()
    found = of_library(library)
    if not given["loopback"]:
        found["folder"] = ""  # nobody elsewhere needs to know
    return {**found, "years": {str(year): count for year, count in years.items()}}


def pipelines(library: Library, given: Given, attached: bytes = b"") -> object:
    return of_pipelines()


def papers(library: Library, given: Given, attached: bytes = b"") -> object:
    """A page of the papers that have every word asked for, the newest first."""
    nums, total = library.store.listed(given["query"].split(), given["since"], given["before"], given["offset"], given["limit"])
    records = library.store.papers(nums)
    return {"total": total, "papers": [brief(records[num]) for num in nums if num in records]}


def paper(library: Library, given: Given, attached: bytes = b"") -> object:
    """What ``citewell show --json`` says."""
    return of_paper(library, numbered(library, given["id"]))


def export(library: Library, given: Given, attached: bytes = b"") -> tuple[Reply, bytes]:
    """Papers as a file."""
    nums = [numbered(library, name) for name in given["ids"]]
    out = io.StringIO()
    write((library.store.whole(num) for num in dict.fromkeys(nums)), given["format"], out)
    media, name = _MEDIA[given["format"]]
    return Reply(media=media, file=name), out.getvalue().encode()
