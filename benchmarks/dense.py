"""The scan of a million int8 vectors beside faiss's flat int8 index, one thread each, in one run, and its recall.

python -m benchmarks.dense [--vectors 1000000] [--queries 40]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import faiss
import numpy as np
import numpy.typing as npt

from citewell.library.vectors import quantised
from citewell.retrieve import scanning

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=40)
    chosen = parser.parse_args()
    faiss.omp_set_num_threads(1)
    made, queries = vectors(chosen.vectors, 1), vectors(chosen.queries, 2)
    codes, scales = quantised(made)
    index = faiss.IndexScalarQuantizer(_DIMENSION, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(made[:100_000])
    index.add(made)
    scanning.load_compiled()

    def ours(query: Floats) -> npt.NDArray[np.int64]:
        code, scale = quantised(query[None])
        return best(scanning.scan(codes, scales, code[0], float(scale[0])))

    def theirs(query: Floats) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = index.search(query[None], _TOP)[1][0]
        return found

    exact = [set(best(made @ query).tolist()) for query in queries]
    print(f"{chosen.vectors:,} vectors of {_DIMENSION}, {chosen.queries} queries, the best {_TOP}")
    for name, search in (("citewell", ours), ("faiss flat int8", theirs), ("citewell again", ours), ("faiss again", theirs)):
        found, milliseconds = timed(search, queries)
        recall = np.mean([len(exact[at] & set(each.tolist())) / _TOP for at, each in enumerate(found)])
        print(f"{name:16} {milliseconds:8.1f} ms CPU a query   recall against float {recall:.4f}")


if __name__ == "__main__":
    main()
