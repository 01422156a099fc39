"""The regularised incomplete gamma function, with its derivatives by a and x to any order."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .densities import exp_ratios, log_of, weighted
from .gammas import INF, LARGE, POSITIVE, log_less_digamma, polygamma, stirling_rest
from .op import Op
from .quadrature import integrate, on_part

_op = partial(Op, category="special", real_only=True)


def _curve(xp: Any, v: Any) -> Any:
    """(exp(v) - 1 - v) / v"""
    series = 1.0
    for k in range(18, 2, -1):
        series = 1.0 + v / k * series
    near = xp.abs(v) < 0.5
    return xp.where(near, 0.5 * v * series, xp.expm1(v) / xp.where(near, 1.0, v) - 1.0)


def _gamma_density(xp: Any, special: Any, n: int, a: Any, x: Any) -> Any:
    """The n-th derivative by a of x^(a-1) exp(-x) / Γ(a)."""
    if n < 0:
        return xp.zeros_like(x)
    small, large = xp.minimum(a, LARGE), xp.maximum(a, LARGE)
    near = xp.minimum(x, 1e4 * large)  # beyond that it is 0
    direct = near ** (small - 1.0) * xp.exp(-near) / special.gamma(small)
    off = (near - large) / large
    exponent = large * (log_of(xp, off, near / large) - off) - stirling_rest(xp, large)
    peaked = xp.exp(exponent) * xp.sqrt(large / (2.0 * math.pi)) / xp.where(x > 0, near, 1.0)
    density = xp.where((x >= 0) & (a > 0), xp.where(a < LARGE, direct, peaked), math.nan)
    return (
        weighted(xp, density, _gamma_ratio(xp, special, n, a, log_of(xp, (x - a) / a, x / a)))
        if n
        else density
    )


def _gamma_ratio(xp: Any, special: Any, n: int, a: Any, log: Any) -> Any:
    """∂_a^n f / f of f = t^a / Γ(a), as of a t^a / Γ(a + 1): powers of 1 / a would cancel. `log` is
    log(t / a)."""

    def slope(p: int, q: int) -> Any:
        return (
            log + log_less_digamma(xp, special, a)
            if p == 1
            else -polygamma(xp, special, p - 1, a + 1.0)
        )

    ratios = exp_ratios(slope, n, 0)
    return ratios[n, 0] + (n / a * ratios[n - 1, 0] if n else 0.0)


def _gammainc_by_a(xp: Any, special: Any, n: int, a: Any, x: Any) -> Any:
    known = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    below = known & (x <= a)

    def lower(a: Any, x: Any) -> Any:
        small = a < 1.0
        up = xp.where(small, a + 1.0, a)
        # P(a) = density(a + 1) + P(a + 1), for where 1 / a would cancel.
        first = xp.where(small, _gamma_density(xp, special, n, a + 1.0, x), 0.0)
        integral = integrate(
            xp,
            lambda v, a, x: -v * ((a - x) - x * _curve(xp, -v)),  # -av - x (exp(-v) - 1)
            lambda v, a, x: _gamma_ratio(xp, special, n, a, log_of(xp, (x - a) / a, x / a) - v),
            up,
            x,
        )
        return first + x * _gamma_density(xp, special, 0, up, x) * integral

    def upper(a: Any, x: Any) -> Any:
        integral = integrate(
            xp,
            lambda v, a, x: -v * ((x - a) + x * _curve(xp, v)),  # av - x (exp(v) - 1)
            lambda v, a, x: _gamma_ratio(xp, special, n, a, log_of(xp, (x - a) / a, x / a) + v),
            a,
            x,
        )
        return -x * _gamma_density(xp, special, 0, a, x) * integral

    found = on_part(xp, below, lower, a, x) + on_part(xp, known & ~below, upper, a, x)
    edge = (a > 0) & ((x == 0) | (x == INF))
    return xp.where(known, found, xp.where(edge, 0.0, math.nan))


def _gamma_density_by_x(m: Any, y: Any, n: Any, a: Any, x: Any) -> Any:
    slope = m.where(a == 1, -y, (a - 1.0 - x) * y / x) + m.where(
        n == 0, 0.0, n * m.gamma_density(n - 1.0, a, x) / x
    )
    # At x = 0 by the density of a - 1, which differs from that of a by the slope everywhere, but
    # cancels elsewhere.
    return m.where(x == 0, m.where(a > 1, m.gamma_density(n, a - 1.0, x) - y, slope), slope)


OPS = [
    _op(
        "gammainc",
        "a, x",
        "The regularised lower incomplete gamma function, from 0 at x = 0 to 1.",
        symbolic=lambda s, a, x: s.lowergamma(a, x) / s.gamma(a),
        kernel=lambda xp, special, a, x: special.gammainc(a, x),
        domain=(POSITIVE, POSITIVE),
        ulps=(8, 16, 64),
        partials=(
            lambda m, y, a, x: m.gammainc_by_a(1.0, a, x),
            lambda m, y, a, x: m.gamma_density(0.0, a, x),
        ),
    ),
    _op(
        "gammainc_by_a",
        "n, a, x",
        "The n-th derivative of gammainc by a.",
        internal=True,
        kernel=_gammainc_by_a,
        domain=((1.0, INF), POSITIVE, POSITIVE),
        ulps=(16, 32, 64),
        partials=(
            None,
            lambda m, y, n, a, x: m.gammainc_by_a(n + 1.0, a, x),
            lambda m, y, n, a, x: m.gamma_density(n, a, x),
        ),
    ),
    _op(
        "gamma_density",
        "n, a, x",
        "The n-th derivative by a of the density of the gamma distribution.",
        internal=True,
        kernel=_gamma_density,
        domain=((0.0, INF), POSITIVE, POSITIVE),
        partials=(None, lambda m, y, n, a, x: m.gamma_density(n + 1.0, a, x), _gamma_density_by_x),
    ),
]
