"""From process start to printed suggestions: ``python -m benchmarks.cold_start [--library DIR]``.

Without a library one of 30,000 made-up papers is built first. The files are in the operating system's cache, as they are on a
machine where citewell was used before; everything else starts from nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import synthetic
from citewell.library import Library

_RUNS = 7
_PAPERS = 30_000
_TERMS = 150


def cold_starts(library: Path, text: str) -> list[float]:
    """Seconds of wall time of one `citewell suggest` after another."""
    command = [sys.executable, "-m", "citewell", "suggest", "--title", text, "--library", str(library)]
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--text", help="What to suggest for; default: words of made-up papers.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    text = given.text or " ".join(map(synthetic.word, synthetic.queries(1, _TERMS)[0]))
    with tempfile.TemporaryDirectory() as folder:
        library = given.library
        if library is None:
            library = Path(folder) / "library"
            synthetic.write_jsonl(Path(folder) / "papers.jsonl", _PAPERS)
            Library(library).add([Path(folder) / "papers.jsonl"])
        seconds = cold_starts(library, text)
        papers = len(Library(library))
    found = {"papers": papers, "best": seconds[0], "median": seconds[len(seconds) // 2], "worst": seconds[-1]}
    if given.json:
        print(json.dumps(found))
    else:
        print(
            f"citewell suggest on {papers:,} papers, {_RUNS} cold starts: best {found['best']:.2f} s,"
            f" median {found['median']:.2f} s, worst {found['worst']:.2f} s"
        )


if __name__ == "__main__":
    main()
