"""Names in JSON: texts, and objects with parts."""

import pytest

from citewell.papers import OTHERS, Name
from citewell.sources.json_names import name, names


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Jane Doe", Name("Jane", "Doe")),
        ({"name": "John  Smith"}, Name("John", "Smith")),
        ({"given": "Ludwig", "non-dropping-particle": "van", "family": "Beethoven"}, Name("Ludwig", "Beethoven", "van")),
        ({"given": "Jean", "dropping-particle": "de", "family": "La Fontaine"}, Name("Jean", "La Fontaine", "de")),
        ({"given": "Ludwig", "family": "van Beethoven"}, Name("Ludwig", "Beethoven", "van")),
        ({"given": "Juan", "family": "de la Cruz", "parse-names": False}, Name("Juan", "de la Cruz")),
        ({"given": "Juan", "family": "de la Cruz", "particle": ""}, Name("Juan", "de la Cruz")),
        ({"first": "Martin", "middle": ["L."], "last": "King", "suffix": "Jr."}, Name("Martin L.", "King", "", "Jr.")),
        ({"given": "Martin, Jr.", "family": "King,"}, Name("Martin", "King", "", "Jr.")),
        ({"literal": "The Group"}, Name(literal="The Group")),
        ({"literal": "others"}, OTHERS),
        (
            {"family": "Office of Science, Technology and Innovation"},
            Name(literal="Office of Science, Technology and Innovation"),
        ),
        ({"given": "Plato"}, Name(family="Plato")),
        (7, Name(family="7")),
    ],
)
def test_a_name(value: object, expected: Name) -> None:
    assert name(value) == expected


def test_lists_leave_out_what_is_no_name() -> None:
    assert names(["Jane Doe", None, {}, "", [], {"family": ""}]) == [Name("Jane", "Doe")]
    assert names(None) == []
    assert names("Jane Doe") == [Name("Jane", "Doe")]
