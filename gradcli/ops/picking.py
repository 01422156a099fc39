"""Sorting arrays, and picking elements by index. Every pullback adds cotangents up where the
elements came from."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import along_axis, in_line, inner_shapes, positive, with_rows
from .rules import Shape, fit, one_axis, reshaped
from .scatter import add_at

_op = partial(Op, category="shape")


def _sort(xp: Any, x: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    return (
        xp.sort(x.reshape(-1))
        if axis is None
        else xp.sort(x, axis=one_axis(axis, x.shape), kind="stable")
    )


def _argsort(xp: Any, x: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, one_axis(axis, x.shape))
    return xp.argsort(x, axis=axis, kind="stable")


def _sort_back(m: Any, g: Any, y: Any, x: Any, axis: Any) -> Any:
    shape = (x.size,) if axis is None else tuple(x.shape)
    order = m.argsort(x, axis=axis)
    return reshaped(m, m.ungather(g, order, axis=0 if axis is None else axis, shape=shape), x.shape)


def _sort_forward(m: Any, t: Any, y: Any, x: Any, axis: Any) -> Any:
    along = m.reshape(t[0], shape=[-1]) if axis is None else t[0]
    return m.gather(along, m.argsort(x, axis=axis), axis=0 if axis is None else axis)


def _indices(xp: Any, name: str, indices: Any, n: int) -> Any:
    """Indices as an int array within `n`, negative ones counted from the end."""
    indices = xp.asarray(indices)
    if indices.size == 0:
        return indices.astype("int64")
    if indices.dtype.kind not in "iu":
        raise OpError(f"`{name}` needs ints as indices, not {indices.dtype}")
    low, high = int(indices.min()), int(indices.max())
    if low < -n or high >= n:
        raise OpError(
            f"`{name}`: index {high if high >= n else low} is out of range for {n} elements"
        )
    return xp.where(indices < 0, indices + n, indices)


def _take(xp: Any, x: Any, indices: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, one_axis(axis, x.shape))
    return xp.take(x, _indices(xp, "take", indices, x.shape[axis]), axis=axis)


def _take_shape(shape: Shape, indices: Shape, axis: Any) -> Shape:
    shape, axis = ((math.prod(shape),), 0) if axis is None else (shape, one_axis(axis, shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def _take_back(m: Any, g: Any, y: Any, x: Any, indices: Any, axis: Any) -> Any:
    shape, axis = (
        ((x.size,), 0) if axis is None else (tuple(x.shape), one_axis(axis, tuple(x.shape)))
    )
    return reshaped(m, m.untake(g, indices, axis=axis, shape=shape), x.shape)


def _untake(xp: Any, g: Any, indices: Any, axis: int, shape: Any) -> Any:
    g, shape = xp.asarray(g), tuple(shape)
    indices = _indices(xp, "take", indices, shape[axis])
    total = xp.zeros(shape, dtype=g.dtype)
    picked = tuple(range(axis, axis + indices.ndim))
    add_at(
        xp, xp.moveaxis(total, axis, 0), indices, xp.moveaxis(g, picked, tuple(range(indices.ndim)))
    )
    return total


def _places(xp: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """The full index of what `indices` picks along `axis`."""
    ndim = indices.ndim
    grid = [
        xp.arange(n).reshape((1,) * k + (n,) + (1,) * (ndim - k - 1))
        for k, n in enumerate(indices.shape)
    ]
    return (*grid[:axis], indices, *grid[axis + 1 :])


def _gather(xp: Any, x: Any, indices: Any, axis: Any) -> Any:
    x, indices = xp.asarray(x), xp.asarray(indices)
    axis = one_axis(axis, x.shape)
    if indices.ndim != x.ndim or any(
        b > a for k, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis
    ):
        raise OpError(
            (
                f"`gather` needs an index an element: the indices are {indices.shape}, the array "
                f"{x.shape}"
            ),
            "to take whole rows or columns: `take(x, indices, axis)`",
        )
    return x[_places(xp, _indices(xp, "gather", indices, x.shape[axis]), axis)]


def _ungather(xp: Any, g: Any, indices: Any, axis: Any, shape: Any) -> Any:
    g, shape = xp.asarray(g), tuple(shape)
    axis = one_axis(axis, shape)
    total = xp.zeros(shape, dtype=g.dtype)
    add_at(xp, total, _places(xp, _indices(xp, "gather", indices, shape[axis]), axis), g)
    return total


def _scatter_add(xp: Any, x: Any, indices: Any, values: Any) -> Any:
    x, values = xp.asarray(x), xp.asarray(values)
    if not x.ndim:
        raise OpError("`scatter_add` needs an array to add to, not a single number")
    indices = _indices(xp, "scatter_add", indices, x.shape[0])
    target = (*indices.shape, *x.shape[1:])
    if values.ndim > len(target) or any(
        a not in (1, b) for a, b in zip(values.shape[::-1], target[::-1], strict=False)
    ):
        raise OpError(f"`scatter_add` adds values of shape {target} here, not {values.shape}")
    like = (
        values.dtype if values.ndim else {"b": False, "i": 0, "f": 0.0, "c": 0j}[values.dtype.kind]
    )  # numbers adapt
    total = xp.array(x, dtype=xp.result_type(x.dtype, like))
    add_at(xp, total, indices, values)
    return total


def _scatter_add_back(m: Any, g: Any, y: Any, x: Any, indices: Any, values: Any) -> Any:
    return fit(m, m.take(g, indices, axis=0), values)


# ---- rows (rows.py): where they have indices of their own, each picks from its own row -----------


def _rows_first(xp: Any, x: Any, axis: int) -> Any:
    """Returns a view with `axis` first and the rows second."""
    return xp.moveaxis(x, (axis, -1), (0, 1))


def _rows_last(xp: Any, y: Any, depth: int, axis: int) -> Any:
    """Moves the rows to the end of an array that was picked by indices of rank `depth`: the
    indices' axes come first in it, then the rows."""
    return xp.moveaxis(
        xp.moveaxis(y, depth, -1), tuple(range(depth)), tuple(range(axis, axis + depth))
    )


