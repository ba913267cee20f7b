"""Results as people see them: in a shell, a notebook, a data frame."""

from __future__ import annotations

import sys

import pytest

from citewell.errors import CitewellError
from citewell.papers import Paper, Query, QuotedSentence, Reason, Suggestion
from citewell.pipeline.results import Results
from citewell.text.names import parse_all

RESULTS = Results(
    Query("local", context="boats TARGETCIT"),
    "best",
    [
        Suggestion(
            1,
            Paper("Counting <boats>", authors=parse_all(["Mira Holt"]), year=2015, id="doi:10.1/boats"),
            2.5,
            [Reason("words", "Matches boats."), Reason("features", "Features: age +0.10.", detail=True)],
            [QuotedSentence("Boats are many.", "abstract", 0, 15, 1.0, ["boats"])],
        )
    ],
    ["Vectors for 3 papers are still being computed; results will improve."],
)


def test_it_is_a_sequence_of_suggestions() -> None:
    assert len(RESULTS) == 1 and RESULTS[0].paper.year == 2015 and [each.rank for each in RESULTS] == [1]
    assert RESULTS[:1] == RESULTS.suggestions


def test_it_prints_as_a_table_with_its_notes() -> None:
    assert repr(RESULTS).splitlines() == [
        "1 suggestion by 'best' for a local query",
        "  1     2.500  Counting <boats> (2015)",
        "note: Vectors for 3 papers are still being computed; results will improve.",
    ]


def test_it_shows_as_html_with_reasons_but_no_details() -> None:
    html = RESULTS._repr_html_()
    assert "Counting &lt;boats&gt; (2015)" in html and "Matches boats." in html and "Features" not in html
    assert "still being computed" in html


def test_it_becomes_a_data_frame_where_pandas_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CitewellError, match="pip install pandas"):
        RESULTS.to_frame()
    monkeypatch.undo()
    pandas = pytest.importorskip("pandas")
    frame = RESULTS.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("records")[0]["title"] == "Counting <boats>" and frame["sentences"][0] == ["Boats are many."]
