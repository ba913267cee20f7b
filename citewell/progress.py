"""Progress of long work: one interface for reading, indexing, encoding, evaluating, training and fetching.

Work reports steps; what shows them (a bar, lines, nothing) is the caller's choice. The base class shows nothing.
"""

from __future__ import annotations


class Progress:
    """Receives the progress of long work and ignores it; subclasses show it."""

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        """A step begins, such as ``"indexing"``, with `total` units to do; None where that is not known."""

    def advance(self, count: int = 1) -> None:
        """`count` more units of the step are done."""

    def update(self, done: int, total: int | None = None) -> None:
        """`done` units of the step are done in all, of `total` where that is known by now."""

    def finish(self) -> None:
        """The step is complete."""

    def message(self, line: str) -> None:
        """A line for the user."""


SILENT = Progress()
