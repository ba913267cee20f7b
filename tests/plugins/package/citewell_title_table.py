"""A package of its own that adds to citewell: a reader of tab-separated titles and years."""

from collections.abc import Iterator

from citewell.papers import Paper, Problem
from citewell.sources import Record, Source
from citewell.sources.clean import text, year

NAME = "title table"


def matches(head: bytes) -> bool:
    return head.startswith(b"title\tyear\n")


def read(source: Source) -> Iterator[Record]:
    for number, line in source.lines():
        if isinstance(line, Problem):
            yield line
        elif number > 1:
            title, _, published = line.decode("utf-8", "replace").partition("\t")
            yield Paper(title=text(title), year=year(published)) if title else Problem("no title", number)
