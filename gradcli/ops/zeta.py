"""The zeta function, of Riemann and of Hurwitz, with its derivatives to any order."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .gammas import INF, POSITIVE, polygamma
from .op import Op
from .power_sums import hurwitz

_op = partial(Op, category="special")


def _sine_of_half_turns(xp: Any, x: Any) -> Any:
    """sin(πx/2), exactly 0 where it is."""
    r = x - 2.0 * xp.round(0.5 * x)
    return xp.where(xp.round(0.5 * x) % 2 == 0, 1.0, -1.0) * xp.where(
        xp.abs(r) == 1.0, xp.sign(r), xp.sin(0.5 * math.pi * r)
    )


def _reflected(xp: Any, special: Any, order: int, s: Any) -> Any:
    """The derivatives of zeta for q = 1 and s < 0, from 1 - s: ζ(s) = 2 (2π)^(s-1) sin(πs/2) Γ(1-s)
    ζ(1-s), as products of Taylor series."""
    u = 1.0 - s
    scale = xp.where(
        u < 170.0,
        special.gamma(u) * (2 * math.pi) ** -u,
        xp.exp(special.gammaln(u) - u * math.log(2 * math.pi)),
    )
    powers = [math.log(2 * math.pi) ** i / math.factorial(i) for i in range(order + 1)]
    sines = [
        (0.5 * math.pi) ** i / math.factorial(i) * _sine_of_half_turns(xp, s + i)
        for i in range(order + 1)
    ]
    slopes = [
        (-1) ** (i + 1) / math.factorial(i) * polygamma(xp, special, i, u) for i in range(order)
    ]  # of log Γ(1-s)
    gammas = [2.0 * scale]
    for i in range(order):
        gammas.append(sum(slopes[k] * gammas[i - k] for k in range(i + 1)) / (i + 1))
    zetas = [
        (-1) ** i / math.factorial(i) * hurwitz(xp, i, u, xp.ones_like(u), -s)
        for i in range(order + 1)
    ]
    product: list[Any] = powers
    for factor in (sines, gammas, zetas):
        product = [sum(product[k] * factor[i - k] for k in range(i + 1)) for i in range(order + 1)]
    return math.factorial(order) * product[order]


def _zeta_by_x(xp: Any, special: Any, order: int, x: Any, q: Any) -> Any:
    if order < 0:
        return xp.zeros_like(x)
    known = (q > 0) & ((x >= 1.0) | (q == 1.0))
    below = known & (x < 0.0)
    direct = hurwitz(xp, order, xp.where(below, 2.0, x), xp.where(known, q, 1.0))
    if bool(xp.any(below)):
        direct = xp.where(below, _reflected(xp, special, order, xp.where(below, x, -1.0)), direct)
    return xp.where(known, direct, math.nan)


def _zeta(xp: Any, special: Any, x: Any, q: Any) -> Any:
    return _zeta_by_x(xp, special, 0, x, q)


OPS = [
    _op(
        "zeta",
        "x, q=1",
        "The sum of 1 / (q + k)**x over k = 0, 1, 2, …; for q = 1, continued to all x.",
        symbolic=lambda s, x, q: s.zeta(x, q),
        kernel=_zeta,
        real_only=True,
        domain=((1.0, INF), POSITIVE),
        ulps=(16, 16, 32),
        note="nan for q <= 0, and for x < 1 unless q is 1",
        partials=(
            lambda m, y, x, q: m.zeta_by_x(1.0, x, q),
            lambda m, y, x, q: -x * m.zeta(x + 1.0, q),
        ),
    ),
    _op(
        "zeta_by_x",
        "n, x, q",
        "The n-th derivative of zeta by x.",
        internal=True,
        kernel=_zeta_by_x,
        real_only=True,
        domain=((0.0, INF), (1.0, INF), POSITIVE),
        partials=(
            None,
            lambda m, y, n, x, q: m.zeta_by_x(n + 1.0, x, q),
            lambda m, y, n, x, q: (
                -x * m.zeta_by_x(n, x + 1.0, q) - n * m.zeta_by_x(n - 1.0, x + 1.0, q)
            ),
        ),
    ),
]
