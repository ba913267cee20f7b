"""The files of a library that is killed again and again, and how they are edited."""

from __future__ import annotations

import json
import random
from pathlib import Path

NAMES = ("one.bib", "two.bib", "three.jsonl")
_KEYS = 30
_TITLES = [
    f"{what} {where}" for what in ("Boats", "Harbours", "Tides", "Gulls", "Piers") for where in ("at sea", "in fog", "by night")
]
_AUTHORS = ("Lee, Ann", "Berg, Bo", "Pike, Jon")
_YEARS = (2019, 2020, 2023)
_DOIS = ("10.1000/a", "10.1000/b", "10.1000/c")


def write(path: Path, chance: random.Random) -> None:
    """Write a file with some of its possible entries; other files describe some of the same papers."""
    numbers = chance.sample(range(_KEYS), chance.randint(_KEYS // 3, _KEYS))
    if path.suffix == ".bib":
        other = {"one": "two", "two": "one"}[path.stem]
        entries = [_entry(f"{path.stem}{number}", chance) for number in numbers]
        added = [_abstract(f"{other}{number}", chance) for number in numbers if chance.random() < 0.1]
        path.write_text("\n".join(entries + added), "utf-8")
    else:
        path.write_text("".join(_lines(number, chance) for number in numbers), "utf-8")


def write_upload(path: Path, number: int) -> None:
    """Write a file to upload; its papers are in no other file."""
    entries = [_bibtex(f"upload{number}x{part}", f"Upload {number}, part {part}", "Moss, Lee", 2021) for part in range(20)]
    path.write_text("".join(entries), "utf-8")


def _entry(key: str, chance: random.Random) -> str:
    doi = chance.choice(_DOIS) if chance.random() < 0.1 else ""
    title = chance.choice(_TITLES) if chance.random() < 0.3 else f"On {key}, version {chance.randint(1, 3)}"
    return _bibtex(key, title, chance.choice(_AUTHORS), chance.choice(_YEARS), doi)


def _abstract(key: str, chance: random.Random) -> str:
    """An entry without a title, which adds to the one with its key in another file."""
    return f"@article{{{key},\n  abstract = {{Abstract {chance.randint(1, 3)} of {key}.}}\n}}\n"


def _bibtex(key: str, title: str, author: str, year: int, doi: str = "") -> str:
    fields = {"author": author, "title": title, "year": str(year), "doi": doi}
    return f"@article{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value) + "}\n"


def _lines(number: int, chance: random.Random) -> str:
    """A paper with references, and sometimes the context of a citation."""
    key = f"p{number}"
    paper = {
        "id": key,
        "title": f"Paper {number}, version {chance.randint(1, 3)}",
        "abstract": " ".join(f"word{chance.randrange(300)}" for _ in range(30)),
        "authors": ["Ada Author"],
        "year": chance.choice(_YEARS),
        "references": [f"p{chance.randrange(_KEYS + 5)}" for _ in range(3)],
    }
    lines = [json.dumps(paper)]
    if number % 3 == 0:
        cited = [f"p{chance.randrange(_KEYS)}"]
        lines.append(json.dumps({"id": f"c{number}", "citing": key, "cited": cited, "text": "as TARGETCIT says"}))
    return "".join(f"{line}\n" for line in lines)
