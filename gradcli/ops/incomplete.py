"""The regularised incomplete gamma and beta functions, with their derivatives by every argument, to
any order.

By x they are densities, and these are formulas. By the parameters they are integrals of densities
times polynomials of log t, which have no closed form. With t as an exponential of v they become
integrals of exp(φ(v)) from 0, where φ falls faster and faster: smooth, without poles, and of one
sign but for the polynomial, so that quadrature by Gauss and Legendre gives them almost all their
digits. Each is taken over the side of x where less of the distribution lies, so that tails keep
theirs, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .gammas import LARGE, beta, log_less_digamma, polygamma, polygamma_difference, stirling_rest
from .op import Op

INF = math.inf
POSITIVE = (0.1, INF)
NODES = 20  # a panel
PANEL = 3.0  # the longest panel: φ has features of length 1
DEPTH = 46.0  # exp(-DEPTH) is nothing beside 1
BLOCK = 2**18  # nodes times elements at a time
LOWEST, HIGHEST = -1040.0, 40.0  # powers of two between which the ends of integrals lie


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="special", real_only=True, **facts)


# ---- quadrature ----------------------------------------------------------------------------------


@cache
def _legendre() -> tuple[list[float], list[float]]:
    """Nodes and weights of the rule by Gauss and Legendre on [0, 1]."""
    nodes, weights = [], []
    for k in range(NODES):
        x = math.cos(math.pi * (k + 0.75) / (NODES + 0.5))
        for _ in range(10):  # Newton's steps
            p, before = x, 1.0
            for n in range(2, NODES + 1):
                p, before = ((2 * n - 1) * x * p - (n - 1) * before) / n, p
            slope = NODES * (x * p - before) / (x * x - 1.0)
            x -= p / slope
        nodes.append(0.5 * (1.0 + x))
        weights.append(1.0 / ((1.0 - x * x) * slope * slope))
    return nodes, weights


def _end(xp: Any, phi: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Where φ has fallen to -DEPTH, within a part in a thousand: first the power of two, and then
    between two of them."""
    low, high = xp.full_like(arguments[0], LOWEST), xp.full_like(arguments[0], HIGHEST)
    for _ in range(math.ceil(math.log2(HIGHEST - LOWEST))):
        middle = xp.floor(0.5 * (low + high))
        below = phi(2.0**middle, *arguments) > -DEPTH
        low, high = xp.where(below, middle, low), xp.where(below, high, middle)
    end = 2.0**high
    low = 0.5 * end
    for _ in range(10):
        middle = 0.5 * (low + end)
        reached = phi(middle, *arguments) <= -DEPTH
        low, end = xp.where(reached, low, middle), xp.where(reached, middle, end)
    return end


def _integral(xp: Any, phi: Callable[..., Any], weight: Callable[..., Any], *arguments: Any) -> Any:
    """The integral of exp(φ(v)) weight(v) over v from 0 on; both take v and the arguments, vectors.
    How many panels an element has is its own, so that its digits don't depend on its neighbours."""
    nodes, weights = (xp.asarray(numbers) for numbers in _legendre())
    end = _end(xp, phi, arguments)
    panels = 2.0 ** xp.ceil(xp.log2(xp.clip(end / PANEL, 4.0, 1024.0)))
    found = xp.zeros_like(end)
    for count in map(int, xp.unique(panels).tolist()):
        places, rows = xp.nonzero(panels == count)[0], BLOCK // (count * NODES)
        for start in range(0, places.size, rows):
            some = places[start : start + rows]
            part, length = [a[some, None] for a in arguments], end[some, None]
            v = length * ((xp.arange(count)[:, None] + nodes).reshape(1, -1) / count)
            values = (xp.exp(phi(v, *part)) * weight(v, *part)).reshape(v.shape[0], count, NODES)
            found[some] = xp.sum(values * weights, axis=(1, 2)) * length[:, 0] / count
    return found


