"""How structural ops take rows: values with one more axis, the last, along which each row is a
value by itself.

A rule is `(xp, compute, operands, laned, options, n)`: `compute` is the op's own, `operands` are
arrays, with `n` rows along their last axis where `laned` says so. It returns an array with the rows
last, or a list of them, as `compute` does of each row alone. An op without a rule runs row by row.

What all rows share has a cotangent that is summed over them. A rule for that (`rows_total` of an
op) is `(xp, k, g, operands, laned, options, n)`: it returns the cotangent of the operand `k`, for
that of the result, `g`, which has the rows last; or NotImplemented where it needs each row's share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .rules import Shape, all_axes, broadcast_shape, one_axis, sizes, wholes

Rule = Callable[..., Any]


def inner_shapes(operands: Sequence[Any], laned: Sequence[bool]) -> list[Shape]:
    """The shapes of the values, without the rows."""
    return [
        tuple(x.shape[:-1]) if own else tuple(getattr(x, "shape", ()))
        for x, own in zip(operands, laned, strict=True)
    ]


def beside(operands: Sequence[Any], laned: Sequence[bool]) -> list[Any]:
    """Makes operands broadcast against each other: shared arrays get a last axis of 1."""
    return [
        x if own or not getattr(x, "shape", ()) else x[..., None]
        for x, own in zip(operands, laned, strict=True)
    ]


def with_rows(xp: Any, x: Any, own: bool, n: int) -> Any:
    """Gives an operand rows, which are all the same if it is shared."""
    return x if own else xp.broadcast_to(xp.asarray(x)[..., None], (*xp.shape(x), n))


def in_line(x: Any) -> Any:
    """Flattens each row's value."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def elementwise(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for ops whose result has the operands' elements in their places."""
    return compute(*beside(operands, laned), **options)


def over_axes(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for reductions of one operand along `axis`."""
    (x,), shape = operands, operands[0].shape[:-1]
    if options["axis"] is not None:
        return compute(x, **{**options, "axis": all_axes(options["axis"], shape)})
    keepdims = options.get("keepdims", False)
    y = compute(
        in_line(x), **{**options, "axis": (0,), **({"keepdims": False} if keepdims else {})}
    )
    return y.reshape(*(1 for _ in shape), n) if keepdims else y


def along_axis(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for ops of one operand along one axis; None puts all elements in one line."""
    (x,), shape = operands, operands[0].shape[:-1]
    axis = options["axis"]
    if axis is None:
        keepdims = options.get("keepdims", False)
        y = compute(
            in_line(x), **{**options, "axis": 0, **({"keepdims": False} if keepdims else {})}
        )
        return y.reshape(*(1 for _ in shape), n) if keepdims else y
    return compute(x, **{**options, "axis": one_axis(axis, shape)})


def on_axes(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for ops that map the elements along `axis`, all for None, to as many elements."""
    (x,) = operands
    return compute(x, **{**options, "axis": all_axes(options["axis"], x.shape[:-1])})


def rearranged(shape_after: Callable[..., Shape]) -> Rule:
    """The rule for ops that give the elements another shape: `shape_after(its own, **options)`."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        x = operands[0]
        return x.reshape(*shape_after(tuple(x.shape[:-1]), **options), n)

    return rule


def as_alone(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for ops that give the elements another shape, which is computed for one row."""
    (x,) = operands
    alone = compute(xp.broadcast_to(xp.zeros((), x.dtype), x.shape[:-1]), **options)
    return x.reshape(*alone.shape, n)


def broadcast(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    shape = sizes("broadcast_to", options["shape"])
    x = operands[0]
    broadcast_shape("broadcast_to", tuple(x.shape[:-1]), shape)
    return xp.broadcast_to(x, (*shape, n))


def summed(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    return compute(operands[0], **{**options, "shape": (*options["shape"], n)})


def positive(*names: str, extra: int = 0) -> Rule:
    """The rule for ops with options that name axes, which are counted from the front here; the
    result has `extra` more axes."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        shapes = inner_shapes(operands, laned)
        shape = max(shapes, key=len)
        given = {}
        for name in names:
            axes = tuple(one_axis(a, shape, extra) for a in wholes(name, options[name], name))
            given[name] = axes if isinstance(options[name], (list, tuple)) else axes[0]
        return compute(
            *[with_rows(xp, *pair, n) for pair in zip(operands, laned, strict=True)],
            **{**options, **given},
        )

    return rule


def triangle(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `tril` and `triu`."""
    (x,) = operands
    kept = compute(xp.ones(x.shape[-3:-1], bool), **options)
    return xp.where(kept[..., None], x, xp.zeros((), x.dtype))


def diagonal(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `diag`: it computes for one row where the elements come from, and picks them for
    all."""
    (x,), shape = operands, operands[0].shape[:-1]
    places = compute(xp.arange(1, math.prod(shape) + 1).reshape(shape), **options)
    rows = xp.concatenate([xp.zeros((1, n), x.dtype), in_line(x)])
    return rows[places.reshape(-1)].reshape(*places.shape, n)
