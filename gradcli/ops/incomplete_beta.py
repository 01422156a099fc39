"""The regularised incomplete beta function, with its derivatives by a, b and x to any order.

Its functions take a, b, x and y = 1 - x, which each have their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .densities import exp_ratios, log_of, weighted
from .gammas import (
    INF,
    LARGE,
    POSITIVE,
    beta,
    log_less_digamma,
    polygamma,
    polygamma_difference,
    stirling_rest,
)
from .op import Op
from .quadrature import integrate, on_part

_op = partial(Op, category="special", real_only=True)


def _density(xp: Any, special: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x^(a-1) y^(b-1) / B(a, b)"""
    one_small = xp.minimum(a, b) < LARGE
    both_small = xp.maximum(a, b) < LARGE
    p, q = xp.where(both_small, a, 1.0), xp.where(both_small, b, 1.0)
    direct = x ** (p - 1.0) * y ** (q - 1.0) / beta(xp, special, p, q)
    # One is small: by the gamma density that it then almost is.
    p, q = xp.where(one_small, xp.minimum(a, b), 1.0), xp.maximum(a, b)
    t, rest = xp.where(a < b, x, y), xp.where(a < b, y, x)
    log = xp.where(t < 0.5, xp.log1p(-t), xp.log(rest))
    q = xp.maximum(q, LARGE)
    exponent = (
        (q - 1.0) * log
        + (q - 0.5) * xp.log1p(p / q)
        - p
        + stirling_rest(xp, p + q)
        - stirling_rest(xp, q)
    )
    skewed = (p + q) * (t * (p + q)) ** (p - 1.0) * xp.exp(exponent) / special.gamma(p)
    # None is: by Stirling's formula, relative to the mean.
    p, q = xp.maximum(a, LARGE), xp.maximum(b, LARGE)
    logs = _logs_of_means(xp, p, q, x, y)
    exponent = (
        p * logs[0]
        + q * logs[1]
        + stirling_rest(xp, p + q)
        - stirling_rest(xp, p)
        - stirling_rest(xp, q)
    )
    peaked = (
        xp.exp(exponent)
        * xp.sqrt(p / (2.0 * math.pi) * (q / (p + q)))
        / xp.where(x * y > 0, x * y, 1.0)
    )
    found = xp.where(both_small, direct, xp.where(one_small, skewed, peaked))
    return xp.where((x >= 0) & (y >= 0) & (a > 0) & (b > 0), found, math.nan)


