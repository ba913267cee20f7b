"""Libraries with papers in several languages: each is analysed in its own, and any query finds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citewell import Library, suggest

PAPERS = [
    {
        "id": "english",
        "title": "Reinforcement learning for harbour cranes",
        "abstract": "We show that the cranes of a harbour learn from the loads that they have moved before.",
    },
    {
        "id": "german",
        "title": "Verstärkendes Lernen für Hafenkräne",
        "abstract": "Wir zeigen, dass die Kräne eines Hafens aus den bewegten Lasten lernen. Die Häfen wurden"
        " über mehrere Jahre beobachtet.",
    },
    {
        "id": "french",
        "title": "La génération automatique des horaires de marée",
        "abstract": "Nous présentons une méthode pour la génération des horaires de marée dans les ports de plaisance et nous"
        " comparons les résultats avec ceux des pilotes.",
    },
    {
        "id": "gulls",
        "title": "Gulls that die on the quay",
        "abstract": "Why do the gulls of this harbour die on the quay, and what can be done about it?",
    },
]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    file = tmp_path / "papers.jsonl"
    file.write_text("".join(json.dumps({**paper, "year": 2020}) + "\n" for paper in PAPERS))
    library = Library(tmp_path / "library")
    library.add([file])
    return library


def ids(library: Library, query: str) -> list[str]:
    return [each.paper.id for each in suggest(library, query, pipeline="bm25", k=4)]


def test_every_language_is_found_in_other_forms_of_its_words(library: Library) -> None:
    assert library.index.languages == ("de", "en", "fr")
    assert ids(library, "der Hafen und die Last")[0] == "german"
    assert ids(library, "générations des marées")[0] == "french"
    assert ids(library, "learned crane")[0] == "english"


def test_english_terms_of_a_german_draft_find_english_papers(library: Library) -> None:
    found = ids(library, "Für die Kräne wurde bisher kein reinforcement learning verwendet, obwohl es sich dafür gut eignet")
    assert set(found[:2]) == {"english", "german"}
    assert "gulls" not in found  # the German article is no English word


def test_a_library_of_another_language_only_needs_no_english(tmp_path: Path) -> None:
    file = tmp_path / "papers.jsonl"
    file.write_text(json.dumps({**PAPERS[1], "year": 2020}) + "\n")
    library = Library(tmp_path / "german")
    library.add([file])
    assert library.index.languages == ("de",)
    assert ids(library, "Hafen") == ["german"]


def test_merged_segments_remember_their_languages(library: Library, tmp_path: Path) -> None:
    for number in range(8):
        file = tmp_path / f"more{number}.jsonl"
        file.write_text(json.dumps({"id": f"more{number}", "title": f"The boats of year {number} and of the others"}) + "\n")
        library.add([file])
    assert library.index.languages == ("de", "en", "fr")
    library.rebuild()
    assert library.index.languages == ("de", "en", "fr")
