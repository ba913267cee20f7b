"""The library: statistics, single papers, and exports."""

from __future__ import annotations

import io
from pathlib import PurePath

from citewell import __version__, serialize
from citewell.export import write
from citewell.library.library import Library
from citewell.serve.handlers import Parameters
from citewell.serve.handlers.suggest import paper_number
from citewell.serve.messages import WorkerResponse

_FORMATS = {
    "bibtex": ("application/x-bibtex", "papers.bib"),
    "ris": ("application/x-research-info-systems", "papers.ris"),
    "csl": ("application/vnd.citationstyles.csl+json", "papers.json"),
    "jsonl": ("application/jsonl", "papers.jsonl"),
}
"""The media type and the file name of each export format."""


def health(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    return {"status": "ok", "version": __version__, "papers": len(library)}


def library(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The output of ``citewell library info --json``, and the number of papers per year."""
    info = serialize.library(library)
    if not parameters["loopback"]:
        info["folder"] = ""  # clients on other machines need not know it
    return {**info, "years": {str(year): count for year, count in library.store.years().items()}}


def pipelines(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    return serialize.pipelines()


def papers(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """One page of the papers that contain all words of the query, the newest first."""
    words, since, before = parameters["query"].split(), parameters["since"], parameters["before"]
    nums, total = library.store.listed(words, since, before, parameters["offset"], parameters["limit"])
    records = library.store.papers(nums)
    return {"total": total, "papers": [serialize.brief(records[num]) for num in nums if num in records]}


def paper(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The output of ``citewell show --json``; of the files that say something of the paper, clients see only the names."""
    record = serialize.paper(library, paper_number(library, parameters["id"]))
    for source in record["sources"]:
        source["source"] = PurePath(source["source"]).name
    return record


def export(library: Library, parameters: Parameters, body: bytes = b"") -> tuple[WorkerResponse, bytes]:
    """Papers as a file."""
    nums = [paper_number(library, name) for name in parameters["ids"]]
    out = io.StringIO()
    write((library.store.whole(num) for num in dict.fromkeys(nums)), parameters["format"], out)
    media_type, file_name = _FORMATS[parameters["format"]]
    return WorkerResponse(media_type=media_type, file_name=file_name), out.getvalue().encode()
