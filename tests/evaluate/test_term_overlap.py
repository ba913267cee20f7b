"""Term overlap: the share of a candidate's terms that the query contains, as a mean over the top k."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.term_overlap import is_overlap, overlap
from citewell.library import Library
from citewell.papers import Paper, Query
from tests.evaluate.small_set import small_set


def test_terms_count_once_as_stems_without_stop_words(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.take([Paper("The harbours of the coast", "A pilot and a pilot", ids=["x:1"]), Paper("Sextant", ids=["x:2"])])
        first, second = (library.store.find(name) or 0 for name in ("x:1", "x:2"))
        query = Query("global", title="harbour pilots", abstract="storm")
        assert overlap("Overlap@10", library, query, [first, second]) == pytest.approx((2 / 3 + 0) / 2)
        assert overlap("Overlap@1", library, query, [first, second]) == pytest.approx(2 / 3)
        assert math.isnan(overlap("Overlap@1", library, query, []))


def test_overlap_is_a_measure(tmp_path: Path) -> None:
    assert is_overlap("Overlap@1000")
    assert not is_overlap("Overlap@0")
    folder = small_set().write(tmp_path / "set")
    outcome = Evaluation(folder, "global", measures=["Overlap@5", "R@10"]).run(["bm25"]).outcomes[0]
    assert 0 < outcome.mean("Overlap@5") < 1
    assert "Overlap@5" not in Evaluation(folder, "global").run(["bm25"]).outcomes[0].values
