"""Python integers that do not fit the array they meet: numpy 2.5 refuses them where older releases wrapped them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.library import Library
from citewell.library.index.postings import GONE
from tests import numpy_rules

PACKAGE = Path(numpy_rules.__file__).parents[1] / "citewell"
FITS = range(-(2**31), 2**31)


def in_citewell(expression: str) -> np.ndarray:
    """What `expression` evaluates to in a module of citewell."""
    return eval(expression, {"__name__": "citewell.somewhere", "np": np, "small": np.zeros(3, np.int32)})


@pytest.mark.parametrize(
    "expression",
    [
        "np.where(small == 0, 0xFFFFFFFF, small)",
        "np.where(small == 0, small, -(2**40))",
        "np.where(small == 0, np.uint8(1), 256)",
        "np.select([small == 0], [0xFFFFFFFF], small)",
        "np.select([small == 0], [small], 0xFFFFFFFF)",
        "np.choose(small, [0xFFFFFFFF, small])",
        "small + 0xFFFFFFFF",
        "np.full_like(small, 0xFFFFFFFF)",
    ],
)
def test_an_integer_that_does_not_fit_is_an_error_on_every_numpy(expression: str) -> None:
    if "where" not in expression and "select" not in expression and "choose" not in expression and np.__version__ < "2":
        pytest.skip("numpy 1 widens the array")
    with pytest.raises(OverflowError, match="out of bounds"):
        in_citewell(expression)


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("np.where(small == 0, 5, small)", np.int32),
        ("np.where(small == 0, -1, small)", np.int32),
        ("np.where(small == 0, np.uint32(0xFFFFFFFF), small.astype(np.uint32))", np.uint32),
        ("np.where(small == 0, 2**40, small.astype(np.int64))", np.int64),
        ("np.where(small == 0, 0, small.astype(np.float32))", np.float32),
    ],
)
def test_one_that_fits_keeps_the_dtype_of_the_array(expression: str, dtype: type) -> None:
    assert in_citewell(expression).dtype == dtype


def test_the_length_of_a_removed_paper_has_the_dtype_of_lengths() -> None:
    assert GONE.dtype == np.uint32 and int(GONE) == 2**32 - 1


def test_papers_without_text_are_indexed_under_the_rule(tiny: Library) -> None:
    """The first `add` on numpy 2.5 failed here: a paper without cited contexts has the length `GONE`."""
    lengths = [segment.postings.lengths for segment in tiny.index.segments("cited")]
    assert lengths and all(array.dtype == np.uint32 for array in lengths)


def _constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that a module gives to plain Python integers, and the integers."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = (
                    zip(target.elts, node.value.elts, strict=True)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else [(target, node.value)]
                )
                for name, value in pairs:
                    number = _integer(value)
                    if number is not None:
                        yield ast.unparse(name), number


def _integer(node: ast.expr) -> int | None:
    """The value of a literal or of arithmetic on literals, None for anything else."""
    if all(isinstance(part, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop) for part in ast.walk(node)):
        value = eval(compile(ast.Expression(node), "constant", "eval"))
        return value if type(value) is int else None
    return None


def test_large_constants_have_a_dtype() -> None:
    """A constant beyond 32 bits in a module that uses numpy is a numpy scalar, so that it cannot meet a smaller array."""
    untyped = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        if "import numpy" in source:
            untyped += [f"{path.name}: {name}" for name, value in _constants(ast.parse(source)) if value not in FITS]
    assert not untyped


def test_the_check_of_constants_sees_the_old_error() -> None:
    tree = ast.parse("GONE = 0xFFFFFFFF\nA, B = 1, (1 << 32) - 1\nC: int = 5\nD = np.uint32(0xFFFFFFFF)\nE = -(2**40)")
    assert {name for name, value in _constants(tree) if value not in FITS} == {"GONE", "B", "E"}
