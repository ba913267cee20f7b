"""Resolves the citation keys of a draft to papers of the library.

An entry of the draft's bibliography is looked up by its identifiers, then by its title, where year and authors agree. A key
without an entry is looked up as the name of a paper in the library: its id, or the key it was imported with.
"""

from __future__ import annotations

from citewell.library.library import Library
from citewell.library.store.identity import paper_keys, same_years
from citewell.papers import Draft, Paper
from citewell.text.author_terms import families


def resolve_keys(draft: Draft, library: Library) -> dict[str, str]:
    """The id of the library's paper for each key that the draft cites or its bibliography has; unknown keys are absent."""
    numbers = {}
    for key in dict.fromkeys([*draft.cited_keys, *draft.bibliography]):
        entry = draft.bibliography.get(key)
        number = find_paper(entry, library) if entry is not None else library.store.named(key)
        if number is not None:
            numbers[key] = number
    papers = library.store.papers(list(numbers.values()))
    return {key: papers[number].id for key, number in numbers.items() if number in papers}


def find_paper(entry: Paper, library: Library) -> int | None:
    """The number of the library's paper that a bibliographic record describes."""
    number = library.store.identified(paper_keys(entry))
    if number is not None or not entry.title:
        return number
    candidates = library.store.papers(library.store.titled(entry.title))
    return next((number for number, paper in candidates.items() if is_same_work(entry, paper)), None)


def is_same_work(one: Paper, other: Paper) -> bool:
    """Whether two records with one title agree in year and authors, as far as both have these; they must share one."""
    agreements = []
    if one.year is not None and other.year is not None:
        agreements.append(same_years([one.year], [other.year]))
    if one.authors and other.authors:
        agreements.append(not families(one.authors).isdisjoint(families(other.authors)))
    return bool(agreements) and all(agreements)
