"""A paper's row: its names as JSON, rows of older libraries, and names that a second source knows better."""

from __future__ import annotations

import json

from citewell.library.store import rows
from citewell.papers import OTHERS, Name, Paper
from citewell.text.names import parse_all

GABRIEL = Name("Gabriel", "García Márquez")
PAPER = Paper(
    "Solitude",
    authors=[GABRIEL, Name("Jane", "Doe"), Name(literal="Ministry; Office"), OTHERS],
    people={"translator": [Name("Gregory", "Rabassa")], "editor": [Name(family="Van Rhijn")]},
)


def again(row: rows.Row) -> Paper:
    """The paper after it was written and read."""
    num, name, title, abstract, year, date, venue, key, details, _ = row.values()
    return rows.from_columns((num, name, title, abstract, year, date, venue, key, details)).paper


def test_names_come_back_and_plain_ones_are_text() -> None:
    row = rows.Row(1, PAPER)
    assert again(row) == PAPER
    details = json.loads(str(row.values()[8]))
    assert details["authors"][1::2] == ["Jane Doe", "et al."] and details["people"]["translator"] == ["Gregory Rabassa"]


def test_a_row_of_an_older_library_is_read() -> None:
    details = {"authors": ["Jane Doe", "World Health Organization"], "extra": {"editor": "R. Roe; J. Poe", "volume": "3"}}
    paper = rows.from_columns((1, "a", "T", "", 2000, "", "", None, json.dumps(details))).paper
    assert paper.authors == [Name("Jane", "Doe"), Name(literal="World Health Organization")]
    assert paper.people == {"editor": [Name("R.", "Roe"), Name("J.", "Poe")]} and paper.extra == {"volume": "3"}


def test_the_parts_of_a_source_replace_guessed_ones() -> None:
    row = rows.Row(1, Paper("Solitude", authors=parse_all(["Gabriel García Márquez"])))
    rows.merge(row, Paper("Solitude", authors=[GABRIEL]), ())
    assert row.paper.authors == [GABRIEL] and not row.also
    rows.merge(row, Paper("Solitude", authors=parse_all(["Gabriel García Márquez"])), ())
    assert row.paper.authors == [GABRIEL] and not row.also
    rows.merge(row, Paper("Solitude", authors=parse_all(["G. G. Márquez"])), ())
    assert row.also == {"authors": ["G. G. Márquez"]}


def test_others_are_nobody() -> None:
    assert rows.Row(1, PAPER).signature().families == {"marquez", "doe", "office"}
