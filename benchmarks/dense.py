"""The scan of a million int8 vectors next to faiss's flat int8 index, one thread each, in one run, and its recall.

python -m benchmarks.dense [--vectors 1000000] [--queries 100]

With ``--neighbours`` the neighbour index next to the scan: the time to build it, and how many of the scan's results it finds.
Both engines get each query alone, and every pass searches again. With ``--scan`` citewell alone, as JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import checkouts

_DIMENSION = 384
_CENTRES = 2000
_TOP = 100
_AT_ONCE = 50_000
_PASSES = 3

Float32Array = npt.NDArray[np.float32]
PaperNumbers = npt.NDArray[np.int64]


def vectors(count: int, seed: int) -> Float32Array:
    """Synthetic vectors of length 1 that lie in clusters, as those of texts do."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(_CENTRES, _DIMENSION)).astype(np.float32)
    matrix = np.empty((count, _DIMENSION), np.float32)
    for start in range(0, count, _AT_ONCE):
        size = min(_AT_ONCE, count - start)
        matrix[start : start + size] = centres[random.integers(0, _CENTRES, size)]
        matrix[start : start + size] += 0.7 * random.normal(size=(size, _DIMENSION)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def exact_best(scores: Float32Array) -> PaperNumbers:
    best = np.argpartition(-scores, _TOP)[:_TOP]
    return best[np.argsort(-scores[best])]


def timed(search: Callable[[Float32Array], PaperNumbers], queries: Float32Array) -> tuple[list[PaperNumbers], float]:
    """The results, and CPU milliseconds per query after one query that does not count."""
    search(queries[0])
    started = time.process_time()
    results = [search(query) for query in queries]
    return results, 1000 * (time.process_time() - started) / len(queries)


def anything(papers: PaperNumbers) -> npt.NDArray[np.bool_]:
    return np.ones(len(papers), bool)


def scan(matrix: Float32Array, queries: Float32Array) -> None:
    """The fastest of a few passes, as JSON."""
    opened = checkouts.vector_search(*quantised_in_parts(matrix))
    passes = [timed(lambda query: opened.nearest(query, _TOP, anything)[0], queries)[1] for _ in range(_PASSES)]
    print(json.dumps({"milliseconds": min(passes)}))


def next_to_faiss(matrix: Float32Array, queries: Float32Array) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    opened = checkouts.vector_search(*quantised_in_parts(matrix))
    index = faiss.IndexScalarQuantizer(_DIMENSION, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(matrix[:100_000])
    index.add(matrix)

    def ours(query: Float32Array) -> PaperNumbers:
        papers: PaperNumbers = opened.nearest(query, _TOP, anything)[0]
        return papers

    def theirs(query: Float32Array) -> PaperNumbers:
        papers: PaperNumbers = index.search(query[None], _TOP)[1][0]
        return papers

    exact = [set(exact_best(matrix @ query).tolist()) for query in queries]
    for name, search in (("citewell", ours), ("faiss flat int8", theirs), ("citewell again", ours), ("faiss again", theirs)):
        results, milliseconds = timed(search, queries)
        recall = np.mean([len(exact[at] & set(each.tolist())) / _TOP for at, each in enumerate(results)])
        print(f"{name:16} {milliseconds:8.1f} ms CPU per query   recall against float {recall:.4f}")


def next_to_the_scan(matrix: Float32Array, queries: Float32Array) -> None:
    from citewell.library.vectors import neighbours

    search_class = checkouts.vector_search_class()
    with tempfile.TemporaryDirectory() as folder:
        store = checkouts.vector_store(Path(folder), "synthetic", "own")
        store.add(np.arange(len(matrix)), np.ones(len(matrix), np.int64), *quantised_in_parts(matrix))
        started = time.monotonic(), time.process_time()
        neighbours.refresh(store, np.arange(len(matrix)), 0)
        print(f"built in {time.monotonic() - started[0]:.0f} s, {time.process_time() - started[1]:.0f} s of CPU time")
        scanned = search_class(store.segments())
        indexed = search_class(store.segments(), neighbours.Neighbours.open(store))
        for size in (_TOP, 10 * _TOP):

            def by_scan(query: Float32Array, size: int = size) -> PaperNumbers:
                papers: PaperNumbers = scanned.nearest(query, size, anything)[0]
                return papers

            def by_index(query: Float32Array, size: int = size) -> PaperNumbers:
                papers: PaperNumbers = indexed.nearest(query, size, anything)[0]
                return papers

            exact, scan_time = timed(by_scan, queries)
            ours, index_time = timed(by_index, queries)
            recall = np.mean([len(np.intersect1d(*pair)) / size for pair in zip(exact, ours, strict=True)])
            print(f"best {size:5}: scan {scan_time:.1f} ms CPU per query, index {index_time:.1f} ms, recall {recall:.4f}")


def quantised_in_parts(matrix: Float32Array) -> tuple[npt.NDArray[np.int8], Float32Array]:
    codes, scales = np.empty(matrix.shape, np.int8), np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        codes[here], scales[here] = checkouts.quantised(matrix[here])
    return codes, scales


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--neighbours", action="store_true")
    parser.add_argument("--scan", action="store_true")
    chosen = parser.parse_args()
    matrix, queries = vectors(chosen.vectors, 1), vectors(chosen.queries, 2)
    checkouts.load_compiled_products()
    if chosen.scan:
        scan(matrix, queries)
        return
    print(f"{chosen.vectors:,} vectors of {_DIMENSION}, {chosen.queries} queries")
    (next_to_the_scan if chosen.neighbours else next_to_faiss)(matrix, queries)


if __name__ == "__main__":
    main()
