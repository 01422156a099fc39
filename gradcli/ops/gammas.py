"""The gamma function, its logarithm and the beta function, with their derivatives to any order."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op
from .power_sums import BERNOULLI, TAIL, TERMS, hurwitz

INF = math.inf
POSITIVE = (0.1, INF)
LARGE = 10.0  # where asymptotic series have all digits
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


_op = partial(Op, category="special")


STIRLING = [
    b / (2 * j * (2 * j - 1)) for j, b in enumerate(BERNOULLI, 1)
]  # of the logarithm of a factorial
DIGAMMA = [b / (2 * j) for j, b in enumerate(BERNOULLI, 1)]  # of its derivative


def _power_series(xp: Any, coefficients: list[float], x: Any) -> Any:
    return x[..., None] ** xp.arange(len(coefficients)) @ xp.asarray(coefficients)


# ---- derivatives of the logarithm of gamma -------------------------------------------------------


def _cotangent_slopes(xp: Any, order: int, x: Any) -> Any:
    """The derivative of an order of cot(πx): a polynomial in it, of whole coefficients."""
    coefficients = [0, 1]
    for _ in range(order):  # c' = -π (1 + c²)
        slope = [k * a for k, a in enumerate(coefficients)][1:]
        coefficients = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    r = math.pi * (x - xp.round(x.real))
    c = xp.cos(r) / xp.sin(r)
    value = 0.0 * c
    for a in reversed(coefficients):
        value = value * c + float(a)
    return math.pi**order * value


def _digamma(xp: Any, special: Any, x: Any) -> Any:
    """SciPy's, except beside the poles, where its cotangent loses digits."""
    r = x - xp.round(x.real)
    near = (x.real < 0) & (xp.abs(r) < 0.1) & (r != 0)
    if not bool(xp.any(near)):
        return special.digamma(x)
    there = special.digamma(1.0 - x) - math.pi * _cotangent_slopes(xp, 0, xp.where(near, r, 0.25))
    return xp.where(near, there, special.digamma(x))


def polygamma(xp: Any, special: Any, order: int, x: Any) -> Any:
    if order == 0:
        return _digamma(xp, special, x)
    sign = (-1.0) ** order
    right = x.real > 0
    there = (
        -sign
        * math.factorial(order)
        * hurwitz(xp, 0, xp.full_like(x, order + 1.0), xp.where(right, x, 1.0 - x))
    )
    if bool(xp.all(right)):
        return there
    return xp.where(right, there, sign * there - math.pi * _cotangent_slopes(xp, order, x))


def _power_difference(xp: Any, u: Any, b: Any, p: Any) -> Any:
    """(u + b)^-p - u^-p"""
    return u**-p * xp.expm1(-p * xp.log1p(b / u))


def polygamma_difference(xp: Any, special: Any, order: int, a: Any, b: Any) -> Any:
    s = order + 1
    known = (a > 0) & (a + b > 0)
    u, b_ = xp.where(known, a, 1.0), xp.where(known, b, 0.0)
    z = u + TERMS
    total = xp.sum(
        _power_difference(xp, u[..., None] + xp.arange(TERMS), b_[..., None], s), axis=-1
    )
    total = total + 0.5 * _power_difference(xp, z, b_, s)
    total = total + (_power_difference(xp, z, b_, order) / order if order else -xp.log1p(b_ / z))
    coefficients = [c * math.prod(range(s, s + 2 * j - 1)) for j, c in enumerate(TAIL, 1)]
    powers = s - 1.0 + 2.0 * xp.arange(1, len(TAIL) + 1)
    total = total + _power_difference(xp, z[..., None], b_[..., None], powers) @ xp.asarray(
        coefficients
    )
    found = (-1.0) ** (order + 1) * math.factorial(order) * total
    if bool(xp.all(known)):
        return found
    return xp.where(
        known, found, polygamma(xp, special, order, a + b) - polygamma(xp, special, order, a)
    )


def log_less_digamma(xp: Any, special: Any, x: Any) -> Any:
    """log x - ψ(x + 1), accurate for large x."""
    large = xp.maximum(x, LARGE)
    square = 1.0 / (large * large)
    far = square * _power_series(xp, DIGAMMA, square) - 0.5 / large
    return xp.where(x < LARGE, xp.log(x) - special.digamma(x + 1.0), far)


# ---- the beta function ---------------------------------------------------------------------------


def stirling_rest(xp: Any, x: Any) -> Any:
    """log Γ(x) less Stirling's formula (x - 1/2) log x - x + log(2π) / 2, for x >= 10."""
    return _power_series(xp, STIRLING, 1.0 / (x * x)) / x


def _quotient_log(xp: Any, low: Any, high: Any) -> Any:
    """log Γ(high) - log Γ(low + high) for high >= 10, without a difference of large logarithms."""
    both = low + high
    return (
        -(high - 0.5) * xp.log1p(low / high)
        - low * xp.log(both)
        + low
        + stirling_rest(xp, high)
        - stirling_rest(xp, both)
    )


