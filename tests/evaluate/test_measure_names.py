"""Names of measures: the same as ir-measures' own parser reads, on every Python."""

from __future__ import annotations

import sys

import ir_measures
import pytest

from citewell.evaluate import measures
from citewell.evaluate.measure_names import parse

NAMES = (
    "RR",
    "RR@10",
    "AP",
    "AP@10",
    "nDCG@10",
    "Rprec",
    "P@5",
    "R@1000",
    "Success@1",
    "AP(rel=2)@100",
    "P(rel=2)@5",
    "ERR@20",
)
TREC_EVAL = [name for name in measures.STANDARD if not name.startswith(("F1@", "nDCG-HC@"))]


@pytest.mark.parametrize("name", [*NAMES, *TREC_EVAL, "nDCG(dcg='exp-log2')@5"])
def test_a_name_prints_as_itself(name: str) -> None:
    measure = parse(name)
    assert str(measure).replace(" ", "") == name
    if sys.version_info < (3, 14):
        assert measure == ir_measures.parse_measure(name)


@pytest.mark.parametrize(
    "name", ["", "nothing", "P@", "P@x", "10", "P@5@5@", "__import__('os')", "P(1)", "P(colour=1)@5", "P-5"]
)
def test_anything_else_is_no_measure(name: str) -> None:
    with pytest.raises(ValueError):
        parse(name)
