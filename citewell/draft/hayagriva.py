"""Reads and extends Hayagriva, the YAML bibliographies of Typst: one entry per key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citewell.draft.yaml_text import parse_yaml
from citewell.export.kinds import kind
from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Place
from citewell.sources.clean import text as cleaned
from citewell.sources.clean import year
from citewell.text.names import parse, person

SUFFIXES = (".yml", ".yaml")
_ENTRY = re.compile(r"^([^\s#'\"{}\[\]&*!|>%@`:][^:\n]*|'[^'\n]+'|\"[^\"\n]+\"):[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_SCHEMES = {"doi": "doi", "arxiv": "arxiv", "pmid": "pmid", "pmcid": "pmcid"}
_TYPES = {"article-journal": "article", "book": "book", "chapter": "chapter", "thesis": "thesis", "report": "report"}


def entries(text: str) -> Iterator[tuple[str, Paper]]:
    """The key and the work of each entry; none where the text is not valid YAML."""
    content = parse_yaml(text)
    for key, entry in content.items() if isinstance(content, dict) else ():
        if isinstance(entry, Mapping) and (title := _string(entry.get("title"))):
            paper = Paper(title, authors=_people(entry.get("author")), year=year(str(entry.get("date") or "")))
            paper.venue = _venue(entry.get("parent"))
            numbers = entry.get("serial-number")
            for scheme, value in numbers.items() if isinstance(numbers, Mapping) else ():
                if (name := _SCHEMES.get(str(scheme).lower())) and (identifier := canonical(name, str(value))):
                    paper.ids.append(identifier)
            paper.extra["citekey"] = str(key)
            yield str(key), paper


def places(text: str, name: str) -> dict[str, Place]:
    """The place of each entry, by key."""
    found = list(_ENTRY.finditer(text))
    by_key: dict[str, Place] = {}
    line, last = 1, 0
    for at, match in enumerate(found):
        line += text.count("\n", last, match.start())
        last = match.start()
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        by_key.setdefault(match[1].strip("'\" "), Place(name, match.start(), end, line))
    return by_key


def with_entries(text: str, papers: Sequence[Paper], keys: Mapping[str, str]) -> str:
    """A bibliography with entries for the papers that it lacks appended; `keys` are by paper id."""
    existing = {key for key, _ in entries(text)}
    added = [_entry(paper, keys[paper.id]) for paper in papers if keys[paper.id] not in existing]
    if not added:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    separator = "" if not text else newline if text.endswith("\n") else 2 * newline
    return text + separator + newline.join(each.replace("\n", newline) for each in added)


def _entry(paper: Paper, key: str) -> str:
    """One entry; strings are written as JSON, which is YAML too."""
    type_ = _TYPES.get(kind(paper).csl, "article")
    lines = [
        f"{_quoted(key) if re.search(r'[^A-Za-z0-9_-]', key) else key}:",
        f"  type: {type_}",
        f"  title: {_quoted(paper.title)}",
    ]
    if paper.authors:
        lines += ["  author:", *(f"    - {_quoted(_family_first(name))}" for name in paper.authors)]
    if paper.year is not None:
        lines.append(f"  date: {paper.year}")
    numbers = dict(reversed([each.split(":", 1) for each in paper.ids if each.partition(":")[0] in _SCHEMES]))
    if numbers:
        lines += ["  serial-number:", *(f"    {scheme}: {_quoted(value)}" for scheme, value in numbers.items())]
    if paper.extra.get("pages"):
        lines.append(f"  page-range: {_quoted(paper.extra['pages'].replace('--', '-'))}")
    if paper.venue:
        parent = "proceedings" if kind(paper).csl == "paper-conference" else "periodical"
        lines += ["  parent:", f"    type: {parent}", f"    title: {_quoted(paper.venue)}"]
        lines += [f"    {name}: {_quoted(paper.extra[name])}" for name in ("volume", "issue") if paper.extra.get(name)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _family_first(name: Name) -> str:
    if name.literal:
        return name.literal
    return ", ".join(filter(None, (f"{name.particle} {name.family}".strip(), name.suffix, name.given)))


def _string(value: Any) -> str:
    return cleaned(str((value.get("value") if isinstance(value, Mapping) else value) or ""))


def _venue(parent: Any) -> str:
    first = parent[0] if isinstance(parent, list) and parent else parent
    return _string(first.get("title")) if isinstance(first, Mapping) else ""


def _people(value: Any) -> list[Name]:
    names = value if isinstance(value, list) else [value] if value else []
    return [name for each in names if any(name := _person(each))]


def _person(value: Any) -> Name:
    if isinstance(value, Mapping):
        family, given, suffix, particle = (
            cleaned(str(value.get(part) or "")) for part in ("name", "given-name", "suffix", "prefix")
        )
        return person(family, given, suffix, particle)
    parts = [part.strip() for part in cleaned(str(value)).split(",")]
    if len(parts) == 3:  # Typst writes "Family, Suffix, Given", as BibTeX does
        return person(parts[0], parts[2], parts[1])
    return parse(", ".join(parts))
