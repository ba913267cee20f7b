"""citewell's own JSON lines: all data of each paper, followed by the contexts in which it cites others.

This is the format of data sets, and it is lossless: `citewell.sources.citewell_jsonl` reads the same papers back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from citewell.identifiers import recognise
from citewell.papers import Context, Name, Paper, Reference, Sentence
from citewell.text.names import compact


def write(papers: Iterable[Paper], out: TextIO) -> None:
    encode = msgspec.json.Encoder().encode
    for paper in papers:
        out.write(encode(_paper(paper)).decode() + "\n")
        for context in paper.contexts:
            out.write(encode(_context(context, paper)).decode() + "\n")


def _paper(paper: Paper) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": paper.id,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": json_names(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "references": [_reference(each) for each in paper.references],
    }
    more = {
        "doi": next((each.removeprefix("doi:") for each in paper.ids if each.startswith("doi:")), ""),
        "ids": paper.ids,
        "date": paper.date,
        "keywords": paper.keywords,
        "sentences": [json_sentence(each) for each in paper.sentences],
        "extra": paper.extra,
        "people": {role: json_names(names) for role, names in paper.people.items()},
    }
    return record | {name: value for name, value in more.items() if value}


def json_names(names: Iterable[Name]) -> list[str | dict[str, str]]:
    """Readable names; those of which `parse` would make another name are objects with their parts."""
    return [short if isinstance(short, str) else _parts(short) for short in map(compact, names)]


def _parts(name: Name) -> dict[str, str]:
    parts = {field: value for field, value in name._asdict().items() if value}
    return parts if name.literal else parts | {"particle": name.particle}


def _reference(reference: Reference) -> str | dict[str, Any]:
    """Only the id if that is all we know and its scheme is recognisable; else all known fields."""
    bare = len(reference.ids) == 1 and not (reference.title or reference.year or reference.authors)
    if bare and recognise(reference.ids[0]) == reference.ids[0]:
        return reference.ids[0]
    known = {"ids": reference.ids, "title": reference.title, "year": reference.year, "authors": reference.authors}
    return {name: value for name, value in known.items() if value}


def json_sentence(sentence: Sentence) -> str | dict[str, str | int]:
    """Only the text if the source has neither sections nor paragraphs."""
    more: dict[str, str | int] = {"section": sentence.section, "paragraph": sentence.paragraph}
    known = {name: value for name, value in more.items() if value}
    return {"text": sentence.text, **known} if known else sentence.text


def _context(context: Context, paper: Paper) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": context.id,
        "citing": paper.id or next(iter(paper.ids), ""),
        "cited": [_reference(each) for each in context.cited],
        "text": context.text,
        "section": context.section,
    }
    # Without this, a paper whose id has no scheme and whose ids belong to another namespace could not be identified again.
    if paper.ids and recognise(record["citing"]) not in paper.ids:
        record["citing_ids"] = paper.ids[:1]
    return record
