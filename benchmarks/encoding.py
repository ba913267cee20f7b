"""How many abstracts of 190 words an encoder reads a second, on all cores.

python -m benchmarks.encoding [--encoder minilm]
"""

from __future__ import annotations

import argparse
import json
import time

from citewell import demo
from citewell.models.encoder import load

_WORDS = 190
_TEXTS = 256


def texts() -> list[str]:
    """The titles and abstracts of the demo's papers, one after the other, cut into pieces of 190 words."""
    records = [json.loads(line) for line in demo.path("library.jsonl").read_text("utf-8").splitlines()]
    words = " ".join(f"{record.get('title', '')} {record.get('abstract', '')}" for record in records).split()
    pieces = [words[start : start + _WORDS] for start in range(0, len(words) - _WORDS, _WORDS)]
    return [" ".join(pieces[at % len(pieces)]) for at in range(_TEXTS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="minilm")
    encoder = load(parser.parse_args().encoder)
    batch = texts()
    encoder.encode(batch[:16])
    for _ in range(3):
        started = time.perf_counter()
        encoder.encode(batch)
        print(f"{encoder.name}: {_TEXTS / (time.perf_counter() - started):.1f} texts of {_WORDS} words a second")


if __name__ == "__main__":
    main()
