"""Modified Bessel functions of the first kind. Their derivatives are those of the neighbouring
orders."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op

_op = partial(Op, category="special", real_only=True)


def _bessel(xp: Any, special: Any, order: int, x: Any) -> Any:
    order = abs(order)
    if order < 2:
        return (special.i1 if order else special.i0)(x)
    size = xp.abs(x)
    edge = max(25.0, float(order * order))  # from there on the asymptotic series has all digits
    found = xp.where(
        size < edge,
        _series(xp, order, xp.minimum(size, edge)),
        _asymptotic(xp, order, xp.maximum(size, edge)),
    )
    return xp.where(x < 0, (-1.0) ** order * found, found)


def _series(xp: Any, order: int, x: Any) -> Any:
    """Sums the power series, whose terms are positive. With k of them, the last is (x/2)^2k / k!²
    of the largest."""
    k = xp.arange(1.0, 30.0 + 2 * max(25, order * order))
    terms = xp.cumprod((0.25 * x * x)[:, None] / (k * (k + order)), axis=1)
    return (0.5 * x) ** order / math.factorial(order) * (1.0 + xp.sum(terms, axis=1))


def _asymptotic(xp: Any, order: int, x: Any) -> Any:
    k = xp.arange(1.0, 31.0)
    terms = xp.cumprod(
        ((2.0 * k - 1.0) ** 2 - 4.0 * order * order) / (8.0 * k) / x[:, None], axis=1
    )
    root = xp.exp(0.5 * x)  # twice, as exp(x) is too large before the result is
    return root * (root / xp.sqrt(2.0 * math.pi * x) * (1.0 + xp.sum(terms, axis=1)))


OPS = [
    _op(
        "i0",
        "x",
        "The modified Bessel function of order 0.",
        symbolic=lambda s, x: s.besseli(0, x),
        primitive="scipy.special:i0",
        partials=(lambda m, y, x: m.i1(x),),
    ),
    _op(
        "i1",
        "x",
        "The modified Bessel function of order 1.",
        symbolic=lambda s, x: s.besseli(1, x),
        primitive="scipy.special:i1",
        partials=(lambda m, y, x: 0.5 * (m.i0(x) + m.bessel_i(2.0, x)),),
    ),
    _op(
        "bessel_i",
        "n, x",
        "The modified Bessel function of order n.",
        symbolic=lambda s, n, x: s.besseli(n, x),
        internal=True,
        kernel=_bessel,
        domain=((0.0, math.inf), (-math.inf, math.inf)),
        partials=(None, lambda m, y, n, x: 0.5 * (m.bessel_i(n - 1.0, x) + m.bessel_i(n + 1.0, x))),
    ),
]
