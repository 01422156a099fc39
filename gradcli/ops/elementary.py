"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op

INF = math.inf


_op = partial(Op, category="trigonometric")


def _root_one_plus_square(m: Any, x: Any) -> Any:
    """sqrt(1 + x²) without overflow, on the principal branch for complex x."""
    return m.where(m.abs(x) < 1e10, m.sqrt(1.0 + x * x), m.where(m.real(x) >= 0, x, -x))


def _inversion(m: Any, a: Any, b: Any) -> Any:
    """a / (a² + b²) without overflow, and 0 at the origin."""
    length = m.hypot(a, b)
    return m.where(length == 0, 0.0, a / length / length)


def _sinc_slope(m: Any, y: Any, x: Any) -> Any:
    """(cos πx - sinc x) / x, by its series near 0, where the difference cancels."""
    z = math.pi * x
    rise, w = math.pi * z, z * z
    series = 0.0
    for k in range(12, 0, -1):
        series = (-1) ** k * 2 * k / math.factorial(2 * k + 1) + w * series
    return m.where(m.abs(x) < 0.3, rise * series, (m.cos(z) - y) / x)


OPS = [
    _op("sin", "x", "The sine.", partials=(lambda m, y, x: m.cos(x),)),
    _op("cos", "x", "The cosine.", partials=(lambda m, y, x: -m.sin(x),)),
    _op("tan", "x", "The tangent.", domain=((-1.5, 1.5),), partials=(lambda m, y, x: 1.0 + y * y,)),
    _op(
        "asin",
        "x",
        "The angle whose sine is x.",
        primitive="arcsin",
        aliases=("arcsin",),
        domain=((-1.0, 1.0),),
        note="derivative inf at -1 and 1",
        partials=(lambda m, y, x: 1.0 / m.sqrt(m.one_minus_square(x)),),
    ),
    _op(
        "acos",
        "x",
        "The angle whose cosine is x.",
        primitive="arccos",
        aliases=("arccos",),
        domain=((-1.0, 1.0),),
        note="derivative -inf at -1 and 1",
        partials=(lambda m, y, x: -1.0 / m.sqrt(m.one_minus_square(x)),),
    ),
    _op(
        "atan",
        "x",
        "The angle whose tangent is x.",
        primitive="arctan",
        aliases=("arctan",),
        partials=(lambda m, y, x: 1.0 / (1.0 + x * x),),
    ),
    _op(
        "atan2",
        "y, x",
        "The angle of the point (x, y), from -pi to pi.",
        primitive="arctan2",
        aliases=("arctan2",),
        domain=((0.1, INF), (0.1, INF)),
        note="derivative 0 at the origin",
        partials=(lambda m, y, a, b: m.inversion(b, a), lambda m, y, a, b: -m.inversion(a, b)),
    ),
    _op(
        "inversion",
        "a, b",
        "a / (a² + b²), and 0 at the origin.",
        internal=True,
        forward=_inversion,
        domain=((0.1, INF), (0.1, INF)),
        partials=(
            lambda m, y, a, b: m.square(m.inversion(b, a)) - m.square(y),
            lambda m, y, a, b: -2.0 * y * m.inversion(b, a),
        ),
    ),
    _op("sinh", "x", "The hyperbolic sine.", partials=(lambda m, y, x: m.cosh(x),)),
    _op("cosh", "x", "The hyperbolic cosine.", partials=(lambda m, y, x: m.sinh(x),)),
    _op("tanh", "x", "The hyperbolic tangent.", partials=(lambda m, y, x: m.square(m.sech(x)),)),
    _op(
        "asinh",
        "x",
        "The inverse of sinh.",
        primitive="arcsinh",
        aliases=("arcsinh",),
        partials=(lambda m, y, x: 1.0 / _root_one_plus_square(m, x),),
    ),
    _op(
        "acosh",
        "x",
        "The inverse of cosh.",
        primitive="arccosh",
        aliases=("arccosh",),
        domain=((1.0, INF),),
        note="derivative inf at 1",
        partials=(lambda m, y, x: 1.0 / (m.sqrt(x - 1.0) * m.sqrt(x + 1.0)),),
    ),
    _op(
        "atanh",
        "x",
        "The inverse of tanh.",
        primitive="arctanh",
        aliases=("arctanh",),
        domain=((-1.0, 1.0),),
        note="derivative inf at -1 and 1",
        partials=(lambda m, y, x: 1.0 / m.one_minus_square(x),),
    ),
    _op(
        "degrees",
        "x",
        "Radians in degrees.",
        symbolic=lambda s, x: 180 * x / s.pi,
        aliases=("rad2deg",),
        partials=(lambda m, y, x: 180.0 / math.pi,),
    ),
    _op(
        "radians",
        "x",
        "Degrees in radians.",
        symbolic=lambda s, x: s.pi * x / 180,
        aliases=("deg2rad",),
        partials=(lambda m, y, x: math.pi / 180.0,),
    ),
    _op(
        "sinc",
        "x",
        "sin(pi x) / (pi x), and 1 at 0.",
        symbolic=lambda s, x: s.Piecewise((1, s.Eq(x, 0)), (s.sin(s.pi * x) / (s.pi * x), True)),
        note="derivative 0 at 0",
        partials=(_sinc_slope,),
    ),
    # An op of its own, as the rule of 1 / cosh(x) underflows where the second derivative of tanh is
    # still 1e-260.
    _op(
        "sech",
        "x",
        "1 / cosh(x).",
        internal=True,
        forward=lambda m, x: 1.0 / m.cosh(x),
        partials=(lambda m, y, x: -y * m.tanh(x),),
    ),
    # 1 - x² that keeps its digits near 1, with a derivative that keeps its digits near 0.
    _op(
        "one_minus_square",
        "x",
        "1 - x², accurate near -1 and 1.",
        symbolic=lambda s, x: 1 - x**2,
        internal=True,
        forward=lambda m, x: (1.0 - x) * (1.0 + x),
        partials=(lambda m, y, x: -2.0 * x,),
    ),
]
