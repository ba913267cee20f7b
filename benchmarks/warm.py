"""Suggestions in a process that has answered before: ``python -m benchmarks.warm LIBRARY [--pipeline best] [--task local]``.

The queries are the library's own citation contexts (`benchmarks/queries.py`), all different; the citing paper is excluded. Each
is answered once, with reasons and quoted sentences, after ten others that are not counted. ``--task evidence`` searches with
the same texts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks import checkouts
from benchmarks.queries import library_queries

_FIRST = 10


def seconds_of(folder: Path, name: str, task: str, sample: int) -> tuple[int, list[float], list[float]]:
    """The number of papers, and wall and CPU seconds of one query after another."""
    from citewell.library import Library
    from citewell.papers import Query

    pipeline = checkouts.pipeline(name)
    checkouts.load_compiled()
    answer = checkouts.searcher(pipeline) if task == "evidence" else pipeline.suggest
    queries = library_queries(folder, sample + _FIRST)
    wall, cpu = [], []
    with Library(folder) as library:
        for each in queries:
            if task == "local":
                query = Query("local", each.title, each.abstract, each.context, exclude=[each.citing])
            elif task == "global":
                query = Query("global", each.title, each.abstract, exclude=[each.citing])
            elif task == "paragraph":
                query = Query("paragraph", each.title, each.abstract, each.context, exclude=[each.citing])
            else:
                query = Query("evidence", context=each.context, exclude=[each.citing])
            started, used = time.perf_counter(), time.process_time()
            answer(library, query)
            wall.append(time.perf_counter() - started)
            cpu.append(time.process_time() - used)
        return len(library), wall[_FIRST:], cpu[_FIRST:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--pipeline", default="best")
    parser.add_argument("--task", default="local", choices=("global", "local", "paragraph", "evidence"))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    papers, seconds, cpu = seconds_of(chosen.library, chosen.pipeline, chosen.task, chosen.sample)
    median, tenth, worst = np.quantile(seconds, (0.5, 0.9, 1.0)).tolist()
    result = {"papers": papers, "queries": len(seconds), "median": median, "p90": tenth, "worst": worst}
    result["cpu"] = float(np.median(cpu))
    if chosen.json:
        print(json.dumps(result))
    else:
        print(
            f"{chosen.pipeline}, {chosen.task}, {papers:,} papers, {len(seconds)} queries: median {median:.3f} s,"
            f" 90% below {tenth:.3f} s, worst {worst:.3f} s; median CPU {result['cpu']:.3f} s"
        )


if __name__ == "__main__":
    main()
