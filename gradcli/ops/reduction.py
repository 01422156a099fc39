"""Reductions along axes, and running sums and products.

No rule divides by an operand, so a product with zeros has its right derivative, to any order.
"""

from __future__ import annotations

import math
from typing import Any

from .op import Op, OpError
from .rows import along_axis, on_axes, over_axes
from .rows_linalg import batched
from .rules import (
    Shape,
    all_axes,
    by_slope,
    conj,
    inverse,
    kept_shape,
    number,
    one_axis,
    ratio,
    real_as,
    reshaped,
    spread,
)

_OVER = "x; axis=none, *, keepdims=false"


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="reductions", **facts)


def _axis(axis: Any, x: Any) -> tuple[int, ...] | None:
    return None if axis is None else all_axes(axis, x.shape)


def _along(name: str) -> Any:
    """`compute` of the array method `name`, a reduction."""

    def compute(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        x = xp.asarray(x)
        return getattr(x, name)(axis=_axis(axis, x), keepdims=bool(keepdims))

    return compute


def _mean(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    x = _floats(xp, x)
    total = x.sum(
        axis=_axis(axis, x), keepdims=bool(keepdims)
    )  # as the method does, which thinks longer, and warns
    return total / _count(x.shape, axis)


def _floats(xp: Any, x: Any) -> Any:
    x = xp.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype("float64")


def _verify_some(name: str, shape: Shape, axis: Any) -> None:
    if any(shape[k] == 0 for k in all_axes(axis, shape)):
        raise OpError(f"`{name}` of no elements has no value: the shape is {shape}")


# ---- sums and means ------------------------------------------------------------------------------


def _mean_back(m: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    # Scaled before it is spread, while it is small.
    return spread(m, g * ratio(1.0, x.size // max(y.size, 1)), x, axis, keepdims)


def _count(shape: Shape, axis: Any) -> int:
    return math.prod(shape[k] for k in all_axes(axis, shape))


def _moment(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
        x, freedom = _floats(xp, x), max(_count(xp.shape(x), axis) - number(name, ddof, "ddof"), 0)
        axes = all_axes(axis, x.shape)
        # From the first element, so that the deviations of a constant are 0, not what is left of
        # rounding.
        x = (
            x - x[tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))]
            if x.size
            else x
        )
        x = x - _mean(xp, x, axis, keepdims=True)
        squares = x * x if x.dtype.kind == "f" else (x * xp.conj(x)).real
        variance = squares.sum(axis=axes, keepdims=bool(keepdims)) / freedom
        return xp.sqrt(variance) if name == "std" else variance

    return compute


def _deviation(m: Any, x: Any, axis: Any, ddof: Any) -> Any:
    """(x - mean) / (n - ddof)"""
    return (x - m.mean(x, axis=axis, keepdims=True)) * ratio(1.0, _count(x.shape, axis) - ddof)


def _var_form(s: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    axes = all_axes(axis, x.shape)
    apart = x - x.mean(axis=axes, keepdims=True)
    return s.xp.sum(apart**2, axis=axes, keepdims=bool(keepdims)) / (_count(x.shape, axis) - ddof)


def _var_slope(m: Any, y: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    return 2.0 * _deviation(m, x, axis, ddof)


def _std_slope(m: Any, y: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    y = spread(m, y, x, axis, keepdims)
    return m.where(y == 0, 0.0, _deviation(m, x, axis, ddof) / y)


# ---- extremes ------------------------------------------------------------------------------------


def _extreme(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        x = xp.asarray(x)
        _verify_some(name, x.shape, axis)
        return getattr(xp, name)(x, axis=_axis(axis, x), keepdims=bool(keepdims))

    return compute


def _chosen(m: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """Which elements are the extreme, and how many share it, as floats."""
    chosen = x == spread(m, y, x, axis, keepdims)
    return chosen, m.cast(m.count_nonzero(chosen, axis=axis, keepdims=keepdims), dtype=str(x.dtype))


def _extreme_back(m: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    chosen, ties = _chosen(m, y, x, axis, keepdims)
    return m.where(chosen, spread(m, g / ties, x, axis, keepdims), 0.0)


def _extreme_forward(m: Any, t: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    chosen, ties = _chosen(m, y, x, axis, keepdims)
    return m.sum(m.where(chosen, t[0], 0.0), axis=axis, keepdims=keepdims) / ties


def _reduced_form(name: str) -> Any:
    """The form of a reduction by a function of two: `Max`, `Or`."""

    def form(s: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        return s.reduced(name, x, all_axes(axis, x.shape), bool(keepdims))

    return form


def _position(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        x = xp.asarray(x)
        _verify_some(name, x.shape, axis)
        return getattr(xp, name)(
            x, axis=None if axis is None else one_axis(axis, x.shape), keepdims=bool(keepdims)
        )

    return compute


def _count_nonzero(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    x = xp.asarray(x)
    return xp.sum(x != 0, axis=_axis(axis, x), keepdims=bool(keepdims))


def _median_weights(xp: Any, x: Any, axis: Any) -> Any:
    """How much each element counts in the median: half for either middle one, shared equally among
    ties."""
    x = xp.asarray(x)
    axes = all_axes(axis, x.shape)
    _verify_some("median", x.shape, axis)
    rest = [k for k in range(x.ndim) if k not in axes]
    ordered = xp.sort(
        xp.transpose(x, (*rest, *axes)).reshape(*(x.shape[k] for k in rest), -1), axis=-1
    )
    n = ordered.shape[-1]
    weights = xp.zeros(x.shape, dtype=x.dtype if x.dtype.kind == "f" else "float64")
    for middle in ((n - 1) // 2, n // 2):
        tied = x == ordered[..., middle].reshape(kept_shape(x.shape, axes))
        weights += 0.5 * tied / xp.maximum(xp.sum(tied, axis=axes, keepdims=True), 1)
    return weights


# ---- products ------------------------------------------------------------------------------------


def _product_of_others(m: Any, x: Any, axis: Any) -> Any:
    """For each element, the product of all the others along `axis`: those before it times those
    after it."""
    shape = tuple(x.shape)
    axes = all_axes(axis, shape)
    order = [k for k in range(len(shape)) if k not in axes] + list(axes)
    ordered = m.transpose(x, axes=order) if order != sorted(order) else x
    lines = (
        m.reshape(ordered, shape=[*(shape[k] for k in order[: -len(axes)]), _count(shape, axis)])
        if axes
        else ordered
    )
    before = m.cumprod(m.shift(lines, by=1, fill=1.0), axis=-1)
    after = m.flip(m.cumprod(m.shift(m.flip(lines, axis=-1), by=1, fill=1.0), axis=-1), axis=-1)
    others = reshaped(m, before * after, tuple(shape[k] for k in order))
    return m.transpose(others, axes=inverse(order)) if order != sorted(order) else others


def _prod_slope(m: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return conj(m, _product_of_others(m, x, axis)) if x.ndim else m.ones_like(x)


def _running(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any) -> Any:
        x = xp.asarray(x)
        return getattr(xp, name)(x, axis=None if axis is None else one_axis(axis, x.shape))

    return compute


def _cumsum_back(m: Any, g: Any, y: Any, x: Any, axis: Any) -> Any:
    axis = 0 if axis is None else axis
    return reshaped(m, m.flip(m.cumsum(m.flip(g, axis=axis), axis=axis), axis=axis), x.shape)


def _lines(m: Any, x: Any, axis: Any) -> Any:
    """`x` with the axis that something runs along last; all elements in one line for None."""
    return (
        m.reshape(x, shape=[-1])
        if not x.ndim or axis is None
        else m.moveaxis(x, source=axis, destination=-1)
    )


def _products_before(m: Any, lines: Any) -> Any:
    return m.cumprod(m.shift(lines, by=1, fill=1.0), axis=-1)


def _cumprod_back(m: Any, g: Any, y: Any, x: Any, axis: Any) -> Any:
    """With b_i the product before i and r_i = g_i + x_{i+1} r_{i+1}, the cotangent of x_i is b_i
    r_i."""
    lines, g = conj(m, _lines(m, x, axis)), _lines(m, g, axis)
    after = m.flip(
        m.recurrence(m.shift(m.flip(lines, axis=-1), by=1, fill=0.0), m.flip(g, axis=-1)), axis=-1
    )
    back = _products_before(m, lines) * after
    return (
        reshaped(m, back, x.shape)
        if not x.ndim or axis is None
        else m.moveaxis(back, source=-1, destination=axis)
    )


def _cumprod_forward(m: Any, t: Any, y: Any, x: Any, axis: Any) -> Any:
    """The tangent of y_i = x_i y_{i-1} is t_i y_{i-1} and x_i times the one before it."""
    lines = _lines(m, x, axis)
    along = m.recurrence(lines, m.strict_mul(_lines(m, t[0], axis), _products_before(m, lines)))
    return along if not x.ndim or axis is None else m.moveaxis(along, source=-1, destination=axis)


def _shift(xp: Any, x: Any, by: int, fill: float) -> Any:
    """Moves along the last axis, to the right for by = 1, to the left for -1."""
    edge = xp.full((*x.shape[:-1], min(1, x.shape[-1])), fill, dtype=x.dtype)
    return xp.concatenate([edge, x[..., :-1]] if by == 1 else [x[..., 1:], edge], axis=-1)


def _recurrence(xp: Any, a: Any, b: Any) -> Any:
    """r_i = b_i + a_i r_{i-1} along the last axis, by doubling: about log2(n) passes."""
    dtype = xp.result_type(a, b)
    a, b = xp.array(a, dtype=dtype), xp.array(b, dtype=dtype)
    step = 1
    while step < b.shape[-1]:
        b[..., step:] = b[..., step:] + a[..., step:] * b[..., :-step]
        a[..., step:] = a[..., step:] * a[..., :-step]
        step *= 2
    return b


def _recurrence_term_back(m: Any, g: Any, a: Any) -> Any:
    """The cotangent of b: the same recurrence, from the other end."""
    turned = m.shift(m.flip(conj(m, a), axis=-1), by=1, fill=0.0)
    return m.flip(m.recurrence(turned, m.flip(g, axis=-1)), axis=-1)


def _recurrence_factor_back(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return _recurrence_term_back(m, g, a) * conj(m, m.shift(y, by=1, fill=0.0))


def _recurrence_forward(m: Any, t: Any, y: Any, a: Any, b: Any) -> Any:
    by_factor, by_term = t
    if by_factor is None:
        return m.recurrence(a, by_term)
    terms = m.strict_mul(by_factor, m.shift(y, by=1, fill=0.0))
    return m.recurrence(a, terms if by_term is None else terms + by_term)


# ---- norms ---------------------------------------------------------------------------------------


def _order(order: Any) -> float:
    if order == "fro":
        return 2.0
    if (
        isinstance(order, (int, float))
        and not isinstance(order, bool)
        and order != 0
        and order == order
    ):
        return float(order)
    raise OpError(
        f"`norm` has no order {order!r}", 'orders are numbers other than 0, inf, -inf and "fro"'
    )


def _norm(xp: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The vector norm of all elements along `axis`, scaled where the plain sum of powers leaves the
    range."""
    x = xp.abs(xp.asarray(x))
    x = x if x.dtype.kind == "f" else x.astype("float64")
    p, axes = _order(ord), all_axes(axis, x.shape)
    if math.isinf(p):
        _verify_some("norm", x.shape, axis)
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
        return _extreme_back(m, g, y, m.abs(x), axis, keepdims) * _direction(m, x)
    return _norm_rules["vjp"][0](m, g, y, x, ord=ord, axis=axis, keepdims=keepdims)


def _norm_forward(m: Any, t: Any, y: Any, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if math.isinf(_order(ord)):
        lengths = real_as(m, m.strict_mul(t[0], conj(m, _direction(m, x))), y)
        return _extreme_forward(m, [lengths], y, m.abs(x), axis, keepdims)
    return _norm_rules["jvp"](m, t, y, x, ord=ord, axis=axis, keepdims=keepdims)


OPS = [
    # ---- sums and means --------------------------------------------------------------------------
    _op(
        "sum",
        _OVER,
        "The sum of the elements.",
        compute=_along("sum"),
        rows=over_axes,
        integers="keep",
        linear=True,
        vjp=(lambda m, g, y, x, axis, keepdims: spread(m, g, x, axis, keepdims),),
    ),
    _op(
        "mean",
        _OVER,
        "The mean of the elements.",
        compute=_mean,
        rows=over_axes,
        aliases=("average",),
        linear=True,
        vjp=(_mean_back,),
    ),
    _op(
        "var",
        "x; axis=none, *, ddof=0, keepdims=false",
        "The variance, divided by n - ddof.",
        compute=_moment("var"),
        rows=over_axes,
        saves=("x",),
        **by_slope(_var_slope),
        symbolic=_var_form,
    ),
    _op(
        "std",
        "x; axis=none, *, ddof=0, keepdims=false",
        "The standard deviation, by n - ddof.",
        compute=_moment("std"),
        rows=over_axes,
        saves=("x", "result"),
        note="derivative 0 for a constant",
        **by_slope(_std_slope),
        symbolic=lambda s, x, **options: s.sqrt(_var_form(s, x, **options)),
    ),
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
    # ---- extremes --------------------------------------------------------------------------------
    _op(
        "min",
        "x; *, axis=none, keepdims=false",
        "The smallest element.",
        compute=_extreme("min"),
        rows=over_axes,
        symbolic=_reduced_form("Min"),
        aliases=("amin", "nanmin"),
        saves=("x", "result"),
        note="ties share the derivative equally",
        vjp=(_extreme_back,),
        jvp=_extreme_forward,
        hint="the smaller of two values is `minimum(a, b)`",
    ),
    _op(
        "max",
        "x; *, axis=none, keepdims=false",
        "The largest element.",
        compute=_extreme("max"),
        rows=over_axes,
        symbolic=_reduced_form("Max"),
        aliases=("amax", "nanmax"),
        saves=("x", "result"),
        note="ties share the derivative equally",
        vjp=(_extreme_back,),
        jvp=_extreme_forward,
        hint="the larger of two values is `maximum(a, b)`",
    ),
    _op(
        "median",
        _OVER,
        "The middle element, or the mean of the two middle ones.",
        compute=_extreme("median"),
        rows=over_axes,
        saves=("x",),
        note="ties share the derivative equally",
        **by_slope(lambda m, y, x, axis, keepdims: m.median_weights(x, axis=axis)),
    ),
    _op(
        "median_weights",
        "x; axis=none",
        "How much each element counts in the median.",
        internal=True,
        compute=_median_weights,
        rows=on_axes,
        vjp=(lambda m, g, y, x, axis: m.zeros_like(x),),
        jvp=lambda m, t, y, x, axis: m.zeros_like(y),
    ),
    _op(
        "argmin",
        _OVER,
        "The position of the smallest element, the first of equal ones.",
        compute=_position("argmin"),
        rows=along_axis,
        differentiable=False,
    ),
    _op(
        "argmax",
        _OVER,
        "The position of the largest element, the first of equal ones.",
        compute=_position("argmax"),
        rows=along_axis,
        differentiable=False,
    ),
    _op(
        "any",
        _OVER,
        "Whether some element is true.",
        compute=_along("any"),
        rows=over_axes,
        differentiable=False,
        aliases=("some",),
        symbolic=_reduced_form("Or"),
    ),
    _op(
        "all",
        _OVER,
        "Whether every element is true.",
        compute=_along("all"),
        rows=over_axes,
        differentiable=False,
        aliases=("every",),
        symbolic=_reduced_form("And"),
    ),
    _op(
        "count_nonzero",
        _OVER,
        "How many elements are not 0.",
        compute=_count_nonzero,
        rows=over_axes,
        differentiable=False,
    ),
    # ---- products and running values -------------------------------------------------------------
    _op(
        "prod",
        _OVER,
        "The product of the elements.",
        compute=_along("prod"),
        rows=over_axes,
        integers="keep",
        aliases=("product",),
        saves=("x",),
        **by_slope(_prod_slope),
    ),
    _op(
        "cumsum",
        "x; axis=none",
        "The sums of the elements up to each; all in one line without an axis.",
        compute=_running("cumsum"),
        rows=along_axis,
        integers="keep",
        linear=True,
        vjp=(_cumsum_back,),
    ),
    _op(
        "cumprod",
        "x; axis=none",
        "The products of the elements up to each; all in one line without an axis.",
        compute=_running("cumprod"),
        rows=along_axis,
        integers="keep",
        saves=("x",),
        vjp=(_cumprod_back,),
        jvp=_cumprod_forward,
    ),
    _op(
        "shift",
        "x; by, fill",
        "The elements moved one place along the last axis.",
        internal=True,
        compute=_shift,
        rows=batched(1),
        vjp=(lambda m, g, y, x, by, fill: m.shift(g, by=-by, fill=0.0),),
        jvp=lambda m, t, y, x, by, fill: m.shift(t[0], by=by, fill=0.0),
    ),
    _op(
        "recurrence",
        "a, b",
        "r_i = b_i + a_i r_{i-1} along the last axis.",
        internal=True,
        compute=_recurrence,
        rows=batched(1, 1, alike=True),
        saves=("a", "result"),
        jvp=_recurrence_forward,
        vjp=(_recurrence_factor_back, lambda m, g, y, a, b: _recurrence_term_back(m, g, a)),
    ),
]
