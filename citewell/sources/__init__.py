"""Readers: one module per file format, each turning a `Source` into Papers, Contexts and Problems.

A reader is a module, or any object, with these names::

    NAME = "RIS"                                   # the name of the format, for people
    PRIORITY = 30                                  # readers with a higher one see the file first (default: 0)
    def matches(head: bytes) -> bool: ...          # is a file that begins like this in the format?
    def read(source: Source) -> Iterator[Record]: ...

`matches` sees up to 64 KiB of decompressed content and never the name of the file. To add a format, add the module and its line
under ``[project.entry-points."citewell.readers"]`` in pyproject.toml; another package registers a reader in the same group.
"""

from __future__ import annotations

from citewell.sources.registry import Reader, Record, find_reader, reader, reader_names, readers
from citewell.sources.source import InputError, Source

__all__ = ["InputError", "Reader", "Record", "Source", "find_reader", "reader", "reader_names", "readers"]
