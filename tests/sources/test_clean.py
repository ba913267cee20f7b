"""Values of any type become valid field values, or empty ones."""

import math

import pytest

from citewell.sources import clean


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("  two \n\t words\u00a0here ", "two words here"),
        ("a\x00b\ud800c \x07 d", "abc d"),
        ("soft\u00adhyphen and 𝒜", "soft\u00adhyphen and 𝒜"),
        (12, "12"),
        (12.0, "12"),
        (2.5, "2.5"),
        (10**400, ""),
        (math.nan, ""),
        (math.inf, ""),
        (True, ""),
        (None, ""),
        (["x"], ""),
        ({"x": 1}, ""),
    ],
)
def test_text(given: object, expected: str) -> None:
    assert clean.text(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("H<sub>2</sub>O and <i>E. coli</i>", "H2O and E. coli"),
        ("<jats:title>Abstract</jats:title><jats:p>One.</jats:p><jats:p>Two.</jats:p>", "Abstract One. Two."),
        ('<span class="x">a</span><br/>b', "a b"),
        ("p < 0.05 and q > 3, a<b and c>d", "p < 0.05 and q > 3, a<b and c>d"),
        (None, ""),
    ],
)
def test_markup(given: object, expected: str) -> None:
    assert clean.untagged(given) == expected


def test_lines_removes_only_unstorable_characters() -> None:
    assert clean.lines("one\n\n  two\ttabs\r\n") == "one\n\n  two\ttabs\r\n"
    assert clean.lines("a\x00\udfffb\n") == "ab\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (2020, 2020),
        (2020.0, 2020),
        ("2020", 2020),
        ("c. 1998a", 1998),
        ("May 17, 2004", 2004),
        ("12020", None),
        (999, None),
        (2101, None),
        (10**40, None),
        (math.nan, None),
        (True, None),
        ("in press", None),
        (None, None),
    ],
)
def test_year(given: object, expected: int | None) -> None:
    assert clean.year(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2020-05-17", "2020-05-17"),
        ("2020-5", "2020-05"),
        ("2020/05/17/", "2020-05-17"),
        ("2020-13-01", "2020"),
        ("2020-05-17T10:00:00Z", "2020-05-17"),
        ("2020-05/2020-06", "2020-05"),
        ("20200517", ""),
        ("soon", ""),
        (2020, ""),
    ],
)
def test_date(given: object, expected: str) -> None:
    assert clean.date(given) == expected


def test_keywords_on_one_line() -> None:
    assert clean.listed_keywords("one, two,,two") == ["one", "two"]
    assert clean.listed_keywords("one, with comma; two;") == ["one, with comma", "two"]
