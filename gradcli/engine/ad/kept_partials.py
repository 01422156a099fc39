"""The way back over an expression on arrays, as `fused_arrays.py` records it: all operands' shares
of a cotangent together."""

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
Share = tuple[Any, bool]  # of a cotangent, and whether nobody else holds it


def by_partials(
    backend: Backend, partials: Sequence[Any], shapes: Sequence[Shape], g: Any, free: bool
) -> list[Share]:
    """The shares of operands of these shapes in the cotangent `g`, by the partials that came with
    the value; one that several have is multiplied once. `free`: whether `g` may be written over."""
    number = once(g)
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
            c, fresh = partial, False  # the record may be passed again
        else:
            # Others are still to be multiplied by it.
            out = g if free and not places else backend.empty(g.shape, g.dtype)
            c, fresh = backend.xp.multiply(number, partial, out=out), True
        _deal(c, fresh, ks, shapes, shares)
    return shares


def by_formula(
    backend: Backend, site: Site, read: Sequence[Any], shapes: Sequence[Shape], g: Any, free: bool
) -> list[Share]:
    """The shares of the operands that `site` names, of these shapes, where no partials came with
    the value, by what they `read` (`read_by`). `free`: whether `g` may be written over."""
    if g.size <= SMALL:
        found = small_pull(site.op, site.operands)(g.shape, *read, g)
    else:
        out = g if free and g.flags.c_contiguous else None
        found = pulled(backend, site.op, site.operands, g.shape, once(g), read, out)
    shares: list[Share] = [(None, False)] * len(found)
    for ks in _alike(found):
        _deal(found[ks[0]], True, ks, shapes, shares)
    return shares


def read_by(op: Op, operands: Sequence[Any], y: Any) -> list[Any]:
    """What the shares of an expression's operands read, of these and the result."""
    return [operands[k] if type(k) is int else y for k in cotangents_of(op)[0]]


def are_alike(g: Any, read: Sequence[Any]) -> bool:
    """Whether a formula takes what it reads as it is, with a cotangent of floats: all is there, and
    of its type."""
    return all([type(v) is float or (hasattr(v, "strides") and v.dtype == g.dtype) for v in read])  # noqa: C419


def once(g: Any) -> Any:
    """A cotangent of which all elements are one number, as that of a sum, as that number."""
    return g if any(g.strides) or not g.size else g[(0,) * g.ndim]


def is_one(value: Any) -> bool:
    return isinstance(value, float) and value == 1.0  # a number on a device isn't asked for


def _alike(values: Sequence[Any]) -> list[list[int]]:
    """Where each of the values is; several may be one."""
    places: dict[int, list[int]] = {}
    for k, value in enumerate(values):
        places.setdefault(id(value), []).append(k)
    return list(places.values())


def _deal(c: Any, fresh: bool, ks: list[int], shapes: Sequence[Shape], shares: list[Share]) -> None:
    """Gives operands the cotangent that they have in common, summed to their shapes; `fresh` if
    nobody else holds it."""
    taken = False
    for k in ks:
        if shapes[k] != shape_of(c):
            shares[k] = sum_to(c, shapes[k]), True
        else:
            shares[k] = (c.copy(), True) if fresh and taken else (c, fresh)
            taken = True


def _total(backend: Backend, g: Any, number: Any, partial: Any) -> Any:
    """The sum of all products."""
    if number is not g and shape_of(partial) == g.shape:
        return number * partial.sum()
    if shape_of(partial) == g.shape and g.flags.c_contiguous and partial.flags.c_contiguous:
        return backend.xp.dot(
            g.reshape(-1), partial.reshape(-1)
        )  # without an array for the products
    return (g * partial).sum()
