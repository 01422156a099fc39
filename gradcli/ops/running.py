"""Products, and running sums and products.

No rule divides by an operand, so a product with zeros has its right derivative, to any order.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op
from .reduction import OVER, by_method, count
from .rows import along_axis, over_axes
from .rows_linalg import batched
from .rules import all_axes, by_slope, conj, inverse, one_axis, reshaped

_op = partial(Op, category="reductions")


def _product_of_others(m: Any, x: Any, axis: Any) -> Any:
    """For each element, the product of all the others along `axis`: those before it times those
    after it."""
    shape = tuple(x.shape)
    axes = all_axes(axis, shape)
    order = [k for k in range(len(shape)) if k not in axes] + list(axes)
    ordered = m.transpose(x, axes=order) if order != sorted(order) else x
    lines = (
        m.reshape(ordered, shape=[*(shape[k] for k in order[: -len(axes)]), count(shape, axis)])
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
    """Moves the axis of a running operation to the end; None puts all elements in one line."""
    return (
        m.reshape(x, shape=[-1])
        if not x.ndim or axis is None
        else m.moveaxis(x, source=axis, destination=-1)
    )


def _products_before(m: Any, lines: Any) -> Any:
    return m.cumprod(m.shift(lines, by=1, fill=1.0), axis=-1)


def _cumprod_back(m: Any, g: Any, y: Any, x: Any, axis: Any) -> Any:
    """The pullback of `cumprod`: with b_i the product before i and r_i = g_i + x_{i+1} r_{i+1}, the
    cotangent of x_i is b_i r_i."""
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
    """Moves elements one place along the last axis, to the right for by = 1, to the left for -1."""
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
    """The cotangent of b in `recurrence`: the same recurrence, from the other end."""
    factors = m.shift(m.flip(conj(m, a), axis=-1), by=1, fill=0.0)
    return m.flip(m.recurrence(factors, m.flip(g, axis=-1)), axis=-1)


def _recurrence_factor_back(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return _recurrence_term_back(m, g, a) * conj(m, m.shift(y, by=1, fill=0.0))


def _recurrence_forward(m: Any, t: Any, y: Any, a: Any, b: Any) -> Any:
    by_factor, by_term = t
    if by_factor is None:
        return m.recurrence(a, by_term)
    terms = m.strict_mul(by_factor, m.shift(y, by=1, fill=0.0))
    return m.recurrence(a, terms if by_term is None else terms + by_term)


OPS = [
    _op(
        "prod",
        OVER,
        "The product of the elements.",
        compute=by_method("prod"),
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
