"""Numbers as SymPy has them, exactly: 0.1 is 1/10, what is written 3.141592653589793 is pi."""

from __future__ import annotations

import math
from typing import Any

import sympy as s

# Constants that the table's formulas are written with.
_NAMED: dict[float, Any] = {
    math.pi: s.pi,
    math.e: s.E,
    math.log(2.0): s.log(2),
    math.log(10.0): s.log(10),
    1.0 / math.log(2.0): 1 / s.log(2),
    1.0 / math.log(10.0): 1 / s.log(10),
    math.sqrt(0.5): 1 / s.sqrt(2),
    math.sqrt(math.pi): s.sqrt(s.pi),
    0.5 * math.sqrt(math.pi): s.sqrt(s.pi) / 2,
    2.0 / math.sqrt(math.pi): 2 / s.sqrt(s.pi),
    math.sqrt(2.0 * math.pi): s.sqrt(2 * s.pi),
    1.0 / math.sqrt(2.0 * math.pi): 1 / s.sqrt(2 * s.pi),
    180.0 / math.pi: 180 / s.pi,
    math.pi / 180.0: s.pi / 180,
}


def exact(value: Any) -> Any:
    """Converts a number of the language to the decimal that it is written as: the shortest that
    reads back as this float."""
    if isinstance(value, bool) or _kind(value) == "b":
        return s.true if value else s.false
    if isinstance(value, int) or _kind(value) in ("i", "u"):
        return s.Integer(int(value))
    if isinstance(value, complex) or _kind(value) == "c":
        return exact(value.real) + s.I * exact(value.imag)
    if value != value:
        return s.nan
    if value - value != 0:
        return s.oo if value > 0 else -s.oo
    return _NAMED[float(value)] if value in (math.pi, math.e) else s.Rational(str(value))


def binary(value: Any) -> Any:
    """Converts a number of the language to the exact value of its float: 0.1 is
    3602879701896397/36028797018963968."""
    if isinstance(value, complex) or _kind(value) == "c":
        return binary(value.real) + s.I * binary(value.imag)
    if (isinstance(value, float) or _kind(value) == "f") and value - value == 0:
        return s.Rational(float(value))
    return exact(value)


def of_table(value: Any) -> Any:
    """Converts a number in one of the table's formulas, where irrational ones stand as floats."""
    found = _NAMED.get(abs(value)) if isinstance(value, float) else None
    if found is None:
        return exact(value)
    return found if value > 0 else -found


def _kind(value: Any) -> str:
    return str(getattr(getattr(value, "dtype", None), "kind", ""))