def _take_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    (x, indices), (own_x, own_indices) = operands, laned
    shape, axis = inner_shapes(operands, laned)[0], options["axis"]
    if axis is None:
        x, shape, axis = in_line(x) if own_x else x.reshape(-1), (math.prod(shape),), 0
    axis = one_axis(axis, shape)
    if not own_indices:
        return compute(x, indices, axis=axis)
    depth = indices.ndim - 1
    if not own_x:
        return xp.moveaxis(compute(x, indices, axis=axis), axis + depth, -1)
    picked = _rows_first(xp, x, axis)[_indices(xp, "take", indices, shape[axis]), xp.arange(n)]
    return _rows_last(xp, picked, depth, axis)


def _untake_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    (g, indices), axis, shape = operands, options["axis"], tuple(options["shape"])
    g = with_rows(xp, g, laned[0], n)
    if not laned[1]:
        return compute(g, indices, axis=axis, shape=(*shape, n))
    depth = indices.ndim - 1
    total = xp.zeros((*shape, n), g.dtype)
    g = xp.moveaxis(g, (*range(axis, axis + depth), -1), tuple(range(depth + 1)))
    add_at(
        xp,
        _rows_first(xp, total, axis),
        (_indices(xp, "take", indices, shape[axis]), xp.arange(n)),
        g,
    )
    return total


def _ungather_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    operands = [with_rows(xp, *pair, n) for pair in zip(operands, laned, strict=True)]
    shape = tuple(options["shape"])
    return compute(*operands, axis=one_axis(options["axis"], shape), shape=(*shape, n))


def _scatter_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    x, indices, values = operands
    shape, places, given = inner_shapes(operands, laned)
    x = with_rows(xp, x, laned[0], n)
    values = values if laned[2] or not given else values[..., None]
    if not laned[1]:
        return compute(x, indices, values)
    target = (*places, *shape[1:])
    if len(given) > len(target):
        return NotImplemented
    values = (
        values.reshape(*(1 for _ in range(len(target) - len(given))), *values.shape)
        if given or laned[2]
        else values
    )
    total = xp.array(x, dtype=xp.result_type(x, values))
    if getattr(values, "ndim", 0):
        values = xp.moveaxis(values, -1, len(places))
    add_at(
        xp,
        _rows_first(xp, total, 0),
        (_indices(xp, "scatter_add", indices, shape[0]), xp.arange(n)),
        values,
    )
    return total


OPS = [
    _op(
        "sort",
        "x; axis=-1",
        "The elements in ascending order.",
        compute=_sort,
        rows=along_axis,
        saves=("x",),
        note="equal elements keep their order",
        vjp=(_sort_back,),
        jvp=_sort_forward,
    ),
    _op(
        "argsort",
        "x; axis=-1",
        "The positions that sort the elements; equal ones keep their order.",
        compute=_argsort,
        rows=along_axis,
        differentiable=False,
    ),
    _op(
        "take",
        "x, indices; axis=none",
        "The elements at the indices along an axis; of all in one line without one.",
        compute=_take,
        rows=_take_rows,
        saves=("indices",),
        linear=True,
        result_shape=_take_shape,
        vjp=(_take_back, None),
    ),
    _op(
        "gather",
        "x, indices; axis=-1",
        "One element along the axis for each index.",
        compute=_gather,
        rows=positive("axis"),
        saves=("indices",),
        linear=True,
        aliases=("take_along_axis",),
        result_shape=lambda x, indices, axis: indices,
        vjp=(
            lambda m, g, y, x, indices, axis: m.ungather(g, indices, axis=axis, shape=x.shape),
            None,
        ),
    ),
    _op(
        "scatter_add",
        "x, indices, values",
        "x with the values added at the indices along the first axis.",
        compute=_scatter_add,
        rows=_scatter_rows,
        saves=("indices",),
        linear=True,
        vjp=(lambda m, g, y, x, indices, values: g, None, _scatter_add_back),
    ),
    _op(
        "untake",
        "g, indices; axis, shape",
        "What belongs to elements taken, added up where they came from.",
        internal=True,
        compute=_untake,
        rows=_untake_rows,
        saves=("indices",),
        linear=True,
        vjp=(lambda m, t, y, g, indices, axis, shape: m.take(t, indices, axis=axis), None),
    ),
    _op(
        "ungather",
        "g, indices; axis, shape",
        "What belongs to elements gathered, added up where they came from.",
        internal=True,
        compute=_ungather,
        rows=_ungather_rows,
        saves=("indices",),
        linear=True,
        vjp=(lambda m, t, y, g, indices, axis, shape: m.gather(t, indices, axis=axis), None),
    ),
]
