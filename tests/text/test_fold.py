"""Folding of case and accents, which no other module does for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text import accents
from citewell.text.fold import ascii_letters, folded, folded_name

PACKAGE = Path(accents.__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "plain", "name", "key"),
    [
        ("Müller", "muller", "muller", "muller"),
        ("STRASSE, Straße", "strasse, strasse", "strasse, strasse", "strasse, strae"),
        ("Ångström ﬁnd", "angstrom find", "angstrom find", "angstrom find"),
        ("Łódź", "łodz", "łodz", "odz"),
        ("שָׁלוֹם", "שָׁלוֹם", "שלום", ""),
    ],
)
def test_forms(text: str, plain: str, name: str, key: str) -> None:
    assert (folded(text), folded_name(text), ascii_letters(text)) == (plain, name, key)


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_latin_text_folds_alike(text: str) -> None:
    assert folded(text) == folded_name(text)
    assert ascii_letters(text).isascii()


@pytest.mark.parametrize("accent", accents.ACCENTS)
def test_accents_are_folded_away(accent: str) -> None:
    assert folded(accents.with_accent("o", accent)) == "o"
    assert accent in accents.SIGN_ACCENTS + accents.LETTER_ACCENTS


def test_there_is_one_table_of_accents_and_one_folding() -> None:
    users = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "unicodedata" in path.read_text("utf-8")}
    assert users == {"text/fold.py", "text/accents.py"}
