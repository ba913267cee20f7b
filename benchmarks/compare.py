"""Two checkouts in one run: ``python -m benchmarks.compare --before CHECKOUT [--after .] [--only graph dense]``.

Runs the benchmarks of this checkout over the package of both, alternately, and prints the fastest of each and their ratio:
dense and graph by CPU time, cold start, warm suggestions and the server under load. It builds its own small libraries: 30,000
synthetic papers for `fast`, and the demo's papers with vectors for `best`. A ratio above 1.05 is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import checkouts, cold_start, synthetic

_BAR = 1.05


def _run(checkout: Path, module: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a benchmark prints over the package of a checkout."""
    line, environment = checkouts.command(checkout, module, *arguments)
    environment["CITEWELL_BACKGROUND"] = "off"
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


class Libraries:
    """The libraries that the benchmarks ask; both checkouts read the same files."""

    def __init__(self, folder: Path, before: Path) -> None:
        self.synthetic = cold_start.build(folder)
        self.demo = folder / "demo"
        line, environment = checkouts.command(before, "citewell")
        environment["CITEWELL_BACKGROUND"] = "off"
        papers = checkouts.HERE / "citewell" / "demo" / "library.jsonl"
        for arguments in (["add", str(papers), "--no-vectors"], ["library", "encode"]):
            command = [line[0], "-m", "citewell", *arguments, "--library", str(self.demo)]
            subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, cwd=before, check=True)


def _benchmarks(libraries: Libraries, quick: bool) -> dict[str, tuple[str, Callable[[Path], float]]]:
    """By name: the unit, and a function that measures a checkout."""
    text = " ".join(map(synthetic.word, synthetic.queries(1, 150)[0]))
    vectors, papers, seconds = ("100000", "200000", "10") if quick else ("1000000", "1000000", "30")
    return {
        "dense: scan": (
            "ms CPU",
            lambda checkout: float(
                _run(checkout, "benchmarks.dense", "--scan", "--vectors", vectors, "--queries", "50")["milliseconds"]
            ),
        ),
        "graph: neighbours of 300 papers": (
            "ms CPU",
            lambda checkout: float(_run(checkout, "benchmarks.graph", "--papers", papers, "--json")["milliseconds"]),
        ),
        "cold start: fast": (
            "s",
            lambda checkout: float(
                _run(checkout, "benchmarks.cold_start", "--library", str(libraries.synthetic), "--text", text, "--json")["best"]
            ),
        ),
        "cold start: best": (
            "s",
            lambda checkout: float(
                _run(
                    checkout,
                    "benchmarks.cold_start",
                    *("--library", str(libraries.demo), "--pipeline", "best", "--text", "dense retrieval", "--json"),
                )["best"]
            ),
        ),
        "warm: fast": (
            "ms CPU",
            lambda checkout: (
                1000 * float(_run(checkout, "benchmarks.warm", str(libraries.synthetic), "--pipeline", "fast", "--json")["cpu"])
            ),
        ),
        "warm: navigate": (
            "ms CPU",
            lambda checkout: (
                1000
                * float(_run(checkout, "benchmarks.warm", str(libraries.synthetic), "--pipeline", "navigate", "--json")["cpu"])
            ),
        ),
        "warm: best": (
            "ms CPU",
            lambda checkout: 1000 * float(_run(checkout, "benchmarks.warm", str(libraries.demo), "--json")["cpu"]),
        ),
        "load: server CPU per request, fast": (
            "ms CPU",
            lambda checkout: (
                1000
                * float(
                    _run(checkout, "benchmarks.load", str(libraries.synthetic), "--seconds", seconds, "--json")[
                        "server CPU per request"
                    ]
                )
            ),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--after", type=Path, default=checkouts.HERE, metavar="CHECKOUT")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="benchmarks whose name starts with one of these")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="smaller data, for a first look")
    chosen = parser.parse_args()
    pair = {"before": chosen.before.resolve(), "after": chosen.after.resolve()}
    table = Table(title=f"{pair['before']} and {pair['after']}, fastest of {chosen.rounds} runs each, taking turns")
    for heading in ("benchmark", "unit", "before", "after", "ratio"):
        table.add_column(heading, justify="left" if heading in ("benchmark", "unit") else "right")
    with tempfile.TemporaryDirectory() as folder:
        libraries = Libraries(Path(folder), pair["before"])
        for name, (unit, measure) in _benchmarks(libraries, chosen.quick).items():
            if chosen.only and not name.startswith(tuple(chosen.only)):
                continue
            times: dict[str, list[float]] = {which: [] for which in pair}
            for _ in range(chosen.rounds):
                for which, checkout in pair.items():
                    times[which].append(measure(checkout))
            before, after = min(times["before"]), min(times["after"])
            ratio = f"{after / before:.2f}{' (slower)' if after / before > _BAR else ''}"
            table.add_row(name, unit, f"{before:.3f}", f"{after:.3f}", ratio)
            print(f"{name}: {before:.3f} {unit} before, {after:.3f} after, ratio {ratio}", file=sys.stderr, flush=True)
    Console(width=int(os.environ.get("COLUMNS", "110"))).print(table)


if __name__ == "__main__":
    main()
