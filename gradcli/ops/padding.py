"""Borders around arrays: made of a value, or of the elements themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import Op, OpError
from .rules import Shape, wholes


def _pad_widths(shape: Shape, width: Any) -> list[tuple[int, int]]:
    """(before, after) an axis; one number, one pair, or a pair an axis."""
    width = width.tolist() if hasattr(width, "tolist") else width
    pairs = width if isinstance(width, (list, tuple)) else [width, width]
    if all(not isinstance(p, (list, tuple)) for p in pairs):
        pairs = [pairs] * len(shape)
    checked = [wholes("pad", p, "width") for p in pairs]
    checked = checked * len(shape) if len(checked) == 1 else checked
    if len(checked) != len(shape) or any(len(p) > 2 or min(p, default=0) < 0 or not p for p in checked):
        raise OpError(f"`pad` needs a width, or [before, after] for each axis: the shape is {shape}, the width {width!r}")
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


def _pad(xp: Any, x: Any, width: Any, mode: Any, value: Any) -> Any:
    x = xp.asarray(x)
    widths = _pad_widths(x.shape, width)
    if mode == "constant":
        return xp.pad(x, widths, constant_values=value) if widths else x
    if mode not in _PAD_MODES:
        raise OpError(f"`pad` has no mode {mode!r}", 'modes are "constant", ' + ", ".join(f'"{name}"' for name in _PAD_MODES))
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = xp.take(x, xp.asarray(_pad_sources(x.shape[axis], before, after, mode)), axis=axis)
    return x


def _pad_back(m: Any, g: Any, y: Any, x: Any, width: Any, mode: Any, value: Any) -> Any:
    shape = tuple(x.shape)
    widths = _pad_widths(shape, width)
    if mode == "constant":
        return m.getitem(g, index=tuple(slice(a, a + n) for (a, _), n in zip(widths, shape, strict=True)))
    for axis, (before, after) in enumerate(widths):
        if before or after:
            whole_shape = (*g.shape[:axis], shape[axis], *g.shape[axis + 1 :])
            g = m.untake(g, _pad_sources(shape[axis], before, after, mode), axis=axis, shape=whole_shape)
    return g


def _pad_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    (x,) = operands
    return compute(x, **{**options, "width": [*_pad_widths(x.shape[:-1], options["width"]), (0, 0)]})


def _pad_shape(shape: Shape, width: Any, mode: Any, value: Any) -> Shape:
    return tuple(a + n + b for (a, b), n in zip(_pad_widths(shape, width), shape, strict=True))


OPS = [
    Op("pad", 'x; width, mode="constant", value=0', "x with a border; modes are constant, edge, reflect, symmetric, wrap.",
       category="shape", compute=_pad, rows=_pad_rows, result_shape=_pad_shape, vjp=(_pad_back,),
       jvp=lambda m, t, y, x, width, mode, value: m.pad(t[0], width=width, mode=mode, value=0)),
]  # fmt: skip
