"""Names from text: which words are given names, particle, family name and suffix, and which names are organisations'."""

import time

import pytest

from citewell.papers import OTHERS, Name
from citewell.text.names import compact, literal, parse, parse_all, person, take_people


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Jane Doe", Name("Jane", "Doe")),
        ("Jane Q. Doe", Name("Jane Q.", "Doe")),
        ("Émile Zola", Name("Émile", "Zola")),
        ("Plato", Name(family="Plato")),
        ("Ludwig van Beethoven", Name("Ludwig", "Beethoven", "van")),
        ("Maria de la Cruz Lopez", Name("Maria", "Cruz Lopez", "de la")),
        ("José Ortega y Gasset", Name("José", "Ortega y Gasset")),
        ("van Rhijn", Name("", "Rhijn", "van")),
        ("Gerard 't Hooft", Name("Gerard", "Hooft", "'t")),
        ("danah boyd", Name("danah", "boyd")),
        ("Martin Luther King Jr.", Name("Martin Luther", "King", "", "Jr.")),
        ("Martin Luther King, Jr.", Name("Martin Luther", "King", "", "Jr.")),
        ("Ann B Dry 3rd", Name("Ann B", "Dry", "", "3rd")),
        ("Wei Wang 0001", Name("Wei", "Wang", "", "0001")),
        ("García Márquez, Gabriel", Name("Gabriel", "García Márquez")),
        ("van der Berg, Jan", Name("Jan", "Berg", "van der")),
        ("Heath, Jr., Robert W.", Name("Robert W.", "Heath", "", "Jr.")),
        ("King, Martin L., Jr.", Name("Martin L.", "King", "", "Jr.")),
        ("J&ouml;rg M&uuml;ller", Name("Jörg", "Müller")),
        ("Jane\u00a0Doe", Name("Jane", "Doe")),
        ("World Health Organization", Name(literal="World Health Organization")),
        ("University of California, Berkeley", Name(literal="University of California, Berkeley")),
        ("The ATLAS Collaboration", Name(literal="The ATLAS Collaboration")),
        ("Research and Development, Inc.", Name(literal="Research and Development, Inc.")),
        ("王小明", Name(family="王小明")),
        ("et al.", OTHERS),
        ("", Name()),
    ],
)
def test_names_from_text(text: str, name: Name) -> None:
    assert parse(text) == name
    assert parse_all([compact(name)]) == [name] * any(name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (Name("Ludwig", "Beethoven", "van"), "Ludwig van Beethoven"),
        (Name("Martin L.", "King", "", "Jr."), "Martin L. King Jr."),
        (Name(family="Plato"), "Plato"),
        (Name(literal="The Group, Inc."), "The Group, Inc."),
        (OTHERS, "et al."),
    ],
)
def test_the_readable_form(name: Name, text: str) -> None:
    assert str(name) == f"{name}" == text


def test_parts_are_normalised() -> None:
    assert person("van Rhijn", "Ildiko") == Name("Ildiko", "Rhijn", "van")
    assert person("van Rhijn", "Ildiko", split=False) == Name("Ildiko", "van Rhijn")
    assert person("King, Jr.", "Martin") == person("King", "Martin, Jr.") == person("King", "Martin Jr.")
    assert person("King", "Jr.", "Martin") == Name("Martin", "King", "", "Jr.")
    assert person("", "Plato") == Name(family="Plato")
    assert person("others") == literal("et al") == OTHERS


def test_names_are_stored_as_text_where_that_says_all() -> None:
    assert compact(Name("Jane", "Doe")) == "Jane Doe"
    assert compact(OTHERS) == "et al."
    assert compact(Name("Gabriel", "García Márquez")) == Name("Gabriel", "García Márquez")


def test_people_of_older_libraries_are_taken_out_of_the_other_fields() -> None:
    extra = {"editor": "R. Roe; Jan van Doe", "bookauthor": "A. Poe", "volume": "3", "translator": ""}
    assert take_people(extra) == {
        "container-author": [Name("A.", "Poe")],
        "editor": [Name("R.", "Roe"), Name("Jan", "Doe", "van")],
    }
    assert extra == {"volume": "3"}


@pytest.mark.parametrize("piece", ["a ", ",", "A, ", "&", "&amp;", "A ", " ", "."])
def test_any_text_takes_linear_time(piece: str) -> None:
    begin = time.perf_counter()
    parse(piece * 200_000)
    assert time.perf_counter() - begin < 5
