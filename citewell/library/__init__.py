"""The library: SQLite as the only truth, and an index of immutable segments derived from it."""

from citewell.library.library import Library

__all__ = ["Library"]
