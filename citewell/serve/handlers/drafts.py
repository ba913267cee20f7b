"""Manuscripts: read, checked, and given back with citations in them.

A text that was sent is parsed as it is: whatever file it names, none is opened. Only a zipped project has files of its own, and
those are all that its manuscript can take in (see `uploads`).
"""

from __future__ import annotations

from typing import Any

from citewell.draft import audit, parse, reports, resolve_keys
from citewell.draft.accept import Choice, with_citations
from citewell.draft.entries import assign_keys, with_entries
from citewell.draft.queries import query_context
from citewell.library.library import Library
from citewell.models import claims
from citewell.papers import Draft, Place
from citewell.pipeline.registry import pipeline
from citewell.serve.handlers import Parameters as Given
from citewell.serve.handlers.suggest import paper_number as numbered
from citewell.serve.handlers.uploads import read_upload


def draft(library: Library, given: Given, attached: bytes = b"") -> object:
    """What stands where in a text."""
    return _shown(library, _parsed(given))


def draft_file(library: Library, given: Given, attached: bytes = b"") -> object:
    """What stands where in a file, and the text that the places are in."""
    read = read_upload(given["name"], attached)
    return {**_shown(library, read), "text": read.sources.get("", ""), "files": _others(read)}


def check(library: Library, given: Given, attached: bytes = b"") -> object:
    """What ``citewell check --json`` says, and what could not be checked."""
    read = _parsed(given)
    there = library if len(library) else None
    findings = audit.audit(read, there, claims.load())
    if there is not None:
        audit.suggest(findings, read, there, pipeline("fast"))
    return {**reports.as_json("", findings), "notes": audit.not_looked_at(read)}


def accept(library: Library, given: Given, attached: bytes = b"") -> object:
    """The text with citations in it, and the bibliography with the entries that they need."""
    read = _parsed(given)
    names = list(dict.fromkeys(name for choice in given["choices"] for name in choice["ids"]))
    numbers = {name: numbered(library, name) for name in names}
    papers = library.store.papers(list(numbers.values()))
    chosen = list({papers[number].id: papers[number] for number in numbers.values()}.values())
    cited = {key for citation in read.citations for key in citation.keys}
    by_id = assign_keys(chosen, read.bibliography, cited - read.bibliography.keys())
    keys = {name: by_id[papers[number].id] for name, number in numbers.items()}
    choices = [
        Choice(Place("", choice["begin"], choice["end"]), tuple(keys[name] for name in choice["ids"]))
        for choice in given["choices"]
    ]
    texts = with_citations(read, choices)
    bibliography = with_entries(given["bibliography"], chosen, by_id)
    return {"text": texts.get("", given["text"]), "bibliography": bibliography, "keys": keys}


def _parsed(given: Given) -> Draft:
    return parse(given["text"], given["format"], given["bibliography"])


def _shown(library: Library, read: Draft) -> dict[str, Any]:
    known = resolve_keys(read, library)
    return {
        "format": read.format,
        "title": read.title,
        "abstract": read.abstract,
        "authors": read.authors,
        "paragraphs": [
            {
                **_span(each.place),
                "section": each.section,
                "sentences": [{**_span(s.place), "text": s.text, "cited": s.cited} for s in each.sentences],
            }
            for each in read.paragraphs
        ],
        "citations": [
            {
                **_span(each.place),
                "line": each.place.line,
                "keys": each.keys,
                "papers": [known[key] for key in each.keys if key in known],
                "gap": each.is_gap,
                "context": query_context(each),
                "note": each.note,
            }
            for each in read.citations
        ],
        "bibliography": [
            {"key": key, "title": each.title, "authors": each.authors, "year": each.year, "id": known.get(key)}
            for key, each in read.bibliography.items()
        ],
    }


def _span(place: Place) -> dict[str, Any]:
    return {"file": place.file, "begin": place.begin, "end": place.end}


def _others(read: Draft) -> dict[str, str]:
    """The further files of a project, bibliographies among them."""
    return {name: text for name, text in read.sources.items() if name}
