"""Joining and cutting arrays, and repeating their elements: linear maps, and every rule is the
transposed movement."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any

from .op import Op, OpError
from .rows import along_axis, positive
from .rules import OfSeveral, Shape, one_axis, reshaped, sizes, whole, wholes


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="shape", **{"linear": "jvp" not in facts, **facts})


def _verify_alike(name: str, shapes: list[Shape], axis: int | None) -> None:
    """All shapes are the same, but for the size along `axis`."""
    for k, shape in enumerate(shapes[1:], 1):
        first = shapes[0]
        rest = (
            (shape, first)
            if axis is None
            else ((*s[:axis], *s[axis + 1 :]) for s in (shape, first))
        )
        if len(shape) != len(first) or len(set(rest)) > 1:
            raise OpError(
                f"cannot {name} shapes {first} and {shape}",
                label=f"the first is {first}, number {k + 1} is {shape}",
            )


def _concatenate(xp: Any, *arrays: Any, axis: Any) -> Any:
    arrays = tuple(xp.asarray(a) for a in arrays)
    shapes = [a.shape for a in arrays]
    if not shapes[0]:
        raise OpError("`concatenate` joins arrays, not single numbers", "did you mean `stack`?")
    axis = one_axis(axis, shapes[0])
    _verify_alike("concatenate", shapes, axis)
    return xp.concatenate(arrays, axis=axis)


def _concatenate_back(
    m: Any, g: Any, y: Any, places: list[int], *arrays: Any, axis: Any
) -> list[Any]:
    axis = one_axis(axis, tuple(arrays[0].shape))
    ends = list(accumulate([a.shape[axis] for a in arrays]))
    before = [slice(None)] * axis
    starts = [0, *ends]
    return [m.getitem(g, index=(*before, slice(starts[k], ends[k]))) for k in places]


def _concatenate_shape(*shapes: Shape, axis: Any) -> Shape:
    axis = one_axis(axis, shapes[0]) if shapes[0] else 0
    total = sum(shape[axis] for shape in shapes if len(shape) > axis)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _stack(xp: Any, *arrays: Any, axis: Any) -> Any:
    arrays = tuple(xp.asarray(a) for a in arrays)
    _verify_alike("stack", [a.shape for a in arrays], None)
    return xp.stack(arrays, axis=one_axis(axis, arrays[0].shape, extra=1))


def _stack_back(m: Any, g: Any, y: Any, places: list[int], *arrays: Any, axis: Any) -> list[Any]:
    axis = one_axis(axis, tuple(arrays[0].shape), extra=1)
    return [m.getitem(g, index=(*[slice(None)] * axis, k)) for k in places]


def _stack_shape(*shapes: Shape, axis: Any) -> Shape:
    axis = one_axis(axis, shapes[0], extra=1)
    return (*shapes[0][:axis], len(shapes), *shapes[0][axis:])


def _cuts(shape: Shape, sections: Any, axis: Any) -> list[int]:
    """Where the parts of a split begin and end."""
    n = shape[one_axis(axis, shape)]
    if isinstance(sections, (list, tuple)) or hasattr(sections, "tolist"):
        inner = [
            min(max(c + n if c < 0 else c, 0), n) for c in wholes("split", sections, "sections")
        ]
        return [0, *inner, n]
    parts = whole("split", sections, "sections")
    if parts < 1 or n % parts:
        raise OpError(
            f"cannot split {n} elements into {parts} equal parts: the shape is {shape}, axis {axis}"
        )
    return list(range(0, n + 1, n // parts)) if n else [0] * (parts + 1)


def _split(xp: Any, x: Any, sections: Any, axis: Any) -> list[Any]:
    x = xp.asarray(x)
    cuts = _cuts(x.shape, sections, axis)
    lead = (slice(None),) * one_axis(axis, x.shape)
    return [x[(*lead, slice(a, b))] for a, b in pairwise(cuts)]


def _split_back(m: Any, g: Any, y: Any, x: Any, sections: Any, axis: Any) -> Any:
    shape = tuple(x.shape)
    cuts, k = _cuts(shape, sections, axis), one_axis(axis, shape)
    parts = []
    for part, a, b in zip(g, cuts[:-1], cuts[1:], strict=True):
        parts.append(
            m.broadcast_to(0.0, shape=(*shape[:k], max(b - a, 0), *shape[k + 1 :]))
            if part is None
            else part
        )
    return m.concatenate(*parts, axis=k)


def _tile_reps(shape: Shape, reps: Any) -> tuple[Shape, tuple[int, ...]]:
    """The shape and the repetitions, padded with ones to one length."""
    reps = sizes("tile", reps)
    n = max(len(shape), len(reps))
    return (1,) * (n - len(shape)) + shape, (1,) * (n - len(reps)) + reps


def _tile_shape(shape: Shape, reps: Any) -> Shape:
    return tuple(a * b for a, b in zip(*_tile_reps(shape, reps), strict=True))


def _tile_back(m: Any, g: Any, y: Any, x: Any, reps: Any) -> Any:
    shape, reps = _tile_reps(tuple(x.shape), reps)
    blocks = m.reshape(g, shape=[n for pair in zip(reps, shape, strict=True) for n in pair])
    return reshaped(
        m, m.sum(blocks, axis=list(range(0, 2 * len(shape), 2))) if shape else blocks, x.shape
    )


def _repeats(shape: Shape, repeats: Any, axis: Any) -> tuple[int, ...]:
    """How often each element along the axis is repeated: one count for all of them, or one for
    each."""
    n = math.prod(shape) if axis is None else shape[one_axis(axis, shape)]
    counts = wholes("repeat", repeats, "repeats")
    if len(counts) not in (1, n):
        raise OpError(
            f"`repeat` needs one count or {n}, one an element, not {len(counts)}: the shape is "
            f"{shape}"
        )
    if any(c < 0 for c in counts):
        raise OpError(f"`repeat` cannot repeat {min(counts)} times")
    return counts


def _repeat(xp: Any, x: Any, repeats: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    counts = _repeats(x.shape, repeats, axis)
    return xp.repeat(x, counts[0] if len(counts) == 1 else list(counts), axis=axis)


def _repeat_shape(shape: Shape, repeats: Any, axis: Any) -> Shape:
    counts = wholes("repeat", repeats, "repeats")
    n = math.prod(shape) if axis is None else shape[one_axis(axis, shape)]
    total = n * counts[0] if len(counts) == 1 else sum(counts)
    if axis is None:
        return (max(total, 0),)
    axis = one_axis(axis, shape)
    return (*shape[:axis], max(total, 0), *shape[axis + 1 :])


def _repeat_back(m: Any, g: Any, y: Any, x: Any, repeats: Any, axis: Any) -> Any:
    counts = _repeats(tuple(x.shape), repeats, axis)
    shape, k = ((x.size,), 0) if axis is None else (tuple(x.shape), one_axis(axis, tuple(x.shape)))
    if len(counts) == 1:
        return reshaped(
            m,
            m.sum(m.reshape(g, shape=[*shape[: k + 1], counts[0], *shape[k + 1 :]]), axis=k + 1),
            x.shape,
        )
    sources = [place for place, count in enumerate(counts) for _ in range(count)]
    return reshaped(m, m.untake(g, sources, axis=k, shape=shape), x.shape)


OPS = [
    _op(
        "concatenate",
        "*arrays; axis=0",
        "Arrays joined along an axis.",
        compute=_concatenate,
        rows=positive("axis"),
        aliases=("concat", "hstack"),
        result_shape=_concatenate_shape,
        vjp=OfSeveral(_concatenate_back),
    ),
    _op(
        "stack",
        "*arrays; axis=0",
        "Arrays joined along a new axis.",
        compute=_stack,
        rows=positive("axis", extra=1),
        aliases=("vstack",),
        result_shape=_stack_shape,
        vjp=OfSeveral(_stack_back),
    ),
    _op(
        "split",
        "x; sections, axis=0",
        "A list of parts: that many equal ones, or cut before the given positions.",
        compute=_split,
        rows=positive("axis"),
        aliases=("array_split",),
        vjp=(_split_back,),
    ),
    _op(
        "tile",
        "x; reps",
        "x side by side, that many times along each axis.",
        result_shape=_tile_shape,
        vjp=(_tile_back,),
        compute=lambda xp, x, reps: xp.tile(x, sizes("tile", reps)),
        rows=lambda xp, compute, operands, laned, options, n: compute(
            *operands, reps=(*sizes("tile", options["reps"]), 1)
        ),
    ),
    _op(
        "repeat",
        "x; repeats, axis=none",
        "Each element repeated; all in one line without an axis.",
        compute=_repeat,
        rows=along_axis,
        result_shape=_repeat_shape,
        vjp=(_repeat_back,),
    ),
]
