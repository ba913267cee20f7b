"""Made-up papers and queries whose words are as frequent as those of real abstracts.

The rank-frequency curve was fitted to the stemmed words of 100,000 computer-science abstracts: flat at the top (the commonest
word is one in a hundred once stop words are gone), falling as rank to the power of 0.8 for the first thousand words and as its
square after that. A query term is then in about one paper in eight, as a manuscript's are; a pure Zipf law gives other, and for
every engine kinder, posting lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

VOCABULARY = 80_000
WORDS_PER_PAPER = 180
TITLE_WORDS = 10
_CHUNK = 10_000
_UPDATED = 100


def _cumulated() -> npt.NDArray[np.float64]:
    rank = np.arange(1, VOCABULARY + 1, dtype=np.float64)
    frequency = np.where(rank <= 1000, (rank + 8) ** -0.8, 1008**-0.8 * (1000 / rank) ** 2)
    return np.cumsum(frequency / frequency.sum())


def _draw(random: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.minimum(np.searchsorted(_cumulated(), random.random(shape)), VOCABULARY - 1)


def papers(count: int, seed: int = 1) -> Iterator[npt.NDArray[np.int64]]:
    """Chunks of papers, a row of word numbers each."""
    random = np.random.default_rng(seed)
    for start in range(0, count, _CHUNK):
        yield _draw(random, (min(_CHUNK, count - start), WORDS_PER_PAPER))


def queries(count: int, terms: int, seed: int = 2) -> list[list[int]]:
    """Queries of `terms` different words, drawn like the papers' own."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        words = list(dict.fromkeys(_draw(random, (8 * terms,)).tolist()))
        drawn.append(words[:terms])
    return drawn


def word(number: int) -> str:
    """Words hold a digit, so that no analysis changes them."""
    return f"w{number}"


def write_jsonl(path: Path, count: int) -> None:
    """The papers as citewell's JSON lines."""
    words = _words()
    number = 0
    with path.open("w") as out:
        for chunk in papers(count):
            for row in words[chunk].tolist():
                out.write(json.dumps(_record(number, row)) + "\n")
                number += 1


def write_updates(path: Path, count: int) -> None:
    """Every hundredth paper once more, now with its full date: citewell indexes these again."""
    words = _words()
    number = 0
    with path.open("w") as out:
        for chunk in papers(count):
            for row in words[chunk].tolist():
                if number % _UPDATED == 0:
                    record = _record(number, row)
                    out.write(json.dumps({**record, "date": f"{record['year']}-06-01"}) + "\n")
                number += 1


def _words() -> npt.NDArray[np.object_]:
    return np.array([word(number) for number in range(VOCABULARY)], object)


def _record(number: int, words: list[str]) -> dict[str, object]:
    return {
        "id": f"bench:{number}",
        "title": " ".join(words[:TITLE_WORDS]),
        "abstract": " ".join(words[TITLE_WORDS:]),
        "authors": [f"Ada Author{number % 50_000}", f"Ben Writer{number % 70_000}"],
        "year": 1990 + number % 35,
        "venue": f"Venue {number % 1000}",
        "references": [f"bench:{number - step}" for step in (1, 7, 50) if number >= step],
    }
