"""The exponential of a matrix. Leading axes are batch axes.

Its derivative along t stands in the exponential of a larger matrix: that of [[x, t], [0, x]] has it
in its upper right corner. The derivative of that in turn is one of the same kind, for matrices
twice as large.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op
from .rows_linalg import batched
from .rules import adjoint
from .systems import square_floats

# The Padé approximant p(x) / p(-x) of exp(x): the coefficients of p, how large x may be for it to
# be right to the last bit, and the first coefficient of its error.
DEGREE = 13
PADE = [
    float(math.factorial(26 - k) // (math.factorial(k) * math.factorial(13 - k)))
    for k in range(DEGREE + 1)
]
REACH = 4.25
ERROR = math.factorial(DEGREE) ** 2 / (math.factorial(2 * DEGREE) * math.factorial(2 * DEGREE + 1))
UNIT = 2.0**-53


_op = partial(Op, category="linear algebra")


# ---- compute -------------------------------------------------------------------------------------


def _size(xp: Any, x: Any) -> Any:
    """The largest sum of a column's absolute values."""
    return xp.max(xp.sum(xp.abs(x), axis=-2), axis=-1)


def _doublings(xp: Any, ratio: Any) -> Any:
    """How often a number must be doubled to reach a ratio: whole, and not negative."""
    return xp.maximum(xp.ceil(xp.log2(xp.maximum(ratio, 1.0))), 0.0)


def _expm(xp: Any, x: Any) -> Any:
    x = square_floats(xp, "expm", x)
    if not x.size:
        return x
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    y = _exponential(xp, xp.where(finite, x, 0.0).astype(x.dtype))
    return xp.where(finite, y, float("nan")).astype(x.dtype)


def _exponential(xp: Any, x: Any) -> Any:
    """Computes the exponential by scaling and squaring: exp(x) = exp(x / 2^s)^(2^s). Powers of x
    say how small s may be, as norms alone make it too large for matrices far from normal (Al-Mohy
    and Higham)."""
    first = _doublings(xp, _size(xp, x))  # so that no power overflows
    a = x * (2.0**-first)[..., None, None]
    a2 = xp.matmul(a, a)
    a4 = xp.matmul(a2, a2)
    a6 = xp.matmul(a4, a2)
    d6, d8, d10 = (
        _size(xp, p) ** (1 / k)
        for p, k in ((a6, 6), (xp.matmul(a4, a4), 8), (xp.matmul(a4, a6), 10))
    )
    s = _doublings(xp, xp.minimum(xp.maximum(d6, d8), xp.maximum(d8, d10)) * 2.0**first / REACH)
    scale = (2.0 ** (first - s))[..., None, None]
    a = a * scale
    s = s + _doublings(xp, (_rounding(xp, a) / UNIT) ** (0.5 / DEGREE))
    rest = (2.0 ** (first - s))[..., None, None] / scale
    a, a2, a4, a6 = (
        a * rest,
        a2 * (scale * rest) ** 2,
        a4 * (scale * rest) ** 4,
        a6 * (scale * rest) ** 6,
    )

    b, one = PADE, xp.eye(x.shape[-1], dtype=x.dtype)
    odd = (
        xp.matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2)
        + b[7] * a6
        + b[5] * a4
        + b[3] * a2
        + b[1] * one
    )
    even = (
        xp.matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2)
        + b[6] * a6
        + b[4] * a4
        + b[2] * a2
        + b[0] * one
    )
    odd = xp.matmul(a, odd)
    y = xp.linalg.solve(even - odd, even + odd)
    for k in range(int(xp.max(s))):
        y = xp.where((k < s)[..., None, None], xp.matmul(y, y), y)
    return y


def _rounding(xp: Any, a: Any) -> Any:
    """The error of the approximant relative to a, in terms of |a|, which rounding sees."""
    size = xp.abs(a)
    rows = xp.ones_like(size[..., :1, :])
    for _ in range(2 * DEGREE + 1):
        rows = xp.matmul(rows, size)
    total = _size(xp, a)
    return ERROR * xp.max(rows[..., 0, :], axis=-1) / xp.where(total == 0, 1.0, total)


def _expm_along(xp: Any, x: Any, t: Any) -> Any:
    x, n = square_floats(xp, "expm", x), x.shape[-1]
    if not x.size:
        return x
    size = xp.max(xp.abs(t), axis=(-2, -1), keepdims=True)
    size = xp.where(
        (size > 0) & xp.isfinite(size), size, 1.0
    )  # the result is linear in t, whose size mustn't decide on s
    t = t / size
    upper = xp.concatenate([x, t], axis=-1)
    lower = xp.concatenate([xp.zeros_like(x), x], axis=-1)
    return (size * _expm(xp, xp.concatenate([upper, lower], axis=-2))[..., :n, n:]).astype(
        upper.dtype
    )


# ---- rules ---------------------------------------------------------------------------------------


def _second(m: Any, x: Any, t: Any, s: Any) -> Any:
    """The derivative along s of the derivative along t: that along t at [[x, s], [0, x]], which is
    x plus a step along s that squares to 0."""
    n, zero = x.shape[-1], m.zeros_like(x)
    steps = m.concatenate(m.concatenate(x, s, axis=-1), m.concatenate(zero, x, axis=-1), axis=-2)
    both = m.concatenate(m.concatenate(t, zero, axis=-1), m.concatenate(zero, t, axis=-1), axis=-2)
    return m.getitem(m.expm_along(steps, both), index=(Ellipsis, slice(0, n), slice(n, None)))


def _along_forward(m: Any, t: Any, y: Any, x: Any, direction: Any) -> Any:
    by_x, by_direction = t
    along = None if by_direction is None else m.expm_along(x, by_direction)
    if by_x is None:
        return along
    second = _second(m, x, direction, by_x)
    return second if along is None else second + along


OPS = [
    _op(
        "expm",
        "x",
        "The exponential of a matrix.",
        compute=_expm,
        rows=batched(2),
        saves=("x",),
        vjp=(lambda m, g, y, x: m.expm_along(adjoint(m, x), g),),
        jvp=lambda m, t, y, x: m.expm_along(x, t[0]),
    ),
    _op(
        "expm_along",
        "x, t",
        "The derivative of the exponential at x along t.",
        internal=True,
        compute=_expm_along,
        rows=batched(2, 2, alike=True),
        saves=("x", "t"),
        jvp=_along_forward,
        vjp=(
            lambda m, g, y, x, t: _second(m, adjoint(m, x), adjoint(m, t), g),
            lambda m, g, y, x, t: m.expm_along(adjoint(m, x), g),
        ),
    ),
]
