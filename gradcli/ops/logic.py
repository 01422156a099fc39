"""Comparisons and tests, which give bools and have no derivative, and the parts of complex numbers."""

from __future__ import annotations

from typing import Any

from .op import Op
from .rows import elementwise


def _test(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="logic", integers="bool", differentiable=False, **facts)


def _complex(name: str, summary: str, **facts: Any) -> Op:
    return Op(name, "x", summary, category="casting", **facts)


def _turn(m: Any, y: Any, x: Any) -> Any:
    return m.where(x == 0, 0.0, -1j / x)


OPS = [
    _test("eq", "a, b", "Whether two values are equal.", infix="==", primitive="equal"),
    _test("ne", "a, b", "Whether two values differ.", infix="!=", primitive="not_equal", aliases=("not_equal",)),
    _test("lt", "a, b", "Whether a is smaller.", infix="<", primitive="less", aliases=("less",)),
    _test("le", "a, b", "Whether a is smaller or equal.", infix="<=", primitive="less_equal", aliases=("less_equal",)),
    _test("gt", "a, b", "Whether a is larger.", infix=">", primitive="greater", aliases=("greater",)),
    _test("ge", "a, b", "Whether a is larger or equal.", infix=">=", primitive="greater_equal", aliases=("greater_equal",)),
    _test("logical_not", "x", "Whether a value is false.", infix="not"),
    _test("isnan", "x", "Whether a value is nan."),
    _test("isinf", "x", "Whether a value is inf or -inf."),
    _test("isfinite", "x", "Whether a value is neither inf nor nan."),

    # Partials are conjugated on the way back (∂f/∂re + i ∂f/∂im); only `conj` itself is not analytic in that sense.
    _complex("real", "The real part.", integers="keep", partials=(lambda m, y, x: 1.0,)),
    _complex("imag", "The imaginary part.", integers="keep", partials=(lambda m, y, x: -1j,)),
    _complex("angle", "The angle of a complex number, from -pi to pi.", domain=((0.1, float("inf")),),
             note="derivative 0 at 0", partials=(_turn,)),
    _complex("conj", "The complex conjugate.", aliases=("conjugate",),
             compute=lambda xp, x: xp.conj(x), rows=elementwise, linear=True, vjp=(lambda m, g, y, x: m.conj(g),)),
]  # fmt: skip
