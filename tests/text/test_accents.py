"""TeX accents become letters, formulas stay formulas."""

import pytest

from citewell.text.accents import decode_tex_accents


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"G\"odel, G{\"o}del, G\"{o}del", "Gödel, Gödel, Gödel"),
        (r"Erd\H{o}s and Ho\v{r}ej\v s", "Erdős and Hořejš"),
        (r"Mart\'{\i}nez, Mart\'\i nez, na\"ive", "Martínez, Martínez, naïve"),
        (r"{\O}stergaard, \L{}uka, {\ss}, \AA rhus", "Østergaard, Łuka, ß, Århus"),
        (r"Fran\c{c}ois, \`a la", "François, à la"),
        (r"$\'x$ and \alpha and \cite{x}", r"$\'x$ and \alpha and \cite{x}"),
        ("plain {braces} stay", "plain {braces} stay"),
        ("\\", "\\"),
    ],
)
def test_accents(written: str, read: str) -> None:
    assert decode_tex_accents(written) == read
