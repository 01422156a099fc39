"""Closures of operations on one and two operands: Python's numbers are computed at once, and
`apply` does everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.backend import INT_MAX, INT_MIN
from ..compilation.compiler import Closure, Compiler
from ..formulas.formula_source import REFUSING
from ..formulas.functions import scalar_function
from ..formulas.scalars import FAST
from ..operations.apply import apply
from ..operations.equality import compare
from ..trace.tape import Site
from ..values.boxes import Dual

_REALS = frozenset((float, int))
_EXACT_ON_INTS = frozenset(("add", "sub", "mul", "floordiv", "mod"))


def unary(c: Compiler, site: Site, operand: Closure) -> Closure:
    """The closure of an operation on one operand."""
    if not (c.on_floats and site.op.differentiable):
        return lambda frame: apply(frame[0], site, (operand(frame),))
    function: Callable[[float], float] = FAST.get(site.op.name) or scalar_function(site.op)

    def closure(frame: list[Any]) -> Any:
        a = operand(frame)
        if type(a) is float:
            try:
                return function(a)
            except REFUSING:
                pass
        return apply(frame[0], site, (a,))

    return closure


def binary(c: Compiler, site: Site, left: Closure, right: Closure) -> Closure:
    """The closure of an operation on two operands."""
    if site.op.integers == "bool":
        return _comparison(c, site, left, right)
    function = FAST.get(site.op.name)
    if function is None or not c.on_floats:
        return lambda frame: apply(frame[0], site, (left(frame), right(frame)))
    is_exact = site.op.name in _EXACT_ON_INTS

    def closure(frame: list[Any]) -> Any:
        a, b = left(frame), right(frame)
        try:
            if type(a) is float:
                if type(b) is float or type(b) is int:
                    return function(a, b)
            elif type(a) is int:
                if type(b) is float:
                    return function(a, b)
                if is_exact and type(b) is int and INT_MIN <= (y := function(a, b)) <= INT_MAX:
                    return y
        except REFUSING:
            pass
        return apply(frame[0], site, (a, b))

    return closure


def _comparison(c: Compiler, site: Site, left: Closure, right: Closure) -> Closure:
    """The closure of a comparison, which records nothing: of a traced number it takes the
    primal."""
    function = FAST.get(site.op.name)
    if function is None or not c.on_floats:
        return lambda frame: compare(frame[0], site, left(frame), right(frame))

    def closure(frame: list[Any]) -> Any:
        a, b = left(frame), right(frame)
        x, y = _primal(a), _primal(b)
        if type(x) in _REALS and type(y) in _REALS:
            # Python compares an int and a float as they are; here the int becomes a float.
            return function(x, y) if type(x) is type(y) else function(float(x), float(y))
        return compare(frame[0], site, a, b)

    return closure


def _primal(value: Any) -> Any:
    if type(value) is tuple:
        return value[0]
    return value.primal if type(value) is Dual else value
