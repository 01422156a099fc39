"""Special functions about the normal distribution and entropy.

Those that NumPy lacks come from SciPy (`scipy.special:erf`), which is loaded on first use.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op

INF = math.inf
ROOT_PI, ROOT_2PI, ROOT_HALF = math.sqrt(math.pi), math.sqrt(2.0 * math.pi), math.sqrt(0.5)
HELPS = 1e5  # units in the last place of a probability: what rounding its quantile may come to
SPLITTER = 2.0**27 + 1.0  # x * SPLITTER - (x * SPLITTER - x) is x in half its digits


_op = partial(Op, category="special")


def _chosen(m: Any, difference: Any) -> Any:
    """exp(a) / (exp(a) + exp(b)) from a - b; half where both are the same infinity."""
    return m.where(m.isnan(difference), 0.5, m.sigmoid(difference))


def _bell(m: Any, x: Any, scale: Any) -> Any:
    """exp(-scale * x²), from a square that is exact and a small rest, as rounding a large square
    would lose digits. From 100 on there is no rest: of real numbers it is 0 there, of complex ones
    it needn't be; and none in float32, where the parts that are meant for float64 aren't close. The
    exponential of the rest, which is at most 2e-4, is a polynomial."""
    near = m.abs(x) < 100.0
    half = SPLITTER * x - (SPLITTER * x - x)
    half = m.where(near, m.where(m.abs(x - half) < 1e-6 * m.abs(x), half, x), x)
    rest = m.where(near, -(scale * ((x - half) * (x + half))), 0.0)
    return m.exp(-(scale * half * half)) * (1.0 + rest * (1.0 + rest * (0.5 + rest / 6.0)))


def _erfc(xp: Any, special: Any, x: Any) -> Any:
    """SciPy's `erfc`, or where that squares a rounded x, its scaled one times a bell that keeps its
    digits, also for subnormal results."""
    found = special.erfc(x)
    if x.dtype.kind == "c" or not bool(xp.any(far := x > 2.0)):
        return found
    tail = xp.minimum(x[far], 30.0)
    half = SPLITTER * tail - (SPLITTER * tail - tail)
    found[far] = special.erfcx(tail) * (
        xp.exp(-half * half) * xp.exp(-(tail - half) * (tail + half))
    )
    return found


def _logit(m: Any, x: Any) -> Any:
    """The logit; near 1/2 it is computed from the logarithm of 1 and a small difference."""
    return m.where(m.real(x) < 0.25, m.log(x) - m.log1p(-x), m.log1p(2.0 * (x - 0.5) / (1.0 - x)))


def _quantile_slope(xp: Any, special: Any, y: Any, p: Any) -> Any:
    """1 / density(y). In the tail it is computed from the ratio of p to the density, which changes
    slowly, while rounding y moves exp(y²/2); only a p whose quantile y is can help."""
    in_tail = (y < -1.0) & (p > 0) & (abs(special.ndtr(y) - p) <= HELPS * xp.finfo(y.dtype).eps * p)
    tail = xp.where(in_tail, y, -1.0)
    by_ratio = ROOT_PI * ROOT_HALF * special.erfcx(-ROOT_HALF * tail) / xp.where(in_tail, p, 1.0)
    return xp.where(in_tail, by_ratio, ROOT_2PI * xp.exp(0.5 * y * y))


def _log_or_nan(m: Any, x: Any, y: Any) -> Any:
    return m.where(x == 0, m.where(m.isnan(y), y, 0.0), x * m.log(y))


OPS = [
    _op(
        "erf",
        "x",
        "The error function.",
        primitive="scipy.special:erf",
        partials=(lambda m, y, x: 2.0 / ROOT_PI * m.bell(x, 1.0),),
    ),
    _op(
        "erfc",
        "x",
        "1 - erf(x), accurate for large x.",
        symbolic=lambda s, x: s.erfc(x),
        kernel=_erfc,
        partials=(lambda m, y, x: -2.0 / ROOT_PI * m.bell(x, 1.0),),
    ),
    _op(
        "erfinv",
        "x",
        "The inverse of erf.",
        primitive="scipy.special:erfinv",
        domain=((-1.0, 1.0),),
        note="derivative inf at -1 and 1",
        partials=(lambda m, y, x: 0.5 * ROOT_PI * m.exp(y * y),),
    ),
    _op(
        "ndtr",
        "x",
        "The distribution function of the standard normal distribution.",
        symbolic=lambda s, x: s.erfc(-x / s.sqrt(2)) / 2,
        aliases=("norm_cdf",),
        forward=lambda m, x: 0.5 * m.erfc(-ROOT_HALF * x),
        partials=(lambda m, y, x: 1.0 / ROOT_2PI * m.bell(x, 0.5),),
    ),
    _op(
        "ndtri",
        "p",
        "The inverse of ndtr.",
        symbolic=lambda s, p: s.sqrt(2) * s.erfinv(2 * p - 1),
        primitive="scipy.special:ndtri",
        domain=((0.0, 1.0),),
        note="derivative inf at 0 and 1",
        partials=(lambda m, y, p: m.quantile_slope(y, p),),
    ),
    _op(
        "expit",
        "x",
        "1 / (1 + exp(-x)), as sigmoid.",
        symbolic=lambda s, x: 1 / (1 + s.exp(-x)),
        forward=lambda m, x: m.sigmoid(x),
        partials=(lambda m, y, x: m.square(0.5 * m.sech(0.5 * x)),),
    ),
    _op(
        "logit",
        "x",
        "log(x / (1 - x)), the inverse of expit.",
        symbolic=lambda s, x: s.log(x / (1 - x)),
        forward=_logit,
        domain=((0.0, 1.0),),
        note="derivative inf at 0 and 1",
        partials=(lambda m, y, x: 1.0 / x + 1.0 / (1.0 - x),),
    ),
    _op(
        "xlogy",
        "x, y",
        "x * log(y), and 0 where x is 0.",
        symbolic=lambda s, x, y: x * s.log(y),
        forward=_log_or_nan,
        domain=((-INF, INF), (0.1, INF)),
        note="where x is 0 the derivative with respect to y is 0, even at y = 0",
        partials=(lambda m, result, x, y: m.log(y), lambda m, result, x, y: m.xdivy(x, y)),
    ),
    _op(
        "logaddexp",
        "a, b",
        "log(exp(a) + exp(b)), without overflow.",
        symbolic=lambda s, a, b: s.log(s.exp(a) + s.exp(b)),
        partials=(lambda m, y, a, b: _chosen(m, a - b), lambda m, y, a, b: _chosen(m, b - a)),
    ),
    _op(
        "xdivy",
        "x, y",
        "x / y, and 0 where x is 0.",
        symbolic=lambda s, x, y: x / y,
        internal=True,
        domain=((-INF, INF), (0.1, INF)),
        forward=lambda m, x, y: m.where(x == 0, 0.0, x / y),
        partials=(lambda m, result, x, y: 1.0 / y, lambda m, result, x, y: m.xdivy(-result, y)),
    ),
    # What it is a function of is y; p, whose quantile y is, only helps to compute it.
    _op(
        "quantile_slope",
        "y, p",
        "1 / the density of the normal distribution at y = ndtri(p).",
        symbolic=lambda s, y, p: s.sqrt(2 * s.pi) * s.exp(y**2 / 2),
        internal=True,
        kernel=_quantile_slope,
        real_only=True,
        partials=(lambda m, result, y, p: y * result, lambda m, result, y, p: 0.0),
    ),
    _op(
        "bell",
        "x, scale",
        "exp(-scale * x²), accurate for large x.",
        symbolic=lambda s, x, scale: s.exp(-scale * x**2),
        internal=True,
        forward=_bell,
        domain=((-INF, INF), (0.5, 1.0)),
        partials=(lambda m, y, x, scale: -2.0 * scale * x * y, lambda m, y, x, scale: -x * x * y),
    ),
]
