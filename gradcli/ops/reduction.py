"""Reductions along axes: sums, means and moments, extremes and positions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import along_axis, on_axes, over_axes
from .rules import Shape, all_axes, by_slope, kept_shape, number, one_axis, ratio, spread

OVER = "x; axis=none, *, keepdims=false"


_op = partial(Op, category="reductions")


def _axis(axis: Any, x: Any) -> tuple[int, ...] | None:
    return None if axis is None else all_axes(axis, x.shape)


def by_method(name: str) -> Any:
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
    return total / count(x.shape, axis)


def _floats(xp: Any, x: Any) -> Any:
    x = xp.asarray(x)
    return x.astype("float64") if x.dtype.kind in "iub" else x


def verify_some(name: str, shape: Shape, axis: Any) -> None:
    if any(shape[k] == 0 for k in all_axes(axis, shape)):
        raise OpError(f"`{name}` of no elements has no value: the shape is {shape}")


# ---- sums and means ------------------------------------------------------------------------------


def _mean_back(m: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    # Scaled before it is spread, while it is small.
    return spread(m, g * ratio(1.0, x.size // max(y.size, 1)), x, axis, keepdims)


def count(shape: Shape, axis: Any) -> int:
    return math.prod(shape[k] for k in all_axes(axis, shape))


def _moment(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
        x, freedom = _floats(xp, x), max(count(xp.shape(x), axis) - number(name, ddof, "ddof"), 0)
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
    return (x - m.mean(x, axis=axis, keepdims=True)) * ratio(1.0, count(x.shape, axis) - ddof)


def _var_form(s: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    axes = all_axes(axis, x.shape)
    apart = x - x.mean(axis=axes, keepdims=True)
    return s.xp.sum(apart**2, axis=axes, keepdims=bool(keepdims)) / (count(x.shape, axis) - ddof)


def _var_slope(m: Any, y: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    return 2.0 * _deviation(m, x, axis, ddof)


def _std_slope(m: Any, y: Any, x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    y = spread(m, y, x, axis, keepdims)
    return m.where(y == 0, 0.0, _deviation(m, x, axis, ddof) / y)


# ---- extremes ------------------------------------------------------------------------------------


def _extreme(name: str) -> Any:
    def compute(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        x = xp.asarray(x)
        verify_some(name, x.shape, axis)
        return getattr(xp, name)(x, axis=_axis(axis, x), keepdims=bool(keepdims))

    return compute


def _chosen(m: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """A mask of the elements that are the extreme, and how many share it, as floats."""
    chosen = x == spread(m, y, x, axis, keepdims)
    return chosen, m.cast(m.count_nonzero(chosen, axis=axis, keepdims=keepdims), dtype=str(x.dtype))


def extreme_back(m: Any, g: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    chosen, ties = _chosen(m, y, x, axis, keepdims)
    return m.where(chosen, spread(m, g / ties, x, axis, keepdims), 0.0)


def extreme_forward(m: Any, t: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
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
        verify_some(name, x.shape, axis)
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
    verify_some("median", x.shape, axis)
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


OPS = [
    # ---- sums and means --------------------------------------------------------------------------
    _op(
        "sum",
        OVER,
        "The sum of the elements.",
        compute=by_method("sum"),
        rows=over_axes,
        integers="keep",
        linear=True,
        vjp=(lambda m, g, y, x, axis, keepdims: spread(m, g, x, axis, keepdims),),
    ),
    _op(
        "mean",
        OVER,
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
        vjp=(extreme_back,),
        jvp=extreme_forward,
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
        vjp=(extreme_back,),
        jvp=extreme_forward,
        hint="the larger of two values is `maximum(a, b)`",
    ),
    _op(
        "median",
        OVER,
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
        OVER,
        "The position of the smallest element, the first of equal ones.",
        compute=_position("argmin"),
        rows=along_axis,
        differentiable=False,
    ),
    _op(
        "argmax",
        OVER,
        "The position of the largest element, the first of equal ones.",
        compute=_position("argmax"),
        rows=along_axis,
        differentiable=False,
    ),
    _op(
        "any",
        OVER,
        "Whether some element is true.",
        compute=by_method("any"),
        rows=over_axes,
        differentiable=False,
        aliases=("some",),
        symbolic=_reduced_form("Or"),
    ),
    _op(
        "all",
        OVER,
        "Whether every element is true.",
        compute=by_method("all"),
        rows=over_axes,
        differentiable=False,
        aliases=("every",),
        symbolic=_reduced_form("And"),
    ),
    _op(
        "count_nonzero",
        OVER,
        "How many elements are not 0.",
        compute=_count_nonzero,
        rows=over_axes,
        differentiable=False,
    ),
]
