"""Navigation over a large citation graph: collecting what 300 papers cite, in milliseconds of CPU time.

python -m benchmarks.graph [--papers 1000000] [--references 50]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from citewell.arrays import map_arrays
from citewell.collection.local import LocalCollection
from citewell.expand.navigate import Navigate
from citewell.library.index.builder import write_links
from citewell.library.index.graph import Graph
from citewell.library.index.links import Links, build
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.papers import Query, Ranking
from citewell.ranking.request import Request

_SEEDS = 300
_ROUNDS = 200


class _NoScores:
    """Stands for the pipeline that ranks the union, whose time is not the graph's."""

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        return np.ones(len(papers), np.float32)


def graph(folder: Path, papers: int, references: int) -> Graph:
    """A made-up graph in mapped segments: every paper cites others at random, some far more often than most."""
    random = np.random.default_rng(0)
    stacks: dict[tuple[str, int], list[Links]] = {}
    for block in range((papers + BLOCK - 1) >> BLOCK_BITS):
        here = np.arange(min(BLOCK, papers - (block << BLOCK_BITS)))
        targets = (papers * random.random((len(here), references)) ** 2).astype(np.int64)
        links = build(here, np.full(len(here), references, np.int64), np.sort(targets, axis=1).ravel())
        entry = write_links(folder, "cites", block, links)
        stacks["cites", block] = [Links(**cast(Any, map_arrays(folder / entry.file, entry.bytes)))]
    return Graph(stacks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=50)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = graph(Path(folder), chosen.papers, chosen.references)
        random = np.random.default_rng(1)
        library = cast(Any, SimpleNamespace(index=SimpleNamespace(graph=made), folder=Path(folder)))
        stage = Navigate(cast(Any, _NoScores()), (_SEEDS,))
        seconds = {"neighbours of 300 papers": 0.0, "a round of navigation from 300 papers": 0.0}
        for _ in range(_ROUNDS):
            seeds = random.choice(chosen.papers, _SEEDS, replace=False).astype(np.int64)
            request = Request(LocalCollection(library), Query())
            started = time.process_time()
            made.neighbours("cites", seeds)
            seconds["neighbours of 300 papers"] += time.process_time() - started
            started = time.process_time()
            stage.rerank(request, Ranking(seeds, np.ones(_SEEDS, np.float32)))
            seconds["a round of navigation from 300 papers"] += time.process_time() - started
    print(f"{chosen.papers:,} papers, {chosen.papers * chosen.references:,} citations")
    for name, total in seconds.items():
        print(f"{name:40} {1000 * total / _ROUNDS:6.2f} ms CPU")


if __name__ == "__main__":
    main()