def _logs_of_means(xp: Any, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The logarithms of x and y over their means, a / (a + b) and b / (a + b)."""
    off = x * b - y * a
    return log_of(xp, off / a, x * ((a + b) / a)), log_of(xp, -off / b, y * ((a + b) / b))


def _beta_ratio(
    xp: Any,
    special: Any,
    i: int,
    j: int,
    a: Any,
    b: Any,
    logs: tuple[Any, Any],
    with_a: bool = True,
) -> Any:
    """∂_a^i ∂_b^j f / f of f = t^a (1-t)^b / B(a, b), or of f / a; `logs` are those of t and 1 - t
    over their means."""

    def slope(p: int, q: int) -> Any:
        """The derivatives of log (f / (a b)), because powers of 1 / a and 1 / b would cancel."""
        if p and q:
            return polygamma(xp, special, p + q - 1, a + b)
        order, one, other = (p, a, b) if p else (q, b, a)
        if order > 1:
            return polygamma_difference(xp, special, order - 1, one + 1.0, other - 1.0)
        large = (
            log_less_digamma(xp, special, one)
            - log_less_digamma(xp, special, one + other)
            - 1.0 / (one + other)
        )
        small = polygamma_difference(xp, special, 0, one + 1.0, other - 1.0) + xp.log(
            one / (one + other)
        )
        return logs[bool(q)] + xp.where(one < LARGE, small, large)

    ratios = exp_ratios(slope, i, j)
    by_a = [ratios[p, j] + (j / b * ratios[p, j - 1] if j else 0.0) for p in range(i + 1)]
    return by_a[i] + (i / a * by_a[i - 1] if i and with_a else 0.0)


def _beta_density(xp: Any, special: Any, i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """∂_a^i ∂_b^j of the density of the beta distribution."""
    if min(i, j) < 0:
        return xp.zeros_like(x)
    density = _density(xp, special, a, b, x, 1.0 - x)
    if not (i or j):
        return density
    return weighted(
        xp, density, _beta_ratio(xp, special, i, j, a, b, _logs_of_means(xp, a, b, x, 1.0 - x))
    )


def _beta_edge_slope(xp: Any, special: Any, i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of `_beta_density` by x at 0 and 1, and 0 elsewhere: with (a - 1) f / x as (a
    + b - 1) times the density of a - 1, which needs no division."""

    def at_zero(i: int, j: int) -> Callable[..., Any]:
        def slope(a: Any, b: Any, x: Any) -> Any:
            def density(i: int, j: int, a: Any) -> Any:
                return _beta_density(xp, special, i, j, a, b, x)

            less = xp.where(a > 1.0, a - 1.0, 1.0)
            rise = (
                (a + b - 1.0) * density(i, j, less)
                + i * density(i - 1, j, less)
                + j * density(i, j - 1, less)
            )
            flat = math.nan if i else 0.0
            rise = xp.where(a > 1.0, rise, xp.where(a == 1.0, flat, (a - 1.0) * density(i, j, a)))
            return rise - (b - 1.0) * density(i, j, a) - j * density(i, j - 1, a)

        return slope

    return on_part(xp, x == 0.0, at_zero(i, j), a, b, x) - on_part(
        xp, x == 1.0, at_zero(j, i), b, a, 1.0 - x
    )


def _of_odds(xp: Any, x: Any, y: Any, v: Any) -> tuple[Any, Any]:
    """log(t/x) and log((1-t)/y) for the t whose odds are those of x times exp(-v)."""
    fall = x * xp.expm1(-v)
    return -xp.log1p(y * xp.expm1(v)), -xp.where(
        fall > -0.5, xp.log1p(fall), xp.log(y + x * xp.exp(-v))
    )


def _log_curve(xp: Any, x: Any, y: Any, v: Any) -> Any:
    """(log(x + y exp(v)) - yv) / v for x + y = 1: near 0 by its cumulants, elsewhere by the smaller
    of x and y."""
    both, odd = x * y, x - y
    cumulants = (
        1.0,
        odd,
        1.0 - 6.0 * both,
        odd * (1.0 - 12.0 * both),
        1.0 - both * (30.0 - 120.0 * both),
        odd * (1.0 - both * (60.0 - 360.0 * both)),
    )
    series = 0.0
    for k, cumulant in reversed([*enumerate(cumulants, 2)]):
        series = cumulant / math.factorial(k) + v * series
    near = v < 0.02
    far, p, side = xp.where(near, 1.0, v), xp.minimum(x, y), xp.where(x < y, -1.0, 1.0)
    return xp.where(near, both * v * series, xp.log1p(p * xp.expm1(side * far)) / far - p * side)


def _betainc_by_ab(xp: Any, special: Any, i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    y = 1.0 - x
    known = (a > 0) & (b > 0) & (x > 0) & (y > 0) & xp.isfinite(a) & xp.isfinite(b)
    below = known & (x * b <= y * a)

    def phi(v: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
        """a log(t/x) + b log((1-t)/y), computed from the slope at 0 and the rest."""
        return -v * ((a * y - b * x) + (a + b) * _log_curve(xp, x, y, v))

    def lower(i: int, j: int) -> Callable[..., Any]:
        def weight(v: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
            logs = _logs_of_means(xp, a, b, x, y)
            first, second = _of_odds(xp, x, y, v)
            return _beta_ratio(xp, special, i, j, a, b, (logs[0] + first, logs[1] + second))

        def value(a: Any, b: Any, x: Any, y: Any) -> Any:
            small = a < 1.0
            up = xp.where(small, a + 1.0, a)
            logs = _logs_of_means(xp, a, b, x, y)
            # I(a, b) = kernel(a, b) / a + I(a + 1, b), for where 1 / a would cancel.
            kernel = (
                x
                * y
                * _density(xp, special, a, b, x, y)
                / a
                * _beta_ratio(xp, special, i, j, a, b, logs, with_a=False)
            )
            integral = integrate(xp, phi, weight, up, b, x, y)
            return (
                xp.where(small, kernel, 0.0) + x * y * _density(xp, special, up, b, x, y) * integral
            )

        return value

    found = on_part(xp, below, lower(i, j), a, b, x, y) - on_part(
        xp, known & ~below, lower(j, i), b, a, y, x
    )
    edge = (a > 0) & (b > 0) & ((x == 0) | (y == 0))
    return xp.where(known, found, xp.where(edge, 0.0, math.nan))


def _beta_density_by_x(m: Any, y: Any, i: Any, j: Any, a: Any, b: Any, x: Any) -> Any:
    slope = (a - 1.0 - (a + b - 2.0) * x) * y / (x * (1.0 - x))
    slope = (
        slope
        + i * m.beta_density(i - 1.0, j, a, b, x) / x
        - j * m.beta_density(i, j - 1.0, a, b, x) / (1.0 - x)
    )
    return m.where(x * (1.0 - x) == 0, m.beta_edge_slope(i, j, a, b, x), slope)


OPS = [
    _op(
        "betainc",
        "a, b, x",
        "The regularised incomplete beta function, from 0 at x = 0 to 1 at x = 1.",
        symbolic=lambda s, a, b, x: s.betainc_regularized(a, b, 0, x),
        kernel=lambda xp, special, a, b, x: special.betainc(a, b, x),
        domain=(POSITIVE, POSITIVE, (0.0, 1.0)),
        ulps=(8, 32, 64),
        partials=(
            lambda m, y, a, b, x: m.betainc_by_ab(1.0, 0.0, a, b, x),
            lambda m, y, a, b, x: m.betainc_by_ab(0.0, 1.0, a, b, x),
            lambda m, y, a, b, x: m.beta_density(0.0, 0.0, a, b, x),
        ),
    ),
    _op(
        "betainc_by_ab",
        "i, j, a, b, x",
        "The derivative of betainc, i times by a and j times by b.",
        internal=True,
        kernel=_betainc_by_ab,
        domain=((1.0, INF), (0.0, INF), POSITIVE, POSITIVE, (0.0, 1.0)),
        partials=(
            None,
            None,
            lambda m, y, i, j, a, b, x: m.betainc_by_ab(i + 1.0, j, a, b, x),
            lambda m, y, i, j, a, b, x: m.betainc_by_ab(i, j + 1.0, a, b, x),
            lambda m, y, i, j, a, b, x: m.beta_density(i, j, a, b, x),
        ),
    ),
    _op(
        "beta_density",
        "i, j, a, b, x",
        "The derivative of the density of the beta distribution, i times by a and j by b.",
        internal=True,
        kernel=_beta_density,
        domain=((0.0, INF), (0.0, INF), POSITIVE, POSITIVE, (0.0, 1.0)),
        partials=(
            None,
            None,
            lambda m, y, i, j, a, b, x: m.beta_density(i + 1.0, j, a, b, x),
            lambda m, y, i, j, a, b, x: m.beta_density(i, j + 1.0, a, b, x),
            _beta_density_by_x,
        ),
    ),
    _op(
        "beta_edge_slope",
        "i, j, a, b, x",
        "The derivative of beta_density by x at 0 and 1, and 0 elsewhere.",
        internal=True,
        kernel=_beta_edge_slope,
        domain=((0.0, INF), (0.0, INF), POSITIVE, POSITIVE, (0.0, 1.0)),
        partials=(
            None,
            None,
            lambda m, y, i, j, a, b, x: m.beta_edge_slope(i + 1.0, j, a, b, x),
            lambda m, y, i, j, a, b, x: m.beta_edge_slope(i, j + 1.0, a, b, x),
            lambda m, y, i, j, a, b, x: m.where(x * (1.0 - x) == 0, math.nan, 0.0),
        ),
    ),
]
