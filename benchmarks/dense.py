"""The scan of a million int8 vectors beside faiss's flat int8 index, one thread each, in one run, and its recall.

python -m benchmarks.dense [--vectors 1000000] [--queries 100]

With ``--neighbours`` instead the neighbour index beside the scan: the time to build it, and how many of the scan's it finds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.library.vectors import neighbours
from citewell.library.vectors import search as scanning
from citewell.library.vectors.search import Mask, VectorSearch
from citewell.library.vectors.store import Shelf, Vectors, quantised

_DIMENSION = 384
_CENTRES = 2000
_TOP = 100
_AT_ONCE = 50_000

Floats = npt.NDArray[np.float32]


def vectors(count: int, seed: int) -> Floats:
    """Made-up vectors of length 1 that lie in clusters, as those of texts do."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(_CENTRES, _DIMENSION)).astype(np.float32)
    made = np.empty((count, _DIMENSION), np.float32)
    for start in range(0, count, _AT_ONCE):
        size = min(_AT_ONCE, count - start)
        made[start : start + size] = centres[random.integers(0, _CENTRES, size)]
        made[start : start + size] += 0.7 * random.normal(size=(size, _DIMENSION)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def best(scores: Floats) -> npt.NDArray[np.int64]:
    found = np.argpartition(-scores, _TOP)[:_TOP]
    return found[np.argsort(-scores[found])]


def timed(search: Callable[[Floats], npt.NDArray[np.int64]], queries: Floats) -> tuple[list[npt.NDArray[np.int64]], float]:
    search(queries[0])
    started = time.process_time()
    found = [search(query) for query in queries]
    return found, 1000 * (time.process_time() - started) / len(queries)


def anything(papers: npt.NDArray[np.int64]) -> Mask:
    return np.ones(len(papers), bool)


def near(codes: npt.NDArray[np.int8], scales: Floats) -> VectorSearch:
    """The vectors as the stage `dense` opens them."""
    count = len(codes)
    return VectorSearch(
        [(Vectors(np.arange(count, dtype=np.int32), np.ones(count, np.int64), codes, scales), np.ones(count, bool))]
    )


def beside_faiss(made: Floats, queries: Floats) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    shelf = near(*quantised_in_parts(made))
    index = faiss.IndexScalarQuantizer(_DIMENSION, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(made[:100_000])
    index.add(made)

    def ours(query: Floats) -> npt.NDArray[np.int64]:
        return shelf.nearest(query, _TOP, anything)[0]

    def theirs(query: Floats) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = index.search(query[None], _TOP)[1][0]
        return found

    exact = [set(best(made @ query).tolist()) for query in queries]
    for name, search in (("citewell", ours), ("faiss flat int8", theirs), ("citewell again", ours), ("faiss again", theirs)):
        found, milliseconds = timed(search, queries)
        recall = np.mean([len(exact[at] & set(each.tolist())) / _TOP for at, each in enumerate(found)])
        print(f"{name:16} {milliseconds:8.1f} ms CPU a query   recall against float {recall:.4f}")


def beside_the_scan(made: Floats, queries: Floats) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder), "made-up", "own")
        shelf.add(np.arange(len(made)), np.ones(len(made), np.int64), *quantised_in_parts(made))
        started = time.monotonic(), time.process_time()
        neighbours.refresh(shelf, np.arange(len(made)), 0, lambda papers: None, lambda papers: None)
        print(f"built in {time.monotonic() - started[0]:.0f} s, {time.process_time() - started[1]:.0f} s of CPU time")
        scanned, found = VectorSearch(shelf.segments()), VectorSearch(shelf.segments(), neighbours.Neighbours.open(shelf))
        for size in (_TOP, 10 * _TOP):

            def by_scan(query: Floats, size: int = size) -> npt.NDArray[np.int64]:
                return scanned.nearest(query, size, anything)[0]

            def by_index(query: Floats, size: int = size) -> npt.NDArray[np.int64]:
                return found.nearest(query, size, anything)[0]

            exact, scan_time = timed(by_scan, queries)
            ours, index_time = timed(by_index, queries)
            recall = np.mean([len(np.intersect1d(*pair)) / size for pair in zip(exact, ours, strict=True)])
            print(f"best {size:5}: scan {scan_time:.1f} ms CPU a query, index {index_time:.1f} ms, recall {recall:.4f}")


def quantised_in_parts(made: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    codes, scales = np.empty(made.shape, np.int8), np.empty(len(made), np.float32)
    for start in range(0, len(made), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        codes[here], scales[here] = quantised(made[here])
    return codes, scales


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--neighbours", action="store_true")
    chosen = parser.parse_args()
    made, queries = vectors(chosen.vectors, 1), vectors(chosen.queries, 2)
    scanning.load_compiled()
    print(f"{chosen.vectors:,} vectors of {_DIMENSION}, {chosen.queries} queries")
    (beside_the_scan if chosen.neighbours else beside_faiss)(made, queries)


if __name__ == "__main__":
    main()