def _lbeta(xp: Any, special: Any, a: Any, b: Any) -> Any:
    known = (a > 0) & (b > 0) & xp.isfinite(a) & xp.isfinite(b)
    low, high = (xp.where(known, pick(a, b), 2.0) for pick in (xp.minimum, xp.maximum))
    few, many, far = xp.minimum(low, LARGE), xp.maximum(low, LARGE), xp.maximum(high, LARGE)
    near = xp.log(_ratio(xp, special, low, high))
    by_one = special.gammaln(few) + _quotient_log(xp, few, far)
    balance = (
        (many - 0.5) * xp.log(many / (many + far)) - far * xp.log1p(many / far) - 0.5 * xp.log(far)
    )
    by_both = (
        HALF_LOG_2PI
        + balance
        + stirling_rest(xp, many)
        + stirling_rest(xp, far)
        - stirling_rest(xp, many + far)
    )
    found = xp.where(low >= LARGE, by_both, xp.where(high >= LARGE, by_one, near))
    return xp.where(known, found, special.betaln(a, b))


def _lgamma(xp: Any, special: Any, x: Any) -> Any:
    """SciPy's `gammaln`, except next to 0, where that overflows, and at -inf, where its sign
    differs from C's."""
    found = special.gammaln(x)
    infinite = xp.isinf(found)
    if bool(xp.any(infinite)):
        found = xp.where(infinite, xp.where(xp.abs(x) < 1e-300, -xp.log(xp.abs(x)), INF), found)
    return found


def _ratio(xp: Any, special: Any, low: Any, high: Any) -> Any:
    """Γ(a) Γ(b) / Γ(a + b) where neither is large. For one so small that its Γ isn't in the range
    it is 1/a + 1/b."""
    few, some = xp.clip(low, 1e-200, LARGE), xp.minimum(high, LARGE)
    both = few + some
    lost = few - (both - some)  # by rounding the sum
    found = (
        special.gamma(few)
        * (special.gamma(some) / special.gamma(both))
        * (1.0 - lost * special.digamma(both))
    )
    return xp.where(low < 1e-200, 1.0 / low + 1.0 / high, found)


def beta(xp: Any, special: Any, a: Any, b: Any) -> Any:
    known = (a > 0) & (b > 0) & xp.isfinite(a) & xp.isfinite(b)
    low, high = (xp.where(known, pick(a, b), 2.0) for pick in (xp.minimum, xp.maximum))
    by_one = special.gamma(xp.minimum(low, LARGE)) * xp.exp(
        _quotient_log(xp, low, xp.maximum(high, LARGE))
    )
    by_both = xp.exp(_lbeta(xp, special, low, high))
    found = xp.where(
        low >= LARGE, by_both, xp.where(high >= LARGE, by_one, _ratio(xp, special, low, high))
    )
    return xp.where(known, found, special.beta(a, b))


OPS = [
    _op(
        "gamma",
        "x",
        "The gamma function; gamma(n + 1) is n!.",
        primitive="scipy.special:gamma",
        domain=(POSITIVE,),
        partials=(lambda m, y, x: y * m.digamma(x),),
    ),
    _op(
        "lgamma",
        "x",
        "The logarithm of |gamma(x)|, without overflow.",
        symbolic=lambda s, x: s.loggamma(x),
        kernel=_lgamma,
        real_only=True,
        domain=(POSITIVE,),
        ulps=(16, 8, 16),
        aliases=("gammaln", "loggamma"),
        partials=(lambda m, y, x: m.digamma(x),),
    ),
    _op(
        "digamma",
        "x",
        "The derivative of lgamma.",
        symbolic=lambda s, x: s.digamma(x),
        kernel=_digamma,
        domain=(POSITIVE,),
        aliases=("psi",),
        partials=(lambda m, y, x: m.polygamma(1.0, x),),
    ),
    _op(
        "beta",
        "a, b",
        "gamma(a) * gamma(b) / gamma(a + b).",
        symbolic=lambda s, a, b: s.gamma(a) * s.gamma(b) / s.gamma(a + b),
        kernel=beta,
        real_only=True,
        domain=(POSITIVE, POSITIVE),
        ulps=(4, 8, 4096),
        partials=(
            lambda m, y, a, b: -y * m.polygamma_difference(0.0, a, b),
            lambda m, y, a, b: -y * m.polygamma_difference(0.0, b, a),
        ),
    ),
    _op(
        "lbeta",
        "a, b",
        "The logarithm of |beta(a, b)|, without overflow.",
        symbolic=lambda s, a, b: s.loggamma(a) + s.loggamma(b) - s.loggamma(a + b),
        kernel=_lbeta,
        real_only=True,
        domain=(POSITIVE, POSITIVE),
        aliases=("betaln",),
        partials=(
            lambda m, y, a, b: -m.polygamma_difference(0.0, a, b),
            lambda m, y, a, b: -m.polygamma_difference(0.0, b, a),
        ),
    ),
    _op(
        "polygamma",
        "n, x",
        "The n-th derivative of digamma.",
        symbolic=lambda s, n, x: s.polygamma(n, x),
        internal=True,
        kernel=polygamma,
        domain=((0.0, INF), POSITIVE),
        partials=(None, lambda m, y, n, x: m.polygamma(n + 1.0, x)),
    ),
    _op(
        "polygamma_difference",
        "n, a, b",
        "polygamma(n, a + b) - polygamma(n, a), accurate for small b.",
        symbolic=lambda s, n, a, b: s.polygamma(n, a + b) - s.polygamma(n, a),
        internal=True,
        kernel=polygamma_difference,
        real_only=True,
        domain=((0.0, INF), POSITIVE, POSITIVE),
        partials=(
            None,
            lambda m, y, n, a, b: m.polygamma_difference(n + 1.0, a, b),
            lambda m, y, n, a, b: m.polygamma(n + 1.0, a + b),
        ),
    ),
]
