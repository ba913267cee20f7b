"""The order of the systems: random for each context and judge, and the same whenever this judge comes back."""

from __future__ import annotations

from hashlib import blake2b

from citewell.user_study.study import Settings

LABELS = "ABCDEF"
"""The headings of the columns."""


def column_order(settings: Settings, judge: str, context: str) -> list[str]:
    """The systems from left to right for one judge and context.

    Sorting by a hash gives every order the same probability, and needs nothing stored.
    """

    def key(system: str) -> bytes:
        parts = (str(settings.seed), judge.casefold(), context, system)
        return blake2b("\x00".join(parts).encode(), digest_size=16).digest()

    return sorted(settings.systems, key=key)
