"""Lexical search next to bm25s and tantivy, and the import of a million papers: ``python -m benchmarks.lexical``.

citewell is measured twice: with one segment per block (`merged`), and after an `add` that replaces one paper in a hundred, so
that a segment of every block is partly replaced (`after add`). ``--before CHECKOUT`` runs another checkout's citewell in the
same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import checkouts
from benchmarks.engines import ENGINES, TOP

_QUERIES = 200
_TERMS = 150
_ROUNDS = 6
"""Passes of each engine; the first one is shown apart, and of the others the fastest counts."""
_OURS = ("citewell", "citewell before")
_STATES = ("merged", "after add")


class _Running:
    """An engine in its process, its index built."""

    def __init__(self, engine: str, papers: int, checkout: Path) -> None:
        arguments = [engine.removesuffix(" before"), str(papers), str(_QUERIES), str(_TERMS)]
        self._process: subprocess.Popen[str] = checkouts.start(checkout, "benchmarks.engines", *arguments)
        self.shown: dict[str, Any] = json.loads(self._line())

    def milliseconds(self, what: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("an engine ended before it answered; its error is above")
        return line

    def stop(self) -> None:
        self._process.communicate()


def _compare(names: list[str], papers: int, before: Path | None) -> dict[str, dict[str, Any]]:
    """All engines over `papers` papers. Their passes take turns, so that other work on the machine affects all alike."""
    engines = {name: _Running(name, papers, checkouts.HERE) for name in names}
    if before is not None:
        engines["citewell before"] = _Running("citewell before", papers, before)
    results: dict[str, dict[str, Any]] = {}
    for state in _STATES:
        for name in _OURS:
            if state != "merged" and name in engines:
                engines[name].milliseconds("update")
        times: dict[str, list[float]] = {name: [] for name in engines}
        floor = []
        for _ in range(_ROUNDS):
            for name, engine in engines.items():
                times[name].append(engine.milliseconds("answer"))
            if "citewell" in engines:
                floor.append(engines["citewell"].milliseconds("read"))
        for name, engine in engines.items():
            label = f"{name}, {state}" if name in _OURS else name
            known = results.get(label, {}).get("milliseconds", float("inf"))
            results[label] = {**engine.shown, "milliseconds": min(known, *times[name][1:]), "first": times[name][0]}
        if floor:
            results[f"citewell, {state}"]["floor_milliseconds"] = min(floor[1:])
    for engine in engines.values():
        engine.stop()
    return results


def _table(results: dict[int, dict[str, dict[str, Any]]]) -> Table:
    table = Table(title=f"BM25, {_QUERIES} queries of {_TERMS} terms, top {TOP}, one thread, CPU time")
    for heading in ("papers", "engine", "ms per query", "first pass", "citewell after add: ratio", "index, CPU s"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for papers, engines in results.items():
        ours = engines["citewell, after add"]["milliseconds"]
        for name, result in engines.items():
            ratio = f"{ours / result['milliseconds']:.2f}"
            times = f"{result['milliseconds']:.2f}", f"{result['first']:.2f}"
            table.add_row(f"{papers:,}", name, *times, ratio, f"{result['index_seconds']:.1f}")
        floor = engines["citewell, after add"]["floor_milliseconds"]
        label = f"(read the same {engines['citewell, after add']['touched_bytes'] / 1e6:.1f} MB from memory)"
        table.add_row(f"{papers:,}", label, f"{floor:.2f}", "", f"{ours / floor:.2f}", "", end_section=True)
    return table


def _imports(results: dict[int, dict[str, dict[str, Any]]]) -> Table:
    table = Table(title="citewell add, with indexing, wall time")
    for heading in ("papers", "papers per second", "peak memory", "library on disk"):
        table.add_column(heading, justify="right")
    for papers, engines in results.items():
        ours = engines["citewell, merged"]
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
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout to run as well")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    results = {papers: _compare(chosen.engines, papers, chosen.before) for papers in chosen.papers}
    for papers, engines in results.items():
        scores = {name: round(result["best"][0], 3) for name, result in engines.items()}
        if len({result["best"][1] for result in engines.values()}) > 1:
            print(f"the engines disagree on the best of {papers:,} papers: {scores}", file=sys.stderr)
    if chosen.json:
        print(json.dumps(results))
    else:
        console = Console(width=130)
        console.print(_table(results))
        console.print(_imports(results))


if __name__ == "__main__":
    main()
