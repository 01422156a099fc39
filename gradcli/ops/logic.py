"""Comparisons and tests, which give bools and have no derivative, and the parts of complex
numbers."""

from __future__ import annotations

from typing import Any

from .op import Op
from .rows import elementwise


def _test(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(
        name, params, summary, category="logic", integers="bool", differentiable=False, **facts
    )


def _complex(name: str, summary: str, **facts: Any) -> Op:
    return Op(name, "x", summary, category="casting", **facts)


def _turn(m: Any, y: Any, x: Any) -> Any:
    return m.where(x == 0, 0.0, -1j / x)


OPS = [
    _test(
        "eq",
        "a, b",
        "Whether two values are equal.",
        symbolic=lambda s, a, b: s.compared("Eq", a, b),
        infix="==",
        primitive="equal",
    ),
    _test(
        "ne",
        "a, b",
        "Whether two values differ.",
        symbolic=lambda s, a, b: s.compared("Ne", a, b),
        infix="!=",
        primitive="not_equal",
        aliases=("not_equal",),
    ),
    _test(
        "lt",
        "a, b",
        "Whether a is smaller.",
        symbolic=lambda s, a, b: s.compared("Lt", a, b),
        infix="<",
        primitive="less",
        aliases=("less",),
    ),
    _test(
        "le",
        "a, b",
        "Whether a is smaller or equal.",
        symbolic=lambda s, a, b: s.compared("Le", a, b),
        infix="<=",
        primitive="less_equal",
        aliases=("less_equal",),
    ),
    _test(
        "gt",
        "a, b",
        "Whether a is larger.",
        symbolic=lambda s, a, b: s.compared("Gt", a, b),
        infix=">",
        primitive="greater",
        aliases=("greater",),
    ),
    _test(
        "ge",
        "a, b",
        "Whether a is larger or equal.",
        symbolic=lambda s, a, b: s.compared("Ge", a, b),
        infix=">=",
        primitive="greater_equal",
        aliases=("greater_equal",),
    ),
    _test(
        "logical_not",
        "x",
        "Whether a value is false.",
        symbolic=lambda s, x: s.Not(s.condition(x)),
        infix="not",
    ),
    _test(
        "logical_and",
        "a, b",
        "Whether both values are true.",
        symbolic=lambda s, a, b: s.And(s.condition(a), s.condition(b)),
    ),
    _test(
        "logical_or",
        "a, b",
        "Whether one of two values is true.",
        symbolic=lambda s, a, b: s.Or(s.condition(a), s.condition(b)),
    ),
    _test(
        "isnan",
        "x",
        "Whether a value is nan.",
        symbolic=lambda s, x: s.true if x is s.nan else s.false,
    ),
    _test(
        "isinf",
        "x",
        "Whether a value is inf or -inf.",
        symbolic=lambda s, x: s.true if x in (s.oo, -s.oo) else s.false,
    ),
    _test(
        "isfinite",
        "x",
        "Whether a value is neither inf nor nan.",
        symbolic=lambda s, x: s.false if x in (s.oo, -s.oo, s.nan) else s.true,
    ),
    # Partials are conjugated on the way back (∂f/∂re + i ∂f/∂im); only `conj` itself is not
    # analytic in that sense.
    _complex(
        "real",
        "The real part.",
        symbolic=lambda s, x: s.re(x),
        integers="keep",
        partials=(lambda m, y, x: 1.0,),
    ),
    _complex(
        "imag",
        "The imaginary part.",
        symbolic=lambda s, x: s.im(x),
        integers="keep",
        partials=(lambda m, y, x: -1j,),
    ),
    _complex(
        "angle",
        "The angle of a complex number, from -pi to pi.",
        symbolic=lambda s, x: s.arg(x),
        domain=((0.1, float("inf")),),
        note="derivative 0 at 0",
        partials=(_turn,),
    ),
    _complex(
        "conj",
        "The complex conjugate.",
        symbolic=lambda s, x: s.conjugate(x),
        aliases=("conjugate",),
        compute=lambda xp, x: xp.conj(x),
        rows=elementwise,
        linear=True,
        vjp=(lambda m, g, y, x: m.conj(g),),
    ),
]
