"""What a draft's citation keys mean: papers of the library.

An entry of the draft's bibliography is looked up by its identifiers, then by its title, where year and authors agree. A key
without an entry is looked up as the name that a library's paper goes by: its id, or the key that it came with.
"""

from __future__ import annotations

from citewell.library.library import Library
from citewell.library.store.identity import paper_keys, same_years
from citewell.papers import Draft, Paper
from citewell.text.names import families


def resolved(draft: Draft, library: Library) -> dict[str, str]:
    """The id of the library's paper that each key means, of those that the draft cites or its bibliography holds."""
    keys = dict.fromkeys([*(key for slot in draft.slots for key in slot.keys), *draft.bibliography])
    numbers = {}
    for key in keys:
        entry = draft.bibliography.get(key)
        number = found(entry, library) if entry is not None else library.store.named(key)
        if number is not None:
            numbers[key] = number
    papers = library.store.papers(list(numbers.values()))
    return {key: papers[number].id for key, number in numbers.items() if number in papers}


def found(entry: Paper, library: Library) -> int | None:
    """The number of the library's paper that a bibliographic record describes."""
    number = library.store.identified(paper_keys(entry))
    if number is not None or not entry.title:
        return number
    candidates = library.store.papers(library.store.titled(entry.title))
    return next((number for number, paper in candidates.items() if same_title(entry, paper)), None)


def same_title(one: Paper, other: Paper) -> bool:
    """Whether two works of one title agree in what both say of year and authors, and say something of one of these."""
    agree = []
    if one.year is not None and other.year is not None:
        agree.append(same_years([one.year], [other.year]))
    if one.authors and other.authors:
        agree.append(not families(one.authors).isdisjoint(families(other.authors)))
    return bool(agree) and all(agree)
