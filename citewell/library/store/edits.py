"""Which records of a file are edited versions of records that it had before.

Only records without a name of their own are matched here: a citation key tells at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from citewell.library.store.identity import paper_keys, title_key, title_overlap
from citewell.library.store.statements import Statement
from citewell.papers import Paper
from citewell.text.author_terms import families

_OVERLAP = 0.5
"""The share of the words of two titles that edited versions have in common at least."""
_MAX_CANDIDATES = 100
"""How many records with the same identifier, title or author are compared."""


def pair(records: Sequence[tuple[Paper, Statement]], former: Sequence[tuple[Paper, Statement]]) -> dict[int, Statement]:
    """The earlier statement of each record that has one, by the `id()` of the record; each is used once.

    Two records belong together if they share an identifier or a title, or an author and most words of the title. Of several,
    the one that is nearest in the file is chosen.
    """
    by_clue: dict[object, list[tuple[Paper, Statement]]] = defaultdict(list)
    for each in former:
        for clue in _clues(each[0]):
            by_clue[clue].append(each)
    matches: dict[int, Statement] = {}
    used: set[int] = set()
    for paper, statement in records:
        candidates = {id(each): each for clue in _clues(paper) for each in by_clue.get(clue, ())[:_MAX_CANDIDATES]}
        near = sorted(candidates.values(), key=lambda pair: abs(pair[1].position - statement.position))
        match = next((each for each in near if id(each) not in used and _same_record(paper, each[0])), None)
        if match is not None:
            matches[id(paper)] = match[1]
            used.add(id(match))
    return matches


def _clues(paper: Paper) -> list[object]:
    """What a record is looked up by: its identifiers, its title and the family names of its authors."""
    ids = [key for key in paper_keys(paper) if not key.startswith("record:")]
    return [*ids, title_key(paper.title), *(("author", family) for family in families(paper.authors))]


def _same_record(new: Paper, old: Paper) -> bool:
    ids = set(paper_keys(new)) & set(paper_keys(old))
    if ids or (title_key(new.title) is not None and title_key(new.title) == title_key(old.title)):
        return True
    return title_overlap(new.title, old.title) >= _OVERLAP and not families(new.authors).isdisjoint(families(old.authors))
