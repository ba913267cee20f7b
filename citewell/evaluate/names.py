"""From the names of papers to their numbers in one library, and back."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from citewell.identifiers import recognise
from citewell.library import Library
from citewell.sources.citewell_jsonl import Naming


class Names:
    """The names of one library's papers. Ids are cached: an evaluation looks up millions of them."""

    def __init__(self, library: Library, naming: Naming) -> None:
        self._db = library.store.db
        self._naming = naming
        self._ids: dict[int, str] = {}

    def number(self, name: str) -> int | None:
        """The paper called `name`: an identifier, or the id in its set, also if the paper was merged with another."""
        for key in dict.fromkeys((recognise(name) or name, name, f"id={name}", self._naming(name))):
            number = self._db.execute("SELECT min(paper) FROM ids WHERE key = ?", (key,)).fetchone()[0]
            if number is not None:
                return int(number)
        return None

    def numbers(self, names: Iterable[str]) -> list[int]:
        """The papers with these names, without duplicates."""
        return list(dict.fromkeys(number for name in names if (number := self.number(name)) is not None))

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """The ids of these papers in rankings."""
        numbers = list(numbers)
        ids = self._ids
        if missing := [number for number in numbers if number not in ids]:
            ids.update(
                self._db.execute(
                    "SELECT num, id FROM papers WHERE num IN (SELECT value FROM json_each(?))",
                    (msgspec.json.encode(missing).decode(),),
                )
            )
        return [ids[number] for number in numbers]
