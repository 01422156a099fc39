"""Borders around arrays: of one value, or of the elements themselves, repeated or mirrored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import Op, OpError
from .rules import Shape, one_of, shown, wholes


def _pad_widths(shape: Shape, width: Any) -> list[tuple[int, int]]:
    """The widths (before, after) of each axis, given as one number, one pair, or a pair for each
    axis."""
    width = width.tolist() if hasattr(width, "tolist") else width
    pairs = width if isinstance(width, (list, tuple)) else [width, width]
    if all(not isinstance(p, (list, tuple)) for p in pairs):
        pairs = [pairs] * len(shape)
    checked = [wholes("pad", p, "width") for p in pairs]
    checked = checked * len(shape) if len(checked) == 1 else checked
    if len(checked) != len(shape) or any(
        len(p) > 2 or min(p, default=0) < 0 or not p for p in checked
    ):
        raise OpError(
            f"`pad` needs a width, or [before, after] for each axis: the shape is {shape}, the "
            f"width {shown(width)}"
        )
    return [(p[0], p[-1]) for p in checked]


# Which element stands at place i (from -before to n + after) of an axis of n elements.
_PAD_MODES: dict[str, Callable[[int, int], int]] = {
    "edge": lambda i, n: min(max(i, 0), n - 1),
    "wrap": lambda i, n: i % n,
    "symmetric": lambda i, n: i % (2 * n) if i % (2 * n) < n else 2 * n - 1 - i % (2 * n),
    "reflect": lambda i, n: 0 if n == 1 else min(i % (2 * n - 2), (2 * n - 2) - i % (2 * n - 2)),
}


def _pad_sources(n: int, before: int, after: int, mode: str) -> list[int]:
    if n == 0:
        raise OpError(f'`pad` with mode "{mode}" needs elements to repeat')
    return [_PAD_MODES[mode](i, n) for i in range(-before, n + after)]


def _pad(xp: Any, x: Any, value: Any, width: Any, mode: Any) -> Any:
    x = xp.asarray(x)
    widths = _pad_widths(x.shape, width)
    if one_of("pad", mode, "mode", ("constant", *_PAD_MODES)) == "constant":
        if getattr(value, "ndim", 0):
            raise OpError(
                f"`pad` needs one number for `value`, not an array of shape {value.shape}"
            )
        value = value.item() if hasattr(value, "item") else value
        x = x if type(value) is int else x.astype(xp.result_type(x, value))
        return xp.pad(x, widths, constant_values=value) if widths else x
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = xp.take(x, xp.asarray(_pad_sources(x.shape[axis], before, after, mode)), axis=axis)
    return x


def _inside(shape: Shape, widths: list[tuple[int, int]]) -> tuple[slice, ...]:
    """The index of the original elements in the padded array."""
    return tuple(slice(before, before + n) for (before, _), n in zip(widths, shape, strict=True))


def _pad_back(m: Any, g: Any, y: Any, x: Any, value: Any, width: Any, mode: Any) -> Any:
    shape = tuple(x.shape)
    widths = _pad_widths(shape, width)
    if mode == "constant":
        return m.getitem(g, index=_inside(shape, widths))
    for axis, (before, after) in enumerate(widths):
        if before or after:
            whole_shape = (*g.shape[:axis], shape[axis], *g.shape[axis + 1 :])
            g = m.untake(
                g, _pad_sources(shape[axis], before, after, mode), axis=axis, shape=whole_shape
            )
    return g


def _pad_back_value(m: Any, g: Any, y: Any, x: Any, value: Any, width: Any, mode: Any) -> Any:
    if mode != "constant" or not x.ndim:
        return m.zeros_like(value)
    return m.sum(
        m.setitem(g, 0.0, index=_inside(tuple(x.shape), _pad_widths(tuple(x.shape), width)))
    )


def _pad_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    x, value = operands
    if not laned[0] or laned[1]:
        return NotImplemented
    return compute(
        x, value, **{**options, "width": [*_pad_widths(x.shape[:-1], options["width"]), (0, 0)]}
    )


def _pad_shape(shape: Shape, value: Shape, width: Any, mode: Any) -> Shape:
    return tuple(a + n + b for (a, b), n in zip(_pad_widths(shape, width), shape, strict=True))


OPS = [
    Op(
        "pad",
        'x; width, mode="constant"; value=0',
        "x with a border; modes are constant, edge, reflect, symmetric, wrap.",
        category="shape",
        linear=True,
        compute=_pad,
        rows=_pad_rows,
        result_shape=_pad_shape,
        vjp=(_pad_back, _pad_back_value),
    ),
]
