"""Manuscripts: parse them, check them, and insert citations.

A text in a request is parsed alone: no file that it names is opened. Only a zipped project has files of its own, and its
manuscript can include only those (see `uploads`).
"""

from __future__ import annotations

from typing import Any

from citewell.draft.manuscript import CiteAt, Manuscript
from citewell.draft.queries import query_context
from citewell.library.library import Library
from citewell.papers import Place
from citewell.serve.handlers import Parameters
from citewell.serve.handlers.suggest import paper_number
from citewell.serve.handlers.uploads import read_upload


def draft(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The structure of a text: paragraphs, citations, gaps, bibliography."""
    return _structure(_manuscript(library, parameters))


def draft_file(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The structure of a file, and the text that its places refer to."""
    manuscript = Manuscript.from_draft(read_upload(parameters["name"], body), library)
    sources = manuscript.draft.sources
    included = {name: text for name, text in sources.items() if name}
    return {**_structure(manuscript), "text": sources.get("", ""), "files": included}


def check(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The same as ``citewell check --json``."""
    return _manuscript(library, parameters).check().to_json()


def accept(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The text with citations inserted, and the bibliography with the entries that they need."""
    choices = parameters["choices"]
    ids = {name: paper_number(library, name) for choice in choices for name in choice["ids"]}
    records = library.store.papers(list(ids.values()))
    manuscript = _manuscript(library, parameters)
    patch = manuscript.accept(*(CiteAt(Place("", choice["begin"], choice["end"]), choice["ids"]) for choice in choices))
    keys = {name: patch.keys[records[number].id] for name, number in ids.items()}
    return {"text": patch.texts.get("", parameters["text"]), "bibliography": patch.bibliography, "keys": keys}


def _manuscript(library: Library, parameters: Parameters) -> Manuscript:
    return Manuscript.from_text(parameters["text"], library, parameters["format"], parameters["bibliography"])


def _structure(manuscript: Manuscript) -> dict[str, Any]:
    draft, papers = manuscript.draft, manuscript.papers
    return {
        "format": draft.format,
        "title": draft.title,
        "abstract": draft.abstract,
        "authors": draft.authors,
        "paragraphs": [
            {
                **_span(each.place),
                "section": each.section,
                "sentences": [{**_span(s.place), "text": s.text, "cited": s.cited} for s in each.sentences],
            }
            for each in draft.paragraphs
        ],
        "citations": [
            {
                **_span(each.place),
                "line": each.place.line,
                "keys": each.keys,
                "papers": [papers[key] for key in each.keys if key in papers],
                "gap": each.is_gap,
                "context": query_context(each),
                "note": each.note,
            }
            for each in draft.citations
        ],
        "bibliography": [
            {"key": key, "title": each.title, "authors": [*map(str, each.authors)], "year": each.year, "id": papers.get(key)}
            for key, each in draft.bibliography.items()
        ],
    }


def _span(place: Place) -> dict[str, Any]:
    return {"file": place.file, "begin": place.begin, "end": place.end}