def _curve(xp: Any, v: Any) -> Any:
    """(exp(v) - 1 - v) / v"""
    series = 1.0
    for k in range(18, 2, -1):
        series = 1.0 + v / k * series
    near = xp.abs(v) < 0.5
    return xp.where(near, 0.5 * v * series, xp.expm1(v) / xp.where(near, 1.0, v) - 1.0)


def _ratios(slope: Callable[[int, int], Any], i: int, j: int) -> dict[tuple[int, int], Any]:
    """∂_a^p ∂_b^q exp(h) / exp(h) for all p up to i and q up to j, from `slope(p, q)`, the
    derivatives of h."""
    orders = [(p, q) for p in range(i + 1) for q in range(j + 1)]
    slopes = {order: slope(*order) for order in orders[1:]}
    ratios: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for p, q in orders[1:]:
        dp, dq = (
            (1, 0) if p else (0, 1)
        )  # the last derivative taken; by the rule of products before it
        ratios[p, q] = sum(
            math.comb(p - dp, r)
            * math.comb(q - dq, s)
            * slopes[r + dp, s + dq]
            * ratios[p - dp - r, q - dq - s]
            for r in range(p - dp + 1)
            for s in range(q - dq + 1)
        )
    return ratios


def _log_of(xp: Any, off: Any, ratio: Any) -> Any:
    """log(ratio), where ratio = 1 + off: by the one that has its digits."""
    return xp.where((off > -0.5) & (off < 1.0), xp.log1p(off), xp.log(ratio))


