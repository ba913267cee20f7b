"""Lexical search beside bm25s and tantivy, and the import of a million papers: ``python -m benchmarks.lexical``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.engines import ENGINES, TOP

_QUERIES = 200
_TERMS = 150
_ROUNDS = 6
"""Passes of each engine; the first one warms up, and of the others the fastest counts."""


class _Running:
    """An engine in its process, its index built."""

    def __init__(self, engine: str, papers: int) -> None:
        command = [sys.executable, "-m", "benchmarks.engines", engine, str(papers), str(_QUERIES), str(_TERMS)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.shown: dict[str, Any] = json.loads(self._line())

    def milliseconds(self, what: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def stop(self) -> None:
        self._process.communicate()


def _compare(names: list[str], papers: int) -> dict[str, dict[str, Any]]:
    """All engines over so many papers. Their passes take turns, so that what else the machine does falls on all alike."""
    engines = {name: _Running(name, papers) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    floor = []
    for _ in range(_ROUNDS):
        for name, engine in engines.items():
            times[name].append(engine.milliseconds("answer"))
        if "citewell" in engines:
            floor.append(engines["citewell"].milliseconds("read"))
    for name, engine in engines.items():
        engine.shown["milliseconds"] = min(times[name][1:])
        engine.stop()
    if floor:
        engines["citewell"].shown["floor_milliseconds"] = min(floor[1:])
    return {name: engine.shown for name, engine in engines.items()}


def _table(results: dict[int, dict[str, dict[str, Any]]]) -> Table:
    table = Table(title=f"BM25, {_QUERIES} queries of {_TERMS} terms, top {TOP}, one thread, CPU time")
    for heading in ("papers", "engine", "ms a query", "of citewell's", "index, CPU s"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for papers, engines in results.items():
        ours = engines["citewell"]
        for name, found in engines.items():
            ratio = f"{found['milliseconds'] / ours['milliseconds']:.2f}"
            table.add_row(f"{papers:,}", name, f"{found['milliseconds']:.2f}", ratio, f"{found['index_seconds']:.1f}")
        floor = ours["floor_milliseconds"]
        label = f"(reading the same {ours['touched_bytes'] / 1e6:.1f} MB from memory)"
        table.add_row(f"{papers:,}", label, f"{floor:.2f}", f"{floor / ours['milliseconds']:.2f}", "", end_section=True)
    return table


def _imports(results: dict[int, dict[str, dict[str, Any]]]) -> Table:
    table = Table(title="citewell add, with indexing, wall time")
    for heading in ("papers", "papers a second", "peak memory", "library on disk"):
        table.add_column(heading, justify="right")
    for papers, engines in results.items():
        ours = engines["citewell"]
        table.add_row(
            f"{papers:,}",
            f"{ours['papers_per_second']:,.0f}",
            f"{ours['import_peak_bytes'] / 1e6:,.0f} MB",
            f"{ours['library_bytes'] / 1e6:,.0f} MB",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results = {papers: _compare(given.engines, papers) for papers in given.papers}
    for papers, engines in results.items():
        scores = {name: round(found["best"][0], 3) for name, found in engines.items()}
        if len({found["best"][1] for found in engines.values()}) > 1:
            print(f"the engines disagree on the best of {papers:,} papers: {scores}", file=sys.stderr)
    if given.json:
        print(json.dumps(results))
    else:
        console = Console(width=120)
        console.print(_table(results))
        console.print(_imports(results))


if __name__ == "__main__":
    main()
