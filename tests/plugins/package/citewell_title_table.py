"""A package of its own that adds to citewell: a reader of tab-separated titles and years, a stage and a pipeline."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from citewell.papers import Paper, Problem, Ranking
from citewell.pipeline.contract import Retriever
from citewell.ranking.request import Request
from citewell.sources import Record, Source
from citewell.sources.clean import text, year

NAME = "title table"


def matches(head: bytes) -> bool:
    return head.startswith(b"#titles\n")


def read(source: Source) -> Iterator[Record]:
    for number, line in source.lines():
        if isinstance(line, Problem):
            yield line
        elif number > 1:
            title, _, published = line.decode("utf-8", "replace").partition("\t")
            yield Paper(title=text(title), year=year(published)) if title else Problem("no title", number)


@dataclass(frozen=True)
class Newest(Retriever):
    """The papers with the highest numbers first; it ignores the filters."""

    size: int = 10

    def retrieve(self, request: Request) -> Ranking:
        papers = np.arange(1, 100, dtype=np.int64)
        papers = papers[request.collection.contains(papers)]
        return Ranking(papers[::-1][: self.size], papers[::-1][: self.size].astype(np.float32))


PIPELINES = {"newest": {"about": "The papers that were added last", "stages": [{"kind": "newest", "size": 5}]}}