def _on_part(xp: Any, condition: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function where the condition holds, 0 elsewhere; it sees those elements alone."""
    found = xp.zeros(condition.shape)
    if bool(xp.any(condition)):
        found[condition] = function(*[a[condition] for a in arguments])
    return found


# ---- gamma ---------------------------------------------------------------------------------------


def _gamma_density(xp: Any, special: Any, n: int, a: Any, x: Any) -> Any:
    """The n-th derivative by a of x^(a-1) exp(-x) / Γ(a)."""
    if n < 0:
        return xp.zeros_like(x)
    small, large = xp.minimum(a, LARGE), xp.maximum(a, LARGE)
    near = xp.minimum(x, 1e4 * large)  # beyond that it is 0
    direct = near ** (small - 1.0) * xp.exp(-near) / special.gamma(small)
    off = (near - large) / large
    exponent = large * (_log_of(xp, off, near / large) - off) - stirling_rest(xp, large)
    peaked = xp.exp(exponent) * xp.sqrt(large / (2.0 * math.pi)) / xp.where(x > 0, near, 1.0)
    density = xp.where((x >= 0) & (a > 0), xp.where(a < LARGE, direct, peaked), math.nan)
    return (
        _weighed(xp, density, _gamma_ratio(xp, special, n, a, _log_of(xp, (x - a) / a, x / a)))
        if n
        else density
    )


def _weighed(xp: Any, density: Any, ratio: Any) -> Any:
    """density * ratio; where the density is 0 it falls faster than the logarithms in the ratio
    grow."""
    return xp.where(density == 0, 0.0, density * ratio)


def _gamma_ratio(xp: Any, special: Any, n: int, a: Any, log: Any) -> Any:
    """∂_a^n f / f of f = t^a / Γ(a), as of a t^a / Γ(a + 1): powers of 1 / a would cancel. `log` is
    log(t / a)."""

    def slope(p: int, q: int) -> Any:
        return (
            log + log_less_digamma(xp, special, a)
            if p == 1
            else -polygamma(xp, special, p - 1, a + 1.0)
        )

    ratios = _ratios(slope, n, 0)
    return ratios[n, 0] + (n / a * ratios[n - 1, 0] if n else 0.0)


def _gammainc_by_a(xp: Any, special: Any, n: int, a: Any, x: Any) -> Any:
    known = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    below = known & (x <= a)

    def lower(a: Any, x: Any) -> Any:
        small = a < 1.0
        up = xp.where(small, a + 1.0, a)
        # P(a) = density(a + 1) + P(a + 1), for where 1 / a would cancel.
        first = xp.where(small, _gamma_density(xp, special, n, a + 1.0, x), 0.0)
        integral = _integral(
            xp,
            lambda v, a, x: -v * ((a - x) - x * _curve(xp, -v)),  # -av - x (exp(-v) - 1)
            lambda v, a, x: _gamma_ratio(xp, special, n, a, _log_of(xp, (x - a) / a, x / a) - v),
            up,
            x,
        )
        return first + x * _gamma_density(xp, special, 0, up, x) * integral

    def upper(a: Any, x: Any) -> Any:
        integral = _integral(
            xp,
            lambda v, a, x: -v * ((x - a) + x * _curve(xp, v)),  # av - x (exp(v) - 1)
            lambda v, a, x: _gamma_ratio(xp, special, n, a, _log_of(xp, (x - a) / a, x / a) + v),
            a,
            x,
        )
        return -x * _gamma_density(xp, special, 0, a, x) * integral

    found = _on_part(xp, below, lower, a, x) + _on_part(xp, known & ~below, upper, a, x)
    edge = (a > 0) & ((x == 0) | (x == INF))
    return xp.where(known, found, xp.where(edge, 0.0, math.nan))


# ---- beta ----------------------------------------------------------------------------------------
#
# Functions of a, b, x and y = 1 - x, which each have their digits.


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
    return _log_of(xp, off / a, x * ((a + b) / a)), _log_of(xp, -off / b, y * ((a + b) / b))


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
        """Of log (f / (a b)): powers of 1 / a and 1 / b would cancel."""
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

    ratios = _ratios(slope, i, j)
    by_a = [ratios[p, j] + (j / b * ratios[p, j - 1] if j else 0.0) for p in range(i + 1)]
    return by_a[i] + (i / a * by_a[i - 1] if i and with_a else 0.0)


def _beta_density(xp: Any, special: Any, i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """∂_a^i ∂_b^j of the density."""
    if min(i, j) < 0:
        return xp.zeros_like(x)
    density = _density(xp, special, a, b, x, 1.0 - x)
    if not (i or j):
        return density
    return _weighed(
        xp, density, _beta_ratio(xp, special, i, j, a, b, _logs_of_means(xp, a, b, x, 1.0 - x))
    )


def _beta_edge_slope(xp: Any, special: Any, i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of that by x, at 0 and 1 only, and 0 elsewhere: with (a - 1) f / x as (a + b -
    1) times the density of a - 1, which needs no division."""

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

    return _on_part(xp, x == 0.0, at_zero(i, j), a, b, x) - _on_part(
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
        """a log(t/x) + b log((1-t)/y), by what lies beyond the slope at 0."""
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
            integral = _integral(xp, phi, weight, up, b, x, y)
            return (
                xp.where(small, kernel, 0.0) + x * y * _density(xp, special, up, b, x, y) * integral
            )

        return value

    found = _on_part(xp, below, lower(i, j), a, b, x, y) - _on_part(
        xp, known & ~below, lower(j, i), b, a, y, x
    )
    edge = (a > 0) & (b > 0) & ((x == 0) | (y == 0))
    return xp.where(known, found, xp.where(edge, 0.0, math.nan))


def _gamma_density_by_x(m: Any, y: Any, n: Any, a: Any, x: Any) -> Any:
    slope = m.where(a == 1, -y, (a - 1.0 - x) * y / x) + m.where(
        n == 0, 0.0, n * m.gamma_density(n - 1.0, a, x) / x
    )
    # At x = 0 by the density of a - 1, which differs from that of a by the slope everywhere, but
    # cancels elsewhere.
    return m.where(x == 0, m.where(a > 1, m.gamma_density(n, a - 1.0, x) - y, slope), slope)


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
