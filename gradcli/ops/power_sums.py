"""Sums of powers and logarithms over the integers, which the derivatives of the gamma function are.

They are computed by the Euler-Maclaurin formula: a few terms, and an asymptotic series for the
rest. So differences of such sums keep their digits where the sums themselves are almost equal
(`lbeta(1e6, 2)`), and derivatives of any order have one formula.
"""

from __future__ import annotations

import math
from typing import Any

TERMS = 10  # of a sum that are added up before the series for the rest


# The Bernoulli numbers B_2, B_4, …
BERNOULLI = [
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
]
TAIL = [b / math.factorial(2 * j) for j, b in enumerate(BERNOULLI, 1)]  # of a sum of powers


def hurwitz(xp: Any, order: int, s: Any, q: Any, above: Any = None) -> Any:
    """The derivative of an order by s of the sum of (q + k)^-s over k = 0, 1, 2, …, as continued to
    all s but 1; q > 0.

    `above` is s - 1, for where it is known better.
    """
    above = s - 1.0 if above is None else above
    terms = (q[..., None] + xp.arange(TERMS)) ** -s[..., None]
    if order:
        terms = terms * (-xp.log(q[..., None] + xp.arange(TERMS))) ** order
    z = q + TERMS
    rest = _rest(xp, s, z) if order == 0 else _rest_by_s(xp, order, s, z)
    total = xp.sum(terms, axis=-1)
    for i, factor in enumerate(rest):  # of z^-s, which may underflow where the integral doesn't
        integral = ((-1) ** i * math.factorial(i)) / above ** (i + 1) * z**-above
        part = factor * z**-s + integral
        total = total + math.comb(order, i) * part * (-xp.log(z)) ** (order - i)
    return total


def _rest(xp: Any, s: Any, z: Any) -> list[Any]:
    """(The sum of z^-s, (z + 1)^-s, … less its integral) / z^-s: half of the first term, and the
    series."""
    steps = s[..., None] + xp.arange(1, 2 * len(TAIL) - 1)
    growth = steps[..., ::2] * steps[..., 1::2] / (z * z)[..., None]
    products = xp.cumprod(xp.concatenate([(s / z)[..., None], growth], axis=-1), axis=-1)
    return [0.5 + products @ xp.asarray(TAIL)]


def _rest_by_s(xp: Any, order: int, s: Any, z: Any) -> list[Any]:
    """`_rest` and its derivatives by s."""
    zero = xp.zeros_like(s)
    rise = [s, 1.0 + zero, *[zero] * (order - 1)]  # the Taylor coefficients of s (s + 1) …
    series, scale = [0.5 + zero, *[zero] * order], 1.0 / z
    for j, coefficient in enumerate(TAIL, 1):
        series = [a + coefficient * scale * b for a, b in zip(series, rise, strict=True)]
        scale = scale / (z * z)
        for step in (2 * j - 1, 2 * j):
            rise = [(s + step) * a + before for a, before in zip(rise, [zero, *rise], strict=False)]
    return [math.factorial(i) * a for i, a in enumerate(series)]
