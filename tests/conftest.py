"""What all tests can ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citewell.library import Library

TINY: list[dict[str, Any]] = [
    {
        "id": "harbour",
        "doi": "10.1000/harbour",
        "title": "Counting boats in the harbour",
        "abstract": "We count boats from photographs of a harbour and find that gulls disturb the count.",
        "authors": ["Mira Holt", "Jon Pike"],
        "year": 2015,
        "venue": "Journal of Harbours",
    },
    {
        "id": "gulls",
        "title": "Gulls as a source of error",
        "abstract": "Gulls are mistaken for boats. We tell them apart by their wings.",
        "authors": ["Ana Reis"],
        "year": 2017,
        "venue": "Journal of Harbours",
        "references": ["harbour", "doi:10.1000/not-here-yet"],
    },
    {
        "id": "tides",
        "doi": "10.1000/tides",
        "title": "Tides move the boats",
        "abstract": "What was counted at high tide must be counted again at low tide.",
        "authors": ["Jon Pike", "Lee Moss"],
        "year": 2019,
        "references": ["harbour", "gulls", {"title": "A theory of piers", "year": 2001}],
        "sentences": ["Tides come twice a day.", "Boats move with them."],
    },
    {
        "id": "review",
        "title": "A review of harbour photography",
        "abstract": "Twenty years of photographs, from film to drones.",
        "authors": ["Lee Moss"],
        "year": 2021,
        "references": ["harbour", "gulls", "tides"],
    },
    {"id": "c1", "citing": "tides", "cited": ["harbour"], "text": "Boats were first counted from photographs TARGETCIT"},
    {"id": "c2", "citing": "review", "cited": ["gulls"], "text": "birds spoil the count TARGETCIT as does fog OTHERCIT"},
]
"""Four papers, eight references of which two wait, two contexts."""


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    """A file of a few made-up papers and contexts."""
    path = tmp_path / "tiny.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in TINY))
    return path


@pytest.fixture
def tiny(tiny_file: Path, tmp_path: Path) -> Library:
    """A library of a few made-up papers."""
    library = Library(tmp_path / "tiny")
    library.add([tiny_file])
    return library
