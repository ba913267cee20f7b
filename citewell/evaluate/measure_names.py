"""Measures of ir-measures by name, such as ``nDCG@10`` or ``AP(rel=2)@100``.

ir-measures 0.4 has a parser of its own that fails on Python 3.14, where `ast.Num` is gone.
"""

from __future__ import annotations

import ast
from typing import Any

import ir_measures


def parse(name: str) -> Any:
    """The measure called `name`; `ValueError` if there is none."""
    try:
        measure = _measure(ast.parse(name, mode="eval").body)
        str(measure)  # fails on a parameter that the measure does not have
        return measure
    except (SyntaxError, KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"there is no measure {name!r}") from error


def _measure(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            return ir_measures.measures.registry[name]
        case ast.Call(func=function, args=[], keywords=keywords):
            return _measure(function)(**{str(each.arg): ast.literal_eval(each.value) for each in keywords})
        case ast.BinOp(left=measure, op=ast.MatMult(), right=ast.Constant(value=cutoff)):
            return _measure(measure) @ cutoff
    raise ValueError(ast.unparse(node))
