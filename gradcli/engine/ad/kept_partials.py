"""Pullbacks of fused expressions on arrays (`fused_arrays.py`): the shares of all operands in a
cotangent are computed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.op import Op
from ..backends.backend import Backend, shape_of, sum_to
from ..formulas.differentiation import cotangents_of
from ..kernels.row_functions import pulled
from ..kernels.small_arrays import SMALL, small_pull
from ..trace.tape import Site

Shape = tuple[int, ...]
Share = tuple[Any, bool]  # an operand's share of a cotangent, and whether it has no alias


def by_partials(
    backend: Backend, partials: Sequence[Any], shapes: Sequence[Shape], g: Any, free: bool
) -> list[Share]:
    """The shares of operands of these shapes in the cotangent `g`, from partials that were computed
    with the value. A partial of several operands is multiplied once. With `free`, `g` may be
    written over."""
    number = single_number(g)
    free = free and number is g
    places = _alike(partials)
    shares: list[Share] = [(None, False)] * len(partials)
    while places:
        ks = places.pop()
        partial = partials[ks[0]]
        if not any(shapes[k] for k in ks):
            c, fresh = _total(backend, g, number, partial), True
        elif is_one(partial):
            c, fresh, free = g, False, False
        elif is_one(number) and shape_of(partial) == g.shape:
            c, fresh = partial, False  # kept intact, as another sweep may pass the record
        else:
            # Only the last product may be written over `g`, which the others read.
            out = g if free and not places else backend.empty(g.shape, g.dtype)
            c, fresh = backend.xp.multiply(number, partial, out=out), True
        _distribute(c, fresh, ks, shapes, shares)
    return shares


def by_formula(
    backend: Backend, site: Site, read: Sequence[Any], shapes: Sequence[Shape], g: Any, free: bool
) -> list[Share]:
    """The shares of the active operands of `site`, which have these shapes, by the formula of the
    pullback; `read` are its operands (`pullback_operands`). With `free`, `g` may be written
    over."""
    if g.size <= SMALL:
        found = small_pull(site.op, site.operands)(g.shape, *read, g)
    else:
        out = g if free and g.flags.c_contiguous else None
        found = pulled(backend, site.op, site.operands, g.shape, single_number(g), read, out)
    shares: list[Share] = [(None, False)] * len(found)
    for ks in _alike(found):
        _distribute(found[ks[0]], True, ks, shapes, shares)
    return shares


def pullback_operands(op: Op, operands: Sequence[Any], y: Any) -> list[Any]:
    """The operands, and perhaps the result, that the pullback of an expression reads."""
    return [operands[k] if type(k) is int else y for k in cotangents_of(op)[0]]


def have_one_dtype(g: Any, read: Sequence[Any]) -> bool:
    """Whether the operands of a pullback are all kept, and are floats or arrays of the cotangent's
    dtype, so that a formula needs no conversions."""
    return all([type(v) is float or (hasattr(v, "strides") and v.dtype == g.dtype) for v in read])  # noqa: C419


def single_number(g: Any) -> Any:
    """The number that a cotangent is broadcast from, as that of a sum is; any other as it is."""
    return g if any(g.strides) or not g.size else g[(0,) * g.ndim]


def is_one(value: Any) -> bool:
    """Whether a value is the float 1; a number on a GPU is not compared, as that would wait."""
    return isinstance(value, float) and value == 1.0


def _alike(values: Sequence[Any]) -> list[list[int]]:
    """The positions of each distinct value, by identity."""
    places: dict[int, list[int]] = {}
    for k, value in enumerate(values):
        places.setdefault(id(value), []).append(k)
    return list(places.values())


def _distribute(
    c: Any, fresh: bool, ks: list[int], shapes: Sequence[Shape], shares: list[Share]
) -> None:
    """Gives the operands `ks` the share that they have in common, summed to their shapes. With
    `fresh` it has no alias, and each operand gets an array of its own."""
    taken = False
    for k in ks:
        if shapes[k] != shape_of(c):
            shares[k] = sum_to(c, shapes[k]), True
        else:
            shares[k] = (c.copy(), True) if fresh and taken else (c, fresh)
            taken = True


def _total(backend: Backend, g: Any, number: Any, partial: Any) -> Any:
    """The sum of the products of cotangent and partial."""
    if number is not g and shape_of(partial) == g.shape:
        return number * partial.sum()
    if shape_of(partial) == g.shape and g.flags.c_contiguous and partial.flags.c_contiguous:
        return backend.xp.dot(
            g.reshape(-1), partial.reshape(-1)
        )  # without an array for the products
    return (g * partial).sum()
