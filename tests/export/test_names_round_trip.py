"""Names are read in their parts and come back unchanged through every format, and through any chain of formats."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.papers import OTHERS, Name, Paper
from citewell.text.names import literal, person
from tests.export.test_round_trip import READERS, exported, read_back

quick = settings(
    max_examples=int(os.environ.get("CITEWELL_FUZZ", "150")), deadline=None, suppress_health_check=list(HealthCheck)
)
MANY = 100_000
BATCH = 500

GIVEN = (
    *("Ada", "Jean-Pierre", "J.", "J.-P.", "A. B.", "José María", "Ægir", "Óscar", "ʻOkina", "Wei", "Иван", "小明", "محمد"),
    *(
        "Anne and Bob",
        "a.",
        "d'Arcy",
        "Zoë & co",
        "van",
        "5%",
        "#1",
        "C_3",
        "x~y",
        "{b}",
        "back\\slash",
        "$x$",
        "^",
        "Bob (Rob)",
    ),
    *('"Bo"', "''quoted''", "--", "<i>", "T=1", "AND", "The", "B;", "Md.", "et", "Bel\u00adla", "Nguyễn Thị", "e\u0301"),
)
FAMILY = (
    *("Lovelace", "García Márquez", "Van Rhijn", "O'Neill", "O’Neill", "Smith-Jones", "St. John", "al-Khwarizmi", "d'Alembert"),
    *(
        "Ortega y Gasset",
        "de la Cruz",
        "la Fontaine",
        "boyd",
        "王",
        "Ивано́в",
        "بن سلمان",
        "Ünal",
        "ñandú",
        "Straße",
        "and",
        "X and Y",
    ),
    *(
        "Organization",
        "World Health",
        "Group",
        "Jr.",
        "II",
        "0001",
        "1st",
        "of",
        "The Who",
        "Wang 0001",
        "et al",
        "A & B",
        "50%",
    ),
    *("a_b", "x~y", "{c}", "a\\b", "$1", "#", "''t", "'t Hooft", "``q", "a--b", "family=x", "given", "A;B", "A; B", "<Smith>"),
)
PARTICLE = (
    "van",
    "van der",
    "de la",
    "von und zu",
    "Van",
    "De La",
    "van Der",
    "d'",
    "'t",
    "al",
    "ben",
    "ибн",
    "بن",
    "中",
    "y",
    "of",
    "and",
)
SUFFIX = ("Jr.", "Jr", "Sr.", "III", "IV", "PhD", "2nd", "0001", "Esq. and Sons", "小", "M. D.")
LITERAL = (
    *("World Health Organization", "Google", "ATLAS Collaboration", "Barnes and Noble", "Research, Development and Co., Inc."),
    *("University of California, Berkeley", "A,B", "The {Group}", "R&D $5 #1 100% a_b", "van den Hul", "王小明", "Smith, John"),
    *(
        "others and more",
        "et al. and Sons",
        "Smith et al.",
        "Ministry of Health; Wellness",
        "family=x, given=y",
        "X ,, Y",
        "--",
    ),
    *("''", "C:\\x", "~", "and", "Jane Doe", "Jr.", "PLATO", "a", "<b>Bold</b>", "O’Reilly", "'t Hooft Institute", "1"),
)

words = st.sampled_from((*GIVEN, *FAMILY)) | st.text("abcXYZéßЖ中'’.-&%#_{}\\$~^ ;=", min_size=1, max_size=8)
persons = st.builds(
    person,
    st.sampled_from(FAMILY) | words,
    st.just("") | st.sampled_from(GIVEN) | words,
    st.just("") | st.sampled_from(SUFFIX),
    st.just("") | st.sampled_from(PARTICLE),
    split=st.booleans(),
)
literals = st.builds(literal, st.sampled_from(LITERAL) | st.lists(words, min_size=1, max_size=4).map(", ".join))
names = (persons | literals | st.just(OTHERS)).filter(any)


def through(listed: list[Name], format: str) -> list[Name]:
    """The names after a paper with them was written and read again."""
    (paper,) = read_back(exported([Paper("A title", authors=listed, ids=["doi:10.1000/1"])], format), format)
    assert isinstance(paper, Paper), paper
    return paper.authors


@pytest.mark.parametrize("format", READERS)
def test_names_come_back(format: str) -> None:
    @quick
    @given(st.lists(names, min_size=1, max_size=5))
    def come_back(listed: list[Name]) -> None:
        assert through(listed, format) == listed

    come_back()


@quick
@given(st.lists(names, min_size=1, max_size=4), st.lists(st.sampled_from(sorted(READERS)), min_size=2, max_size=4))
def test_names_come_back_through_any_chain(listed: list[Name], chain: list[str]) -> None:
    carried = listed
    for format in chain:
        carried = through(carried, format)
    assert carried == listed


@pytest.mark.slow
@pytest.mark.parametrize("format", READERS)
def test_a_hundred_thousand_names_come_back(format: str) -> None:
    draw = random.Random(7)
    changed = []
    for _ in range(0, MANY, BATCH):
        listed = [_drawn(draw) for _ in range(BATCH)]
        changed += [pair for pair in zip(listed, through(listed, format), strict=True) if pair[0] != pair[1]]
    assert not changed, f"{len(changed)} of {MANY} changed, such as {changed[:3]}"


def _drawn(draw: random.Random) -> Name:
    """One name, made like those of `names` but faster."""
    match draw.randrange(12):
        case 0:
            return OTHERS
        case 1 | 2:
            return literal(", ".join(draw.sample((*LITERAL, *FAMILY, *GIVEN), draw.randint(1, 3))))
        case _:
            family = " ".join(draw.sample((*FAMILY, *GIVEN), draw.choice((1, 1, 1, 2))))
            given = " ".join(draw.sample((*GIVEN, *FAMILY), draw.choice((0, 1, 1, 1, 2))))
            suffix, particle = (draw.choice(parts) if draw.random() < 0.25 else "" for parts in (SUFFIX, PARTICLE))
            return person(family, given, suffix, particle, split=draw.random() < 0.7)
