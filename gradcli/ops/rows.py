"""How structural ops take rows: values with one more axis, the last, along which each row is a value by itself.

A rule is `(xp, compute, operands, laned, options, n)`: `compute` is the op's own, `operands` are arrays, with `n` rows along
their last axis where `laned` says so. It returns an array with the rows last, or a list of them, as `compute` does of each
row alone. An op without a rule runs row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .rules import Shape, all_axes, broadcast_shape, one_axis, sizes, wholes

Rule = Callable[..., Any]


def inner_shapes(operands: Sequence[Any], laned: Sequence[bool]) -> list[Shape]:
    """The shapes of the values, without the rows."""
    return [tuple(x.shape[:-1]) if own else tuple(getattr(x, "shape", ())) for x, own in zip(operands, laned, strict=True)]


def _beside(operands: Sequence[Any], laned: Sequence[bool]) -> list[Any]:
    """Operands that broadcast against each other: shared arrays with a last axis of 1."""
    return [x if own or not getattr(x, "shape", ()) else x[..., None] for x, own in zip(operands, laned, strict=True)]


def elementwise(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of ops whose result has the operands' elements in their places."""
    return compute(*_beside(operands, laned), **options)


def over_axes(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of reductions of one operand along `axis`."""
    (x,), shape = operands, operands[0].shape[:-1]
    if options["axis"] is not None:
        return compute(x, **{**options, "axis": all_axes(options["axis"], shape)})
    keepdims = options.get("keepdims", False)
    y = compute(x.reshape(-1, n), **{**options, "axis": (0,), **({"keepdims": False} if keepdims else {})})
    return y.reshape(*(1 for _ in shape), n) if keepdims else y


def along_axis(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of ops of one operand along one axis; None puts all elements in one line."""
    (x,), shape = operands, operands[0].shape[:-1]
    axis = options["axis"]
    if axis is None:
        keepdims = options.get("keepdims", False)
        y = compute(x.reshape(-1, n), **{**options, "axis": 0, **({"keepdims": False} if keepdims else {})})
        return y.reshape(*(1 for _ in shape), n) if keepdims else y
    if len(wholes("axis", axis, "axis")) > 1:
        return compute(x, **{**options, "axis": all_axes(axis, shape)})
    return compute(x, **{**options, "axis": one_axis(wholes("axis", axis, "axis")[0], shape)})


def rearranged(shape_after: Callable[..., Shape]) -> Rule:
    """Of ops that give the elements another shape: `shape_after(its own, **options)`."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        x = operands[0]
        return x.reshape(*shape_after(tuple(x.shape[:-1]), **options), n)

    return rule


def broadcast(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    shape = sizes("broadcast_to", options["shape"])
    x = operands[0]
    broadcast_shape("broadcast_to", tuple(x.shape[:-1]), shape)
    return xp.broadcast_to(x, (*shape, n))


def summed(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    return compute(operands[0], **{**options, "shape": (*options["shape"], n)})


def permuted(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of `transpose`: its axes are those of the value."""
    x, axes = operands[0], options["axes"]
    rank = x.ndim - 1
    order = list(reversed(range(rank))) if axes is None else [one_axis(a, tuple(x.shape[:-1])) for a in axes]
    return xp.transpose(x, (*order, rank))


def positive(*names: str, extra: int = 0) -> Rule:
    """Of ops with options that name axes, counted from the front; `extra` is how many axes the result has more."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        shapes = inner_shapes(operands, laned)
        shape = max(shapes, key=len)
        given = {}
        for name in names:
            axes = tuple(one_axis(a, shape, extra) for a in wholes(name, options[name], name))
            given[name] = axes if isinstance(options[name], (list, tuple)) else axes[0]
        operands = [
            x if own else xp.broadcast_to(xp.asarray(x)[..., None], (*s, n))
            for x, own, s in zip(operands, laned, shapes, strict=True)
        ]
        return compute(*operands, **{**options, **given})

    return rule


def _first(xp: Any, x: Any, own: bool) -> Any:
    return xp.moveaxis(x, -1, 0) if own else x


def batched(*ranks: int) -> Rule:
    """Of ops that take batches in leading axes; `ranks` are those of each operand without a batch."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        shapes = inner_shapes(operands, laned)
        batch = max(len(shape) - rank for shape, rank in zip(shapes, ranks, strict=True))
        moved = []
        for x, own, shape, rank in zip(operands, laned, shapes, ranks, strict=True):
            x = _first(xp, x, own)
            if own and (missing := batch - (len(shape) - rank)):  # the rows come before every other batch axis
                x = x.reshape(n, *(1 for _ in range(missing)), *shape)
            moved.append(x)
        y = compute(*moved, **options)
        return [xp.moveaxis(part, 0, -1) for part in y] if type(y) in (list, tuple) else xp.moveaxis(y, 0, -1)

    return rule


def matrix_product(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of `matmul`: vectors become matrices of one row or column, for beside a batch they would be taken for it."""
    (a, b), (own_a, own_b) = operands, laned
    shape_a, shape_b = inner_shapes(operands, laned)
    if not shape_a or not shape_b:  # `dot` with a number
        return xp.multiply(*_beside(operands, laned))
    if len(shape_a) == len(shape_b) == 1 and own_a and own_b:
        compute(xp.empty(shape_a), xp.empty(shape_b), **options)  # its own message for shapes that don't fit
        return xp.einsum("kn,kn->n", a, b)
    if not own_b and len(shape_a) == 1 and len(shape_b) == 2:  # one product of matrices for all rows
        return compute(b.T, a, **options)
    if not own_a and len(shape_a) <= 2 and len(shape_b) == 1:
        return compute(a, b, **options)
    a, b = _first(xp, a, own_a), _first(xp, b, own_b)
    a = a[..., None, :] if len(shape_a) == 1 else a
    b = b[..., None] if len(shape_b) == 1 else b
    batch = max(len(shape_a), len(shape_b), 2) - 2  # of either, beside the rows
    a = a.reshape(n, *(1 for _ in range(batch + 3 - a.ndim)), *a.shape[1:]) if own_a else a
    b = b.reshape(n, *(1 for _ in range(batch + 3 - b.ndim)), *b.shape[1:]) if own_b else b
    y = xp.matmul(a, b)
    y = y[..., 0, :] if len(shape_a) == 1 else y
    y = y[..., 0] if len(shape_b) == 1 else y
    return xp.moveaxis(y, 0, -1)


def dot_product(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of `dot`, which has no batches: of anything beyond matrices each vector meets each."""
    if max(map(len, inner_shapes(operands, laned))) > 2:
        return NotImplemented
    return matrix_product(xp, compute, operands, laned, options, n)


def outer_product(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    a, b = _beside([xp.asarray(x) for x in operands], laned)
    a = a.reshape(-1, 1, a.shape[-1]) if a.ndim else a
    return a * (b.reshape(1, -1, b.shape[-1]) if b.ndim else b)


# ---- elements --------------------------------------------------------------------------------------------------------


def is_laned(index: Any) -> bool:
    """Whether an index differs between rows: it is a lane value of the engine's."""
    return hasattr(index, "group")


def _whole_index(xp: Any, index: tuple[Any, ...], rank: int, n: int) -> tuple[tuple[Any, ...], bool]:
    """An index of values as one of their arrays, and whether the rows come first in what it gives. Where a row has an index
    of its own, each takes its own row."""
    if not any(map(is_laned, index)):
        return ((*index, slice(None)) if any(i is Ellipsis for i in index) else index), False
    used = sum(i.ndim if getattr(i, "dtype", None) is not None and i.dtype.kind == "b" else 1 for i in index
               if i is not None and i is not Ellipsis)  # fmt: skip
    rest = (slice(None),) * (rank - used)
    where = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
    full = [*index[:where], *rest, *index[where + 1 :], xp.arange(n)]
    full = [i.array if is_laned(i) else i[..., None] if getattr(i, "ndim", 0) else i for i in full[:-1]] + full[-1:]
    advanced = [k for k, i in enumerate(full) if type(i) is int or hasattr(i, "dtype")]
    return tuple(full), advanced != list(range(advanced[0], len(full)))


def read_elements(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Of `getitem`."""
    x = operands[0] if laned[0] else xp.broadcast_to(operands[0][..., None], (*operands[0].shape, n))
    index, first = _whole_index(xp, options["index"], x.ndim - 1, n)
    return xp.moveaxis(x[index], _rank(index) - 1, -1) if first else x[index]


def _rank(index: tuple[Any, ...]) -> int:
    return max(int(i.ndim) for i in index if hasattr(i, "dtype"))


def _names_none_twice(index: tuple[Any, ...]) -> bool:
    """Whether an index has no element of a row twice: an int array can, and an int a row can't."""
    return all(not hasattr(i, "dtype") or i.dtype.kind == "b" or (is_laned(i) and not i.shape) for i in index)


def write_elements(adds: bool) -> Rule:
    """Of `setitem` and `index_add`."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        x, value = operands
        if not laned[0]:
            x = xp.broadcast_to(xp.asarray(x)[..., None], (*x.shape, n))
        value = value if laned[1] or not getattr(value, "ndim", 0) else value[..., None]
        total = x if options.get("inplace") and laned[0] else x.copy()
        index, first = _whole_index(xp, options["index"], x.ndim - 1, n)
        if first and hasattr(value, "reshape") and value.ndim:
            rank = total[index].ndim
            ones = [1] * (rank - value.ndim)
            value = xp.moveaxis(value.reshape(*ones, *value.shape), -1, _rank(index) - 1)
        if not adds:
            total[index] = value
        elif _names_none_twice(options["index"]):
            total[index] += value
        else:
            xp.add.at(total, index, value)
        return total

    return rule
