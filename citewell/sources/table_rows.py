"""The rows of a table with a header (CSV or TSV), in bounded memory and linear time.

A cell in quotes may contain line breaks. If a quote is never closed, the row ends at its own line: it is a `Problem`, and the
lines that the quote had swallowed are read again, each as one row.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from citewell.papers import Problem
from citewell.sources.clean import text
from citewell.sources.plain_text import beginning, lines
from citewell.sources.source import InputError, Source
from citewell.sources.table_columns import Header, header_of

MAX_ROW = 2 * 1024 * 1024
"""The longest row, in characters: a review with two thousand references has a tenth of it."""
csv.field_size_limit(max(csv.field_size_limit(), MAX_ROW))


class Row(NamedTuple):
    """One row of a table."""

    line: int
    """Where it begins."""
    cells: list[str]

    def named(self, header: Header) -> dict[str, str]:
        """The cells that are not empty, cleaned, by the normalised names of their columns."""
        cells = zip(header.keys, self.cells, strict=False)
        return {name: content for name, cell in cells if name and (content := text(cell))}


def header(source: Source) -> Header:
    """The header of a table; its reader has recognised it."""
    known = header_of(beginning(source.head).lstrip("\ufeff \n"))
    if known is None:
        raise InputError("the first line names no column for titles; name one column title and another authors, year or doi")
    return known


def rows(source: Source, columns: Header, quoted: bool = True) -> Iterator[Row | Problem]:
    """The rows after the header; without `quoted`, a quote is a character like any other."""
    feed = _Feed(lines(source), columns, quoted)
    while (row := feed.row()) is not None:
        if isinstance(row, Problem) or any(cell.strip() for cell in row.cells):
            yield row


class _Feed:
    """Lines of a file, with those that must be read again."""

    def __init__(self, source: Iterator[tuple[int, str]], columns: Header, quoted: bool) -> None:
        self._source = source
        self._delimiter = columns.delimiter
        self._width = len(columns.names)
        self._quoted = quoted
        self._again: deque[tuple[int, str]] = deque()
        """Lines that an unclosed quote had swallowed."""
        self._skip_header()

    def _skip_header(self) -> None:
        for _, line in self._source:
            content = line.strip("\ufeff ")
            if content and not content.strip('"').startswith("sep="):
                return

    def row(self) -> Row | Problem | None:
        """The next row, None at the end of the file."""
        if self._again:
            return self._one_line(*self._again.popleft())
        first = next(self._source, None)
        if first is None:
            return None
        number, line = first
        if not self._quoted or '"' not in line:
            return self._one_line(number, line)
        swallowed = _Swallowed(first, self._source)
        try:
            cells = next(csv.reader(swallowed, delimiter=self._delimiter))
        except csv.Error:
            swallowed.unclosed = True
        if swallowed.unclosed:
            self._again.extend(swallowed.lines[1:])
            return self._one_line(number, line)
        return self._checked(number, cells)

    def _one_line(self, number: int, line: str) -> Row | Problem:
        """A row without line breaks in which quotes have no meaning, unless they surround a whole cell."""
        if len(line) > MAX_ROW:
            return Problem(f"the row is longer than {MAX_ROW >> 20} MiB", number)
        if not self._quoted or '"' not in line:
            return self._checked(number, line.split(self._delimiter))
        if line.count('"') % 2 == 0:
            return self._checked(number, _parsed(line, self._delimiter))
        cells = line.split(self._delimiter)
        if len(cells) != self._width:
            return Problem("a quote in this row is not closed", number)
        return Row(number, [cell.removeprefix('"') if cell.count('"') % 2 else cell for cell in cells])

    def _checked(self, number: int, cells: list[str]) -> Row | Problem:
        if any(cell.strip() for cell in cells[self._width :]):
            return Problem(f"the row has {len(cells):,} cells, but the header has {self._width:,}", number)
        return Row(number, cells)


class _Swallowed:
    """The lines of one row for `csv.reader`, which asks for another one while a quote is open."""

    def __init__(self, first: tuple[int, str], source: Iterator[tuple[int, str]]) -> None:
        self.lines = [first]
        self.unclosed = False
        self._source = source
        self._size = len(first[1])
        self._given = False

    def __iter__(self) -> _Swallowed:
        return self

    def __next__(self) -> str:
        if not self._given:
            self._given = True
            return self.lines[0][1] + "\n"
        following = next(self._source, None) if self._size <= MAX_ROW else None
        if following is None:
            self.unclosed = True
            raise StopIteration
        self.lines.append(following)
        self._size += len(following[1]) + 1
        return following[1] + "\n"


def _parsed(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return []
