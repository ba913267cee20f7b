"""CITATION.cff: the program, what to cite in its place, and what it uses."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import InputError, citation_cff


def test_the_program_and_its_works() -> None:
    records = taken(citation_cff, DATA / "CITATION.cff")
    program, article, book = papers(records)
    assert (program.title, program.date, program.ids) == ("boatcount", "2020-05-17", ["doi:10.9999/zenodo.1"])
    assert [*map(str, program.authors)] == ["Ada van der Berg", "The Harbour Group"]
    assert program.extra == {"version": "1.10", "license": "MIT", "type": "software"}
    assert program.references == [Reference([], "A book of tides", 2001, ["Kai Holm"])]
    assert (article.title, [*map(str, article.authors)], article.venue) == (
        "Counting boats in the harbour",
        ["Bo Lund"],
        "Harbour Studies",
    )
    assert (article.date, article.extra["pages"], article.ids) == ("2015-05", "1-9", ["doi:10.9999/boats.2015.1"])
    assert (book.title, book.venue) == ("A book of tides", "Imaginary Press")
    assert [(each.line, each.reason) for each in problems(records)] == [(32, "neither a title nor an identifier")]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("cff-version: 1.2.0\ntitle: [a\n", "not valid YAML in line 3"),
        ("cff-version: &a 1\ntitle: *a\n", "aliases are not supported"),
        ("cff-version: 1\ntitle: " + "[" * 100_000, "not valid YAML"),
        ("cff-version: 1\ntitle: " + "x" * 600_000, "longer than 500,000 characters"),
        ("cff-version: 1\n? [a]\n: b\n", "not valid YAML in line 2"),
    ],
)
def test_files_that_cannot_be_read(written: str, reason: str, tmp_path: Path) -> None:
    assert citation_cff.matches(written.encode())
    with pytest.raises(InputError, match=reason):
        taken(citation_cff, written.encode(), tmp_path)


def test_code_in_yaml_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not valid YAML"):
        taken(citation_cff, b"cff-version: 1\ntitle: !!python/object/apply:os.getcwd []\n", tmp_path)
