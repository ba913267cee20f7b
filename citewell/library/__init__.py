"""The library: papers in SQLite, and an index of immutable segments derived from them."""

from citewell.library.library import Library

__all__ = ["Library"]
