"""From the names of papers to their numbers in one library, and back."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from citewell.identifiers import recognise
from citewell.library import Library
from citewell.sources.citewell_jsonl import Naming


class Names:
    """The names of one library's papers, remembered once they were asked for: an evaluation asks for millions."""

    def __init__(self, library: Library, naming: Naming) -> None:
        self._db = library.store.db
        self._naming = naming
        self._ids: dict[int, str] = {}

    def number(self, name: str) -> int | None:
        """The paper that goes by `name`: an identifier, or the id that its set gave it, also where it was merged."""
        for key in dict.fromkeys((recognise(name) or name, name, f"id={name}", self._naming(name))):
            found = self._db.execute("SELECT min(paper) FROM ids WHERE key = ?", (key,)).fetchone()[0]
            if found is not None:
                return int(found)
        return None

    def numbers(self, names: Iterable[str]) -> list[int]:
        """The papers that go by these names, each once."""
        return list(dict.fromkeys(number for name in names if (number := self.number(name)) is not None))

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """What rankings call these papers."""
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
