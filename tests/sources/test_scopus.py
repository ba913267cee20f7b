"""The CSV export of Scopus, and its references."""

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import scopus


def test_rows() -> None:
    records = taken(scopus, DATA / "scopus.csv")
    assert not problems(records)
    article, second = papers(records)
    assert article.title == 'Counting "boats" in the harbour'
    assert article.abstract == "We count boats. All of them."
    assert [*map(str, article.authors)] == ["Ada Berg", "Bo Lund"]
    assert (article.year, article.venue) == (2015, "Harbour Studies")
    assert article.ids == ["doi:10.9999/boats.2015.1", "pmid:30000001", "scopus:2-s2.0-1"]
    assert article.keywords == ["boats", "harbours", "Tides"]
    assert (article.extra["pages"], article.extra["type"]) == ("1-9", "Article")
    assert [each.title for each in article.references] == [
        "Older boats, and other floats",
        "Even older boats",
        "A boat with a DOI",
    ]
    assert (second.title, [*map(str, second.authors)], second.abstract) == ("Tides move the boats", [], "")


@pytest.mark.parametrize(
    ("cited", "expected"),
    [
        (
            "Berg, A., Lund, B.-C., Jr., Counting boats: a study (2015) Harbour Studies, 3 (2), pp. 1-9. , doi: 10.9999/x.1",
            Reference(["doi:10.9999/x.1"], "Counting boats: a study", 2015, ["A. Berg", "B.-C. Lund Jr."]),
        ),
        (
            "van der Berg A.B., et al., Counting boats, Harbour Studies, 3, pp. 1-9, (2015)",
            Reference([], "Counting boats", 2015, ["A.B. van der Berg"]),
        ),
        ("Berg A., A book of tides, (2015)", Reference([], "A book of tides", 2015, ["A. Berg"])),
        ("Counting boats, Harbour Studies, 3, (2015)", None),
        ("Berg A., Counting boats, Harbour Studies", None),
        ("https://doi.org/10.9999/x.1", Reference(["doi:10.9999/x.1"])),
        ("", None),
    ],
)
def test_references(cited: str, expected: Reference | None) -> None:
    assert scopus.reference(cited) == expected


def test_a_long_reference_takes_linear_time() -> None:
    assert scopus.reference("Berg A., " * 200_000 + "Boats, (2001)") is not None
    assert scopus.reference("(" * 1_000_000) is None
    assert scopus.reference("a, " * 500_000 + "(2001) x") is None
