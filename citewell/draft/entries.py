"""Taking papers over into the bibliography of a draft: which key each goes by, and the entries that are appended.

Pure functions on text: the command line and the HTTP API both call them. A paper that the bibliography has already, by an
identifier or by title, year and authors, keeps its key and is not written again; what stands there is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from citewell.draft.bibliography import entries
from citewell.draft.resolve import same_title
from citewell.export import public
from citewell.export.bibtex import entry
from citewell.export.naming import Citekeys
from citewell.library.store.identity import paper_keys, title_key
from citewell.papers import Paper


def keys_for(papers: Sequence[Paper], bibliography: Mapping[str, Paper], taken: Iterable[str] = ()) -> dict[str, str]:
    """The key of each paper, by its id: that of the entry it has already, else one of its own, made of what it is.

    `taken` are further keys that mean something else already, such as those that a draft cites and nobody explains.
    """
    by_name: dict[str, str] = {}
    by_title: dict[int, list[str]] = {}
    for key, known in bibliography.items():
        for name in paper_keys(known) if known.ids else ():
            by_name.setdefault(name, key)
        if (title := title_key(known.title)) is not None:
            by_title.setdefault(title, []).append(key)
    names = Citekeys([*bibliography, *taken])
    keys: dict[str, str] = {}
    for paper in papers:
        if paper.id in keys:
            continue
        found = next((by_name[name] for name in paper_keys(paper) if name in by_name), None)
        if found is None:
            same = by_title.get(title_key(paper.title) or 0, [])
            found = next((key for key in same if same_title(paper, bibliography[key])), None)
        keys[paper.id] = found or names.key(paper)
    return keys


def with_entries(text: str, papers: Sequence[Paper], keys: Mapping[str, str]) -> str:
    """A BibTeX file with the entries that it lacks at its end, each under its key; the rest is as it was."""
    there = {key.lower() for key, _ in entries(text)} if text.strip() else set()
    added = []
    for paper in papers:
        key = keys[paper.id]
        if key.lower() not in there:
            there.add(key.lower())
            added.append(entry(public(replace(paper, abstract="", keywords=[])), key))
    if not added:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    return text + gap + newline.join(each.replace("\n", newline) for each in added)
