"""From process start to printed suggestions: ``python -m benchmarks.cold_start [--library DIR] [--pipeline fast]``.

Without a library one of 30,000 synthetic papers is built first. The files are in the operating system's cache, as they are on a
machine where citewell was used before (one run that does not count sees to that); everything else starts from nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import synthetic

_RUNS = 7
_PAPERS = 30_000
_TERMS = 150


def cold_starts(library: Path, text: str, pipeline: str, runs: int = _RUNS) -> list[float]:
    """Seconds of wall time of one `citewell suggest` after another, sorted."""
    command = [sys.executable, "-m", "citewell", "suggest", "--title", text, "--library", str(library), "--pipeline", pipeline]
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - start)
    return sorted(seconds[1:])


def build(folder: Path, papers: int = _PAPERS) -> Path:
    """A library of synthetic papers."""
    from citewell.library import Library

    library = folder / "library"
    synthetic.write_jsonl(folder / "papers.jsonl", papers)
    os.environ["CITEWELL_BACKGROUND"] = "off"
    Library(library).add([folder / "papers.jsonl"])
    return library


def main() -> None:
    from citewell.library import Library

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--pipeline", default="fast")
    parser.add_argument("--text", help="What to suggest for; default: words of synthetic papers.")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    text = chosen.text or " ".join(map(synthetic.word, synthetic.queries(1, _TERMS)[0]))
    with tempfile.TemporaryDirectory() as folder:
        library = chosen.library or build(Path(folder))
        seconds = cold_starts(library, text, chosen.pipeline)
        papers = len(Library(library))
    result = {"papers": papers, "best": seconds[0], "median": seconds[len(seconds) // 2], "worst": seconds[-1]}
    if chosen.json:
        print(json.dumps(result))
    else:
        print(
            f"citewell suggest --pipeline {chosen.pipeline} on {papers:,} papers, {_RUNS} cold starts: best"
            f" {result['best']:.2f} s, median {result['median']:.2f} s, worst {result['worst']:.2f} s"
        )


if __name__ == "__main__":
    main()
