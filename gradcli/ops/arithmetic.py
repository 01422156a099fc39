"""Arithmetic: the operators, powers and logarithms, and the elementwise functions that round,
compare and choose."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op

INF = math.inf
REAL = (-INF, INF)
POSITIVE = (0.1, INF)
LN2, LN10 = math.log(2.0), math.log(10.0)


_op = partial(Op, category="arithmetic")


def _zero(m: Any, y: Any, *operands: Any) -> Any:
    return 0.0


def _pow_by_base(m: Any, y: Any, a: Any, b: Any) -> Any:
    # At b = 0 the power of b - 1 may overflow, while the slope is 0; it is still a function of b
    # there.
    return m.where(
        b == 0, m.where(a == 0, 0.0, b * a**b / m.where(a == 0, 1.0, a)), b * a ** (b - 1)
    )


def _pow_by_exponent(m: Any, y: Any, a: Any, b: Any) -> Any:
    # y * log(a) is 0 * -inf at a = 0, where the limit is 0.
    return m.where(a == 0, m.where(m.real(b) >= 0, 0.0, -INF), y * m.log(a))


def _cosine(m: Any, a: Any, b: Any) -> Any:
    length = m.hypot(a, b)
    return m.where(length == 0, 0.0, a / length)


def _per_length(m: Any, part: Any, a: Any, b: Any) -> Any:
    """part / hypot(a, b), and 0 at the origin."""
    length = m.hypot(a, b)
    return m.where(length == 0, 0.0, part / length)


def _trunc_form(s: Any, x: Any) -> Any:
    return s.sign(x) * s.floor(s.Abs(x))


def _round_form(s: Any, x: Any) -> Any:
    half_up = s.floor(x + s.Rational(1, 2))
    return s.Piecewise(
        (2 * s.floor(x / 2 + s.Rational(1, 4)), s.Eq(half_up, x + s.Rational(1, 2))),
        (half_up, True),
    )


OPS = [
    # ---- operators -------------------------------------------------------------------------------
    _op(
        "add",
        "a, b",
        "The sum of two values.",
        symbolic=lambda s, a, b: a + b,
        infix="+",
        integers="keep",
        partials=(lambda m, y, a, b: 1.0, lambda m, y, a, b: 1.0),
    ),
    _op(
        "sub",
        "a, b",
        "The difference of two values.",
        symbolic=lambda s, a, b: a - b,
        infix="-",
        primitive="subtract",
        integers="keep",
        aliases=("subtract",),
        partials=(lambda m, y, a, b: 1.0, lambda m, y, a, b: -1.0),
    ),
    _op(
        "mul",
        "a, b",
        "The product of two values.",
        symbolic=lambda s, a, b: a * b,
        infix="*",
        primitive="multiply",
        integers="keep",
        aliases=("multiply",),
        partials=(lambda m, y, a, b: b, lambda m, y, a, b: a),
    ),
    _op(
        "div",
        "a, b",
        "The quotient of two values; ints give a float, division by zero inf or nan.",
        symbolic=lambda s, a, b: a / b,
        infix="/",
        primitive="true_divide",
        aliases=("divide", "true_divide"),
        domain=(REAL, POSITIVE),
        partials=(lambda m, y, a, b: 1.0 / b, lambda m, y, a, b: -y / b),
    ),
    _op(
        "floordiv",
        "a, b",
        "The quotient rounded down.",
        symbolic=lambda s, a, b: s.floor(a / b),
        infix="//",
        primitive="floor_divide",
        integers="keep",
        aliases=("floor_divide",),
        domain=(REAL, POSITIVE),
        note="derivative 0, connected",
        partials=(_zero, _zero),
    ),
    _op(
        "mod",
        "a, b",
        "The remainder, with the sign of b, as in Python.",
        symbolic=lambda s, a, b: a - b * s.floor(a / b),
        infix="%",
        primitive="remainder",
        integers="keep",
        aliases=("remainder",),
        domain=(REAL, POSITIVE),
        note="at a multiple of b the derivative is that of the right-hand side",
        partials=(lambda m, y, a, b: 1.0, lambda m, y, a, b: -m.floordiv(a, b)),
    ),
    _op(
        "pow",
        "a, b",
        "a to the power b; an int to a negative int power is a float.",
        symbolic=lambda s, a, b: a**b,
        infix="**",
        primitive="power",
        integers="keep",
        aliases=("power", "float_power"),
        domain=(POSITIVE, REAL),
        note=(
            "x**0 at 0 has derivative 0; where b - 1 rounds, ∂/∂a is off by up to |(b - 1) * "
            "log(a)| ulps more"
        ),
        partials=(_pow_by_base, _pow_by_exponent),
    ),
    _op(
        "neg",
        "x",
        "The value with its sign turned.",
        symbolic=lambda s, x: -x,
        infix="unary -",
        primitive="negative",
        integers="keep",
        aliases=("negative",),
        partials=(lambda m, y, x: -1.0,),
    ),
    _op(
        "pos",
        "x",
        "The value itself.",
        symbolic=lambda s, x: x,
        infix="unary +",
        primitive="positive",
        integers="keep",
        aliases=("positive",),
        partials=(lambda m, y, x: 1.0,),
    ),
    # ---- powers and logarithms -------------------------------------------------------------------
    _op(
        "square",
        "x",
        "The square of a value.",
        symbolic=lambda s, x: x**2,
        integers="keep",
        partials=(lambda m, y, x: 2.0 * x,),
    ),
    _op(
        "sqrt",
        "x",
        "The square root.",
        domain=(POSITIVE,),
        note="derivative inf at 0",
        partials=(lambda m, y, x: 0.5 / y,),
    ),
    _op(
        "cbrt",
        "x",
        "The real cube root, of negative values too.",
        symbolic=lambda s, x: s.sign(x) * s.Abs(x) ** s.Rational(1, 3),
        domain=(POSITIVE,),
        note="derivative inf at 0",
        partials=(lambda m, y, x: 1.0 / (3.0 * y * y),),
    ),
    _op("exp", "x", "e to the power x.", partials=(lambda m, y, x: y,)),
    _op(
        "exp2",
        "x",
        "2 to the power x.",
        symbolic=lambda s, x: 2**x,
        partials=(lambda m, y, x: LN2 * y,),
    ),
    _op(
        "expm1",
        "x",
        "exp(x) - 1, accurate near 0.",
        symbolic=lambda s, x: s.exp(x) - 1,
        partials=(lambda m, y, x: m.exp(x),),
    ),
    _op(
        "log",
        "x",
        "The natural logarithm.",
        domain=(POSITIVE,),
        note="derivative inf at 0",
        partials=(lambda m, y, x: 1.0 / x,),
    ),
    _op(
        "log2",
        "x",
        "The logarithm to base 2.",
        symbolic=lambda s, x: s.log(x) / s.log(2),
        domain=(POSITIVE,),
        note="derivative inf at 0",
        partials=(lambda m, y, x: (1.0 / LN2) / x,),
    ),
    _op(
        "log10",
        "x",
        "The logarithm to base 10.",
        symbolic=lambda s, x: s.log(x) / s.log(10),
        domain=(POSITIVE,),
        note="derivative inf at 0",
        partials=(lambda m, y, x: (1.0 / LN10) / x,),
    ),
    _op(
        "log1p",
        "x",
        "log(1 + x), accurate near 0.",
        symbolic=lambda s, x: s.log(1 + x),
        domain=((-0.9, INF),),
        note="derivative inf at -1",
        partials=(lambda m, y, x: 1.0 / (1.0 + x),),
    ),
    _op(
        "hypot",
        "a, b",
        "The length of the vector (a, b), without overflow.",
        symbolic=lambda s, a, b: s.sqrt(a**2 + b**2),
        note="derivative 0 at the origin",
        partials=(lambda m, y, a, b: m.cosine(a, b), lambda m, y, a, b: m.cosine(b, a)),
    ),
    # An op of its own, as the quotient's rule cancels where b is much smaller than a.
    _op(
        "cosine",
        "a, b",
        "a / hypot(a, b), and 0 at the origin.",
        symbolic=lambda s, a, b: a / s.sqrt(a**2 + b**2),
        internal=True,
        forward=_cosine,
        partials=(
            lambda m, y, a, b: _per_length(m, m.square(m.cosine(b, a)), a, b),
            lambda m, y, a, b: _per_length(m, -m.cosine(b, a) * y, a, b),
        ),
    ),
    # ---- signs and rounding ----------------------------------------------------------------------
    _op(
        "abs",
        "x",
        "The absolute value.",
        symbolic=lambda s, x: s.Abs(x),
        integers="keep",
        aliases=("absolute", "fabs"),
        domain=(POSITIVE,),
        note="derivative 0 at 0",
        partials=(lambda m, y, x: m.sign(x),),
        complex_partials=(lambda m, y, x: m.where(x == 0, 0.0, y / x),),  # conj(sign(x)), analytic
    ),
    _op(
        "sign",
        "x",
        "-1, 0 or 1.",
        integers="keep",
        domain=(POSITIVE,),
        note="derivative 0, connected",
        real_only=True,
        partials=(_zero,),
    ),
    _op(
        "floor",
        "x",
        "The next whole number below, as a float.",
        integers="keep",
        domain=((0.1, 0.9),),
        note="derivative 0, connected",
        partials=(_zero,),
    ),
    _op(
        "ceil",
        "x",
        "The next whole number above, as a float.",
        symbolic=lambda s, x: s.ceiling(x),
        integers="keep",
        domain=((0.1, 0.9),),
        note="derivative 0, connected",
        partials=(_zero,),
    ),
    _op(
        "round",
        "x",
        "The nearest whole number, halves to even, as a float.",
        symbolic=_round_form,
        integers="keep",
        aliases=("around", "rint"),
        domain=((-0.4, 0.4),),
        note="derivative 0, connected",
        partials=(_zero,),
    ),
    _op(
        "trunc",
        "x",
        "The whole number next towards 0, as a float.",
        symbolic=_trunc_form,
        integers="keep",
        aliases=("fix",),
        domain=((0.1, 0.9),),
        note="derivative 0, connected",
        partials=(_zero,),
    ),
    _op(
        "fmod",
        "a, b",
        "The remainder, with the sign of a, as in C.",
        symbolic=lambda s, a, b: a - b * _trunc_form(s, a / b),
        integers="keep",
        domain=(REAL, POSITIVE),
        note="at a multiple of b the derivative is that of the side away from 0",
        partials=(lambda m, y, a, b: 1.0, lambda m, y, a, b: -m.round((a - y) / b)),
    ),
]
