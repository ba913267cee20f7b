"""BibTeX's grammar of names."""

import time

import pytest

from citewell.papers import OTHERS, Name
from citewell.sources.bibtex_names import people


@pytest.mark.parametrize(
    ("written", "name"),
    [
        # First von Last
        ("Jane Doe", Name("Jane", "Doe")),
        ("Jean de la Fontaine", Name("Jean", "Fontaine", "de la")),
        ("Charles Louis de la Vall{\\'e}e Poussin", Name("Charles Louis", "Vallée Poussin", "de la")),
        ("jean de la fontaine", Name("", "fontaine", "jean de la")),
        ("Jean {de} la Fontaine", Name("Jean de", "Fontaine", "la")),
        ("AA bb CC dd EE", Name("AA", "EE", "bb CC dd")),
        ("{\\'e}tienne Blanc", Name("", "Blanc", "étienne")),
        ("{\\'E}tienne Blanc", Name("Étienne", "Blanc")),
        ("Ana Pe\\~na", Name("Ana", "Peña")),
        ("A.~B.\\ Mu\\~{n}oz", Name("A. B.", "Muñoz")),
        ("Ana {\\Unknown} Berg", Name("Ana", "Berg")),
        ("D.~E. Knuth", Name("D. E.", "Knuth")),
        ("Plato", Name(family="Plato")),
        ("von Neumann", Name("", "Neumann", "von")),
        ("Van{ }Rhijn", Name(family="Van Rhijn")),
        ("Martin Luther King Jr.", Name("Martin Luther", "King", "", "Jr.")),
        ("M. L. Jr. King", Name("M. L.", "King", "", "Jr.")),
        # von Last, First and von Last, Jr, First
        ("García Márquez, Gabriel", Name("Gabriel", "García Márquez")),
        ("Van Rhijn, Ildiko", Name("Ildiko", "Van Rhijn")),
        ("van der Berg, Jan", Name("Jan", "Berg", "van der")),
        ("{van der Berg}, Jan", Name("Jan", "van der Berg")),
        ("Ortega y Gasset, José", Name("José", "Ortega y Gasset")),
        ("{\\uppercase{v}an} Rhijn, Ildiko", Name("Ildiko", "Rhijn", "Van")),
        ("King, Jr., Martin Luther", Name("Martin Luther", "King", "", "Jr.")),
        ("de la Cruz, III, Juan", Name("Juan", "Cruz", "de la", "III")),
        ("Van Rhijn,", Name(family="Van Rhijn")),
        # BibLaTeX
        ("family=Rhijn, given=Ildiko, prefix=van, suffix=Jr., given-i=I", Name("Ildiko", "Rhijn", "van", "Jr.")),
        ('family={García Márquez}, given="Gabriel"', Name("Gabriel", "García Márquez")),
        # organisations
        ("{World Health Organization}", Name(literal="World Health Organization")),
        ("{Google, Inc.}", Name(literal="Google, Inc.")),
        ('{\\"O}sterreichische {Akademie}, Wien', Name("Wien", "Österreichische Akademie")),
        ("World Health Organization", Name(literal="World Health Organization")),
        # what BibTeX would misread
        ("Martin Luther King, Jr.", Name("Martin Luther", "King", "", "Jr.")),
        ("Berg, JR", Name("JR", "Berg")),
        ("King, Martin Luther, Jr.", Name("Martin Luther", "King", "", "Jr.")),
        ("M&uuml;ller, J&ouml;rg", Name("Jörg", "Müller")),
        ("others", OTHERS),
    ],
)
def test_one_name(written: str, name: Name) -> None:
    assert people(written) == [name]


DOE, ROE = Name("J.", "Doe"), Name("R.", "Roe")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Doe, J. and Roe, R.", [DOE, ROE]),
        ("Doe, J. AND\n  R. Roe", [DOE, ROE]),
        ("Doe, J. and {Barnes and Noble}", [DOE, Name(literal="Barnes and Noble")]),
        ("Doe, J. and others", [DOE, OTHERS]),
        ("Doe, J. and et al.", [DOE, OTHERS]),
        ("Doe, J. and Roe, R. et al.", [DOE, ROE, OTHERS]),
        ("Doe, J., et al", [DOE, OTHERS]),
        ("{Doe et al.}", [Name(literal="Doe et al.")]),
        ("Jane Etal", [Name("Jane", "Etal")]),
        ("Doe, J.; Roe, R.", [DOE, ROE]),
        ("Doe, J., Roe, R.", [DOE, ROE]),
        ("J. Doe, R. Roe, J. Doe", [DOE, ROE, DOE]),
        ("Doe, J. and and Roe, R.", [DOE, ROE]),
        (" and ", []),
        ("{}", []),
    ],
)
def test_lists(written: str, names: list[Name]) -> None:
    assert people(written) == names


@pytest.mark.parametrize("piece", ["{", "}", "{}", "a ", " and ", ", ", "~", "\\", "{a} ", "; ", "et al. ", "\\uppercase", "="])
def test_any_list_takes_linear_time(piece: str) -> None:
    begin = time.perf_counter()
    people(piece * 50_000)
    people("A" + piece * 50_000 + "B")
    assert time.perf_counter() - begin < 5
