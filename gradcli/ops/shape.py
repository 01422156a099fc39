"""Rearranging the axes and elements of arrays: linear maps, and every rule is the transposed
movement."""

from __future__ import annotations

import math
from typing import Any

from .op import Op, OpError
from .rows import (
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
from .rules import Shape, all_axes, fit, inverse, one_axis, sizes, whole, wholes


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


# ---- repeating -----------------------------------------------------------------------------------


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
