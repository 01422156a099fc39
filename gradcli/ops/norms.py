"""Norms of vectors, scaled where the plain sum of powers leaves the range."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op, OpError
from .reduction import extreme_back, extreme_forward, verify_some
from .rows import over_axes
from .rules import all_axes, by_slope, conj, real_as, shown, spread

_op = partial(Op, category="reductions")


def _order(order: Any) -> float:
    if isinstance(order, str) and order == "fro":
        return 2.0
    if (
        isinstance(order, (int, float))
        and not isinstance(order, bool)
        and order != 0
        and order == order
    ):
        return float(order)
    raise OpError(
        f"`norm` has no order {shown(order)}",
        'orders are numbers other than 0, inf, -inf and "fro"',
    )


def _norm(xp: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The vector norm of all elements along `axis`, scaled where the plain sum of powers leaves the
    range."""
    x = xp.abs(xp.asarray(x))
    x = x if x.dtype.kind == "f" else x.astype("float64")
    p, axes = _order(ord), all_axes(axis, x.shape)
    if math.isinf(p):
        verify_some("norm", x.shape, axis)
        return (xp.max if p > 0 else xp.min)(x, axis=axes, keepdims=bool(keepdims))
    if p == 1:
        return x.sum(axis=axes, keepdims=bool(keepdims))
    total = (x * x if p == 2 else x**p).sum(axis=axes, keepdims=bool(keepdims))
    if x.size and not bool(((total > 1e-280) & (total < 1e300)).all()):
        scale = xp.max(x, axis=axes, keepdims=True)
        scale = xp.where((scale == 0) | ~xp.isfinite(scale), 1.0, scale)
        total = xp.sum((x / scale) ** p, axis=axes, keepdims=bool(keepdims))
        return total ** (1 / p) * (scale if keepdims else scale.reshape(total.shape))
    return xp.sqrt(total) if p == 2 else total ** (1 / p)


def _norm_form(s: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    p, axes, sizes = _order(ord), all_axes(axis, x.shape), s.Abs(x)
    if math.isinf(p):
        return s.reduced("Max" if p > 0 else "Min", sizes, axes, bool(keepdims))
    p = int(p) if p == int(p) else s.Rational(str(p))
    total = s.xp.sum(sizes**p, axis=axes, keepdims=bool(keepdims))
    return s.sqrt(total) if p == 2 else total ** (s.Integer(1) / p)


def _direction(m: Any, x: Any) -> Any:
    return conj(m, m.sign(conj(m, x)))


def _norm_slope(m: Any, y: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    p = _order(ord)
    if p == 1:
        return _direction(m, x)
    y = spread(m, y, x, axis, keepdims)
    return m.where(y == 0, 0.0, x / y if p == 2 else _direction(m, x) * (m.abs(x) / y) ** (p - 1.0))


_norm_rules = by_slope(_norm_slope)


def _norm_back(m: Any, g: Any, y: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if math.isinf(_order(ord)):
        return extreme_back(m, g, y, m.abs(x), axis, keepdims) * _direction(m, x)
    return _norm_rules["vjp"][0](m, g, y, x, ord=ord, axis=axis, keepdims=keepdims)


def _norm_forward(m: Any, t: Any, y: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if math.isinf(_order(ord)):
        lengths = real_as(m, m.strict_mul(t[0], conj(m, _direction(m, x))), y)
        return extreme_forward(m, [lengths], y, m.abs(x), axis, keepdims)
    return _norm_rules["jvp"](m, t, y, x, ord=ord, axis=axis, keepdims=keepdims)


OPS = [
    _op(
        "norm",
        "x; ord=2, axis=none, keepdims=false",
        "The vector norm of the elements along the axes, without overflow.",
        compute=_norm,
        rows=over_axes,
        saves=("x", "result"),
        symbolic=_norm_form,
        note="derivative 0 at the zero vector",
        vjp=(_norm_back,),
        jvp=_norm_forward,
    ),
]
