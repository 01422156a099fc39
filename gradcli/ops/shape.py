"""Shapes: rearranging, joining, cutting, repeating: linear maps, and every rule is the transposed
movement."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from .op import Op, OpError
from .rows import (
    along_axis,
    as_alone,
    broadcast,
    diagonal,
    in_line,
    on_axes,
    positive,
    rearranged,
    summed,
    triangle,
)
from .rules import Shape, all_axes, fit, inverse, one_axis, reshaped, sizes, whole, wholes


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="shape", **{"linear": "jvp" not in facts, **facts})


# ---- rearranging ---------------------------------------------------------------------------------


def _new_shape(shape: Shape, asked: Any) -> Shape:
    """The shape asked for, with -1 worked out."""
    wanted = wholes("reshape", asked, "shape")
    size, listed = math.prod(shape), list(wanted)
    if wanted.count(-1) > 1 or any(n < -1 for n in wanted):
        raise OpError(
            f"cannot reshape shape {shape} into {listed}: sizes are not negative, and -1 may "
            "stand once"
        )
    if -1 in wanted:
        others = math.prod(n for n in wanted if n != -1)
        if others == 0 or size % others:
            raise OpError(
                f"cannot reshape shape {shape} into {listed}: {size} elements do not divide by "
                f"{others}"
            )
        return tuple(size // others if n == -1 else n for n in wanted)
    if math.prod(wanted) != size:
        raise OpError(
            f"cannot reshape shape {shape} into {listed}: {size} elements into {math.prod(wanted)}"
        )
    return wanted


def _permutation(shape: Shape, axes: Any) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(len(shape)))[::-1]
    order = all_axes(axes, shape)
    if len(order) != len(shape):
        raise OpError(
            f"`transpose` needs each of the {len(shape)} axes once, not {list(order)}: the shape "
            f"is {shape}"
        )
    return order


def _squeeze(xp: Any, x: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    if axis is None:
        return xp.squeeze(x)
    axes = all_axes(axis, x.shape)
    if any(x.shape[k] != 1 for k in axes):
        raise OpError(f"`squeeze` removes axes of size 1; the shape is {x.shape}, axis {axis}")
    return xp.squeeze(x, axis=axes)


def _expand_dims(xp: Any, x: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    axes = wholes("expand_dims", axis, "axis")
    return xp.expand_dims(x, tuple(one_axis(a, x.shape, extra=len(axes)) for a in axes))


def _moveaxis(xp: Any, x: Any, source: Any, destination: Any) -> Any:
    x = xp.asarray(x)
    sources, destinations = all_axes(source, x.shape), all_axes(destination, x.shape)
    if len(sources) != len(destinations):
        raise OpError(
            f"`moveaxis` needs one place for each axis, not {list(destinations)} for "
            f"{list(sources)}"
        )
    return xp.moveaxis(x, sources, destinations)


# ---- joining and cutting -------------------------------------------------------------------------


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


def _concatenate_back(m: Any, g: Any, y: Any, k: int, *arrays: Any, axis: Any) -> Any:
    axis = one_axis(axis, tuple(arrays[k].shape))
    start = sum(a.shape[axis] for a in arrays[:k])
    return m.getitem(g, index=(*[slice(None)] * axis, slice(start, start + arrays[k].shape[axis])))


def _concatenate_shape(*shapes: Shape, axis: Any) -> Shape:
    axis = one_axis(axis, shapes[0]) if shapes[0] else 0
    total = sum(shape[axis] for shape in shapes if len(shape) > axis)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _stack(xp: Any, *arrays: Any, axis: Any) -> Any:
    arrays = tuple(xp.asarray(a) for a in arrays)
    _verify_alike("stack", [a.shape for a in arrays], None)
    return xp.stack(arrays, axis=one_axis(axis, arrays[0].shape, extra=1))


def _stack_back(m: Any, g: Any, y: Any, k: int, *arrays: Any, axis: Any) -> Any:
    axis = one_axis(axis, tuple(arrays[k].shape), extra=1)
    return m.getitem(g, index=(*[slice(None)] * axis, k))


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


# ---- repeating -----------------------------------------------------------------------------------


def _tile_reps(shape: Shape, reps: Any) -> tuple[Shape, tuple[int, ...]]:
    """Shape and repetitions, brought to one length."""
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


def _flip(xp: Any, x: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    return xp.flip(x, axis=all_axes(axis, x.shape))


def _roll(xp: Any, x: Any, shift: Any, axis: Any) -> Any:
    x = xp.asarray(x)
    shifts = wholes("roll", shift, "shift")
    if axis is None:
        return xp.roll(x, sum(shifts))
    axes = tuple(one_axis(a, x.shape) for a in wholes("roll", axis, "axis"))
    if len(shifts) not in (1, len(axes)):
        raise OpError(
            f"`roll` needs one shift or one an axis: {len(shifts)} shifts, {len(axes)} axes"
        )
    return xp.roll(x, shifts * (len(axes) if len(shifts) == 1 else 1), axis=axes)


def _roll_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    (x,), shift, axis = operands, options["shift"], options["axis"]
    if axis is None:
        return compute(in_line(x), shift=sum(wholes("roll", shift, "shift")), axis=0).reshape(
            x.shape
        )
    axes = tuple(one_axis(a, x.shape[:-1]) for a in wholes("roll", axis, "axis"))
    return compute(x, shift=shift, axis=axes)


def _roll_back(m: Any, g: Any, y: Any, x: Any, shift: Any, axis: Any) -> Any:
    return m.roll(g, shift=[-s for s in wholes("roll", shift, "shift")], axis=axis)


SMALL = 4096  # elements


def _broadcast_to(xp: Any, x: Any, shape: Any) -> Any:
    x = xp.asarray(x)
    if type(shape) is tuple:  # a rule's, which are right
        # What is small is filled: a view takes longer to make.
        return (
            xp.full(shape, x)
            if not x.ndim and math.prod(shape) <= SMALL
            else xp.broadcast_to(x, shape)
        )
    shape = sizes("broadcast_to", shape)
    pairs = zip(x.shape[::-1], shape[::-1], strict=False)
    if x.ndim > len(shape) or any(a not in (1, b) for a, b in pairs):
        raise OpError(f"cannot broadcast shape {x.shape} to {shape}")
    return xp.broadcast_to(x, shape)


def _sum_to(xp: Any, x: Any, shape: Any) -> Any:
    x, shape = xp.asarray(x), tuple(shape)
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = (
        *range(lead),
        *(k + lead for k, n in enumerate(shape) if n == 1 and x.shape[k + lead] != 1),
    )
    return xp.sum(x, axis=axes, keepdims=True).reshape(shape) if axes else xp.broadcast_to(x, shape)


# ---- diagonals -----------------------------------------------------------------------------------


def _verify_matrix(name: str, shape: Shape) -> None:
    if len(shape) < 2:
        raise OpError(f"`{name}` needs a matrix: the shape is {shape}")


def _diag(xp: Any, x: Any, k: Any) -> Any:
    x = xp.asarray(x)
    if x.ndim not in (1, 2):
        raise OpError(f"`diag` needs a vector or a matrix: the shape is {x.shape}")
    return xp.array(xp.diag(x, k=whole("diag", k, "k")))


def _diag_shape(shape: Shape, k: Any) -> Shape:
    return (shape[0] + abs(whole("diag", k, "k")),) * 2 if len(shape) == 1 else shape[:1]


def _diag_back(m: Any, g: Any, y: Any, x: Any, k: Any) -> Any:
    if x.ndim == 1:
        return m.diag(g, k=k)
    rows, columns = x.shape
    places = [i * columns + i + k for i in range(max(0, -k), min(rows, columns - k))]
    return m.reshape(m.untake(g, places, axis=0, shape=(rows * columns,)), shape=x.shape)


def _triangle(name: str) -> Any:
    def compute(xp: Any, x: Any, k: Any) -> Any:
        x = xp.asarray(x)
        _verify_matrix(name, x.shape)
        return getattr(xp, name)(x, k=whole(name, k, "k"))

    return compute


OPS = [
    # ---- rearranging -----------------------------------------------------------------------------
    _op(
        "reshape",
        "x; *shape",
        "The same elements in another shape; -1 is worked out.",
        compute=lambda xp, x, shape: xp.reshape(x, _new_shape(xp.shape(x), shape)),
        rows=rearranged(lambda own, shape: _new_shape(own, shape)),
        vjp=(lambda m, g, y, x, shape: m.reshape(g, shape=x.shape),),
    ),
    _op(
        "ravel",
        "x",
        "All elements in one line.",
        aliases=("flatten",),
        compute=lambda xp, x: xp.reshape(x, -1),
        rows=rearranged(lambda own: (math.prod(own),)),
        vjp=(lambda m, g, y, x: m.reshape(g, shape=x.shape),),
    ),
    _op(
        "transpose",
        "x; *axes=none",
        "The axes in another order; reversed without `axes`.",
        aliases=("permute",),
        compute=lambda xp, x, axes: xp.transpose(x, _permutation(xp.shape(x), axes)),
        rows=lambda xp, compute, operands, laned, options, n: xp.transpose(
            operands[0],
            (*_permutation(operands[0].shape[:-1], options["axes"]), operands[0].ndim - 1),
        ),
        vjp=(
            lambda m, g, y, x, axes: m.transpose(
                g, axes=inverse(list(_permutation(tuple(x.shape), axes)))
            ),
        ),
    ),
    _op(
        "swapaxes",
        "x; axis1, axis2",
        "Two axes exchanged.",
        compute=lambda xp, x, axis1, axis2: xp.swapaxes(
            x, one_axis(axis1, xp.shape(x)), one_axis(axis2, xp.shape(x))
        ),
        rows=positive("axis1", "axis2"),
        vjp=(lambda m, g, y, x, axis1, axis2: m.swapaxes(g, axis1=axis1, axis2=axis2),),
    ),
    _op(
        "moveaxis",
        "x; source, destination",
        "Axes moved to other places.",
        compute=_moveaxis,
        rows=positive("source", "destination"),
        vjp=(
            lambda m, g, y, x, source, destination: m.moveaxis(
                g, source=destination, destination=source
            ),
        ),
    ),
    _op(
        "expand_dims",
        "x; axis",
        "New axes of size 1.",
        compute=_expand_dims,
        rows=as_alone,
        vjp=(lambda m, g, y, x, axis: m.reshape(g, shape=x.shape),),
    ),
    _op(
        "squeeze",
        "x; axis=none",
        "Axes of size 1 removed.",
        compute=_squeeze,
        rows=as_alone,
        vjp=(lambda m, g, y, x, axis: m.reshape(g, shape=x.shape),),
    ),
    _op(
        "flip",
        "x; axis=none",
        "The elements in reverse order.",
        compute=_flip,
        rows=on_axes,
        aliases=("fliplr", "flipud", "reverse"),
        vjp=(lambda m, g, y, x, axis: m.flip(g, axis=axis),),
    ),
    _op(
        "roll",
        "x; shift, axis=none",
        "The elements moved round by `shift` places.",
        compute=_roll,
        rows=_roll_rows,
        vjp=(_roll_back,),
    ),
    _op(
        "broadcast_to",
        "x; shape",
        "x repeated to a shape that it broadcasts to.",
        compute=_broadcast_to,
        rows=broadcast,
        result_shape=lambda x, shape: sizes("broadcast_to", shape),
        vjp=(lambda m, g, y, x, shape: fit(m, g, x),),
    ),
    _op(
        "sum_to",
        "x; shape",
        "x summed to a shape that broadcasts to its own.",
        internal=True,
        compute=_sum_to,
        rows=summed,
        vjp=(lambda m, g, y, x, shape: m.broadcast_to(g, shape=x.shape),),
    ),
    # ---- joining, cutting, repeating -------------------------------------------------------------
    _op(
        "concatenate",
        "*arrays; axis=0",
        "Arrays joined along an axis.",
        compute=_concatenate,
        rows=positive("axis"),
        aliases=("concat", "hstack"),
        result_shape=_concatenate_shape,
        vjp=_concatenate_back,
    ),
    _op(
        "stack",
        "*arrays; axis=0",
        "Arrays joined along a new axis.",
        compute=_stack,
        rows=positive("axis", extra=1),
        aliases=("vstack",),
        result_shape=_stack_shape,
        vjp=_stack_back,
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
    # ---- diagonals -------------------------------------------------------------------------------
    _op(
        "diag",
        "x; k=0",
        "The diagonal of a matrix, or a matrix with this diagonal.",
        compute=_diag,
        rows=diagonal,
        aliases=("diagonal",),
        result_shape=_diag_shape,
        vjp=(_diag_back,),
    ),
    _op(
        "tril",
        "x; k=0",
        "The part on and below the diagonal, 0 elsewhere.",
        compute=_triangle("tril"),
        rows=triangle,
        vjp=(lambda m, g, y, x, k: m.tril(g, k=k),),
    ),
    _op(
        "triu",
        "x; k=0",
        "The part on and above the diagonal, 0 elsewhere.",
        compute=_triangle("triu"),
        rows=triangle,
        vjp=(lambda m, g, y, x, k: m.triu(g, k=k),),
    ),
]
