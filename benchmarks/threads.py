"""Searches with 1, 2, 4, 8 and 16 threads: ``python -m benchmarks.threads [--library DIR] [--set DIR] [--queries N]``.

Each number of threads has a process of its own with ``CITEWELL_THREADS`` set. The queries are the evidence questions of a
data set, or else titles of the library's papers. A data set without a library is added to a temporary one; without either,
the library holds made-up papers. The table shows CPU time and wall time of a query next to each other. Threads that wait
without spinning leave CPU time as it is, so the aim is at most 1.3 times that of one thread, with falling wall time. The
results must be the same for every number: the benchmark fails if they are not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import synthetic
from citewell import Library, prepare, search, threads

_COUNTS = (1, 2, 4, 8, 16)
_PAPERS = 2_000
_FIRST = 3
"""Queries before those that count: they load the models and compile the kernels."""
_MOST_CPU = 1.3


def measure(library: Path, queries: list[str], pipeline: str) -> dict[str, Any]:
    """CPU and wall seconds of a query in this process, and a digest of all results."""
    opened = Library(library)
    for query in queries[:_FIRST]:
        search(opened, query, pipeline)
    digest = hashlib.sha256()
    cpu, wall = time.process_time(), time.perf_counter()
    for query in queries[_FIRST:]:
        for result in search(opened, query, pipeline):
            digest.update(f"{result.paper.id} {result.score!r}\n".encode())
    count = len(queries) - _FIRST
    return {
        "cpu": (time.process_time() - cpu) / count,
        "wall": (time.perf_counter() - wall) / count,
        "results": digest.hexdigest(),
    }


def in_processes(library: Path, queries: list[str], pipeline: str, counts: list[int], repeat: int) -> list[dict[str, Any]]:
    """The measures of a process for each number of threads; of `repeat` of them, the one with the least wall time."""
    rows = []
    command = [sys.executable, "-m", "benchmarks.threads", "--measure", "--library", str(library), "--pipeline", pipeline]
    for count in counts:
        runs = []
        for _ in range(repeat):
            environment = {**os.environ, threads.VARIABLE: str(count)}
            child = subprocess.run(command, input=json.dumps(queries), env=environment, capture_output=True, text=True)
            if child.returncode:
                sys.exit(child.stderr)
            runs.append(json.loads(child.stdout))
        if len({run["results"] for run in runs}) > 1:
            sys.exit(f"{count} threads give other results in each run")
        rows.append({"threads": count, **min(runs, key=lambda run: float(run["wall"]))})
    return rows


def load_queries(library: Path, data_set: Path | None, count: int) -> list[str]:
    """Claims of the data set, or titles of papers, evenly spread."""
    if data_set is not None:
        with gzip.open(data_set / "evidence.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["question"] for line in lines]
    else:
        texts = [paper.title for paper in Library(library).store.each() if paper.title]
    step = max(1, len(texts) // count)
    return texts[::step][:count]


def table_of(rows: list[dict[str, Any]], title: str) -> Table:
    """The measures as a table."""
    table = Table(title=title)
    for heading in ("threads", "CPU s a query", "of one thread's", "wall s a query", "of one thread's"):
        table.add_column(heading, justify="right")
    for row in rows:
        cpu, wall = row["cpu"] / rows[0]["cpu"], row["wall"] / rows[0]["wall"]
        table.add_row(str(row["threads"]), f"{row['cpu']:.3f}", f"{cpu:.2f}", f"{row['wall']:.3f}", f"{wall:.2f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--set", type=Path, help="A data set with evidence questions.")
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--pipeline", default="best")
    parser.add_argument("--threads", type=int, nargs="+", default=list(_COUNTS))
    parser.add_argument("--repeat", type=int, default=1, help="Processes for each number; the quickest counts.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.library, json.load(sys.stdin), options.pipeline)))
        return
    with tempfile.TemporaryDirectory() as folder:
        library = options.library
        if library is None:
            library = Path(folder) / "library"
            source = options.set
            if source is None:
                source = Path(folder) / "papers.jsonl"
                synthetic.write_jsonl(source, _PAPERS)
            Library(library).add([source])
        opened = Library(library)
        prepare(opened, options.pipeline)
        queries = load_queries(library, options.set, options.queries + _FIRST)
        rows = in_processes(library, queries, options.pipeline, options.threads, options.repeat)
    if len({row["results"] for row in rows}) > 1:
        sys.exit("the results depend on the number of threads")
    summary = {
        "papers": len(opened),
        "cores": threads.cores(),
        "pipeline": options.pipeline,
        "queries": len(queries) - _FIRST,
        "rows": rows,
        "cpu_within": max(row["cpu"] for row in rows) / rows[0]["cpu"] <= _MOST_CPU,
        "wall_falls": all(after["wall"] < before["wall"] for before, after in pairwise(rows)),
    }
    if options.json:
        print(json.dumps(summary))
    else:
        title = f"{options.pipeline}, {summary['papers']:,} papers, {summary['queries']} queries, {summary['cores']} cores"
        Console().print(table_of(rows, title))


if __name__ == "__main__":
    main()
