"""A large citation graph: collecting what 300 papers cite, in milliseconds of CPU time.

python -m benchmarks.graph [--papers 1000000] [--references 50] [--json]

Every round starts from other papers, drawn at random, and the graph lies in mapped segments as a library's does. Set-up is not
counted. `benchmarks.warm --pipeline navigate` measures a whole suggestion with navigation.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.checkouts import moved

_SEEDS = 300
_ROUNDS = 200
_PASSES = 3
_BLOCK_BITS = 16


def graph(folder: Path, papers: int, references: int) -> Any:
    """A synthetic graph in mapped segments: every paper cites others at random, some far more often than most."""
    links = moved("links", "citewell.library.index", "citewell.library")
    write_links = moved("write_links", "citewell.library.index.builder", "citewell.library.building")
    map_arrays = moved("map_arrays", "citewell.arrays", "citewell.library.arrays")
    random = np.random.default_rng(0)
    stacks: dict[tuple[str, int], list[Any]] = {}
    for block in range((papers + (1 << _BLOCK_BITS) - 1) >> _BLOCK_BITS):
        here = np.arange(min(1 << _BLOCK_BITS, papers - (block << _BLOCK_BITS)))
        targets = (papers * random.random((len(here), references)) ** 2).astype(np.int64)
        built = links.build(here, np.full(len(here), references, np.int64), np.sort(targets, axis=1).ravel())
        entry = write_links(folder, "cites", block, built)
        stacks["cites", block] = [links.Links(**map_arrays(folder / entry.file, entry.bytes))]
    return moved("Graph", "citewell.library.index.graph", "citewell.library.graph")(stacks)


def milliseconds(graph: Any, papers: int) -> float:
    """CPU time of the neighbours of 300 papers, the fastest of a few passes over the same draws."""
    random = np.random.default_rng(1)
    draws = [random.choice(papers, _SEEDS, replace=False).astype(np.int64) for _ in range(_ROUNDS)]
    passes = []
    for _ in range(_PASSES):
        started = time.process_time()
        for seeds in draws:
            graph.neighbours("cites", seeds)
        passes.append(1000 * (time.process_time() - started) / _ROUNDS)
    return min(passes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = milliseconds(graph(Path(folder), chosen.papers, chosen.references), chosen.papers)
    if chosen.json:
        print(json.dumps({"milliseconds": taken}))
    else:
        citations = chosen.papers * chosen.references
        print(f"{chosen.papers:,} papers, {citations:,} citations: neighbours of {_SEEDS} papers in {taken:.2f} ms CPU")


if __name__ == "__main__":
    main()
