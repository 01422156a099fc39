"""Guards in generated loops: checks of numbers for which Python's arithmetic differs from that of
the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.formula import Formula
from ..analysis.frames import COMPARISONS
from ..backends.backend import INT_MAX, INT_MIN
from ..formulas.formula_source import is_number


def whole(y: Any) -> Any:
    """The number. Raises OverflowError for an int that doesn't fit into 64 bits."""
    if type(y) is int and not INT_MIN <= y <= INT_MAX:
        raise OverflowError
    return y


def exact(y: Any) -> Any:
    """The number. Raises OverflowError for an int that no float holds exactly, so that comparing
    it with a float may differ from comparing it with an int."""
    if type(y) is int and not -(2**53) <= y <= 2**53:
        raise OverflowError
    return y


def finite(y: float) -> float:
    """The number. Raises OverflowError if it isn't finite, as a product may have to be strict."""
    if y - y != 0.0:
        raise OverflowError
    return y


GUARDS: dict[str, Callable[..., Any]] = {
    "whole": whole,
    "exact": exact,
    "finite": finite,
    "float": float,
}


def with_floats(op: str, arguments: list[Formula], kinds: list[str]) -> tuple[Formula, ...]:
    """Arguments of these kinds, with ints converted to floats where the language does so and
    generated Python doesn't: Python compares and divides ints as they are, and products with 1.0
    are simplified away."""
    if op in COMPARISONS and "float" not in kinds:
        return tuple(
            [
                Formula("exact", None, (a,)) if "any" in kinds and a.kind != "number" else a
                for a in arguments
            ]
        )
    has_one = any(is_number(a, 1.0) for a in arguments)
    left_out = op in ("mul", "pow") and "float" in kinds and has_one
    if op in COMPARISONS or op == "div" or left_out:
        return tuple(
            [
                a if kind == "float" else _as_float(a)
                for a, kind in zip(arguments, kinds, strict=True)
            ]
        )
    return tuple(arguments)


def _as_float(formula: Formula) -> Formula:
    return (
        Formula("number", float(formula.value))
        if formula.kind == "number"
        else Formula("float", None, (formula,))
    )
