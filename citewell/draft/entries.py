"""Adds papers to the bibliography of a draft: assigns a key to each paper and appends the entries.

Pure functions on text. A paper that the bibliography already has (by an identifier, or by title, year and authors) keeps its
key and is not added again. Existing entries stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from citewell.draft.bibliography import entries
from citewell.draft.resolve import is_same_work
from citewell.export import public
from citewell.export.bibtex import entry
from citewell.export.naming import Citekeys
from citewell.library.store.identity import paper_keys, title_key
from citewell.papers import Paper
from citewell.sources.bibtex_entries import key_span


def assign_keys(papers: Sequence[Paper], bibliography: Mapping[str, Paper], reserved: Iterable[str] = ()) -> dict[str, str]:
    """The citation key of each paper, by paper id: the key of its existing entry, else a new one from author, year and title.

    `reserved` are further keys that a new one must not take, such as keys that the draft cites without an entry.
    """
    by_id: dict[str, str] = {}
    by_title: dict[int, list[str]] = {}
    for key, known in bibliography.items():
        for name in paper_keys(known) if known.ids else ():
            by_id.setdefault(name, key)
        if (title := title_key(known.title)) is not None:
            by_title.setdefault(title, []).append(key)
    new_keys = Citekeys([*bibliography, *reserved])
    keys: dict[str, str] = {}
    for paper in papers:
        if paper.id in keys:
            continue
        existing = next((by_id[name] for name in paper_keys(paper) if name in by_id), None)
        if existing is None:
            same_title = by_title.get(title_key(paper.title) or 0, [])
            existing = next((key for key in same_title if is_same_work(paper, bibliography[key])), None)
        keys[paper.id] = existing or new_keys.key(paper)
    return keys


def with_entries(text: str, papers: Sequence[Paper], keys: Mapping[str, str]) -> str:
    """A BibTeX file with entries for the papers that it lacks appended; `keys` are by paper id."""
    existing = {key.lower() for key, _ in entries(text)} if text.strip() else set()
    added = []
    for paper in papers:
        key = keys[paper.id]
        if key.lower() not in existing:
            existing.add(key.lower())
            added.append(_entry(paper, key))
    if not added:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    separator = "" if not text else newline if text.endswith("\n") else 2 * newline
    return text + separator + newline.join(each.replace("\n", newline) for each in added)


def _entry(paper: Paper, key: str) -> str:
    """The entry of a paper: the user's own, if there is one, else one made of what is known."""
    if paper.verbatim is None:
        return entry(public(replace(paper, abstract="", keywords=[])), key)
    text = paper.verbatim.text.replace("\r\n", "\n")
    begin, end = key_span(text)
    return f"{text[:begin]}{key}{text[end:]}\n"
