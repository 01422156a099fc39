"""Reading and writing elements, and the other primitives that only derivatives and the engine
call."""

from __future__ import annotations

from typing import Any

from .op import Op
from .rows_elements import chooses, elements_total, read_elements, write_elements
from .scatter import add_at

# An index is a tuple of ints, slices, None, Ellipsis and int or bool arrays, as NumPy takes it.


def _getitem(xp: Any, x: Any, index: Any) -> Any:
    if type(index) is tuple and len(index) == 1 and not _is_unique(index):
        return x.take(index[0], axis=0)  # the same, and faster for arrays of several axes
    y = x[index]
    # A copy, never a view: a view would keep the whole array alive, and show what is written to it
    # in place.
    return y.copy() if getattr(y, "base", None) is not None else y


def _is_unique(index: Any) -> bool:
    """Whether the index names no element twice: without int arrays (or lists) it can't."""
    return all(not hasattr(i, "dtype") or i.dtype.kind == "b" for i in index)


def _setitem(xp: Any, x: Any, value: Any, index: Any, inplace: bool = False) -> Any:
    y = x if inplace else x.copy()
    y[index] = value
    return y


def _index_add(xp: Any, x: Any, value: Any, index: Any, inplace: bool = False) -> Any:
    y = x if inplace else x.copy()
    if _is_unique(index):
        y[index] += value
    else:
        add_at(xp, y, index, value)
    return y


def _picked(m: Any, g: Any, y: Any, x: Any, value: Any, index: Any, inplace: bool = False) -> Any:
    """The elements of an array at the places where a value was written."""
    if chooses(index):
        return m.sum(m.where(index[0], g, 0.0), axis=None, keepdims=False)
    return m.sum_to(m.getitem(g, index=index), shape=value.shape)


def _strict_product(m: Any, a: Any, b: Any) -> Any:
    """The strict product: the product, but 0 where that is nan and either factor is 0. Zeros keep
    their sign."""
    product = a * b
    repaired = m.where(a == 0, 0.0, m.where(b == 0, 0.0, product))
    return m.where(m.isnan(product), repaired, product)


def _strict_partial(m: Any, one: Any, other: Any) -> Any:
    """The partial of the strict product: the other factor, but 0 where the product was repaired,
    because it is 0 there whatever the factors are."""
    return m.where(m.isfinite(other), other, m.where(one == 0, 0.0, other))


OPS = [
    Op(
        "getitem",
        "x; index",
        "The elements of x at an index.",
        category="shape",
        internal=True,
        compute=_getitem,
        rows=read_elements,
        rows_total=elements_total,
        linear=True,
        accumulate=lambda m, total, g, y, x, index: m.index_add(
            total, g, index=index, inplace=True
        ),
    ),
    Op(
        "setitem",
        "x, value; index, inplace=false",
        "x with other elements at an index.",
        category="shape",
        internal=True,
        compute=_setitem,
        rows=write_elements(adds=False),
        linear=True,
        vjp=(
            lambda m, g, y, x, value, index, inplace=False: m.setitem(
                g, 0.0, index=index, inplace=inplace
            ),
            _picked,
        ),
    ),
    Op(
        "index_add",
        "x, value; index, inplace=false",
        "x with values added at an index; an element named twice gets both.",
        category="shape",
        internal=True,
        compute=_index_add,
        rows=write_elements(adds=True),
        linear=True,
        vjp=(
            lambda m, g, y, x, value, index, inplace=False: g,
            lambda m, g, y, x, value, index, inplace=False: m.sum_to(
                m.getitem(g, index=index), shape=value.shape
            ),
        ),
    ),
    Op(
        "part",
        "x; index",
        "One result of an op that has several.",
        category="shape",
        internal=True,
        compute=lambda xp, x, index: x[index],
        jvp=lambda m, t, y, x, index: t[0][index],
    ),
    Op(
        "beside",
        "x, other",
        "x as an element of an array that depends on `other`.",
        internal=True,
        symbolic=lambda s, x, other: x,
        category="arithmetic",
        forward=lambda m, x, other: x,
        partials=(lambda m, y, x, other: 1.0, lambda m, y, x, other: 0.0),
    ),
    Op(
        "fixed",
        "x",
        "The value of a number, through which no derivative passes.",
        category="casting",
        internal=True,
        symbolic=lambda s, x: x,
        forward=lambda m, x: x,
        differentiable=False,
    ),
    Op(
        "strict_mul",
        "a, b",
        "The product of a cotangent or tangent and a partial: exactly 0 where either is.",
        internal=True,
        symbolic=lambda s, a, b: a * b,
        category="arithmetic",
        forward=_strict_product,
        partials=(
            lambda m, y, a, b: _strict_partial(m, a, b),
            lambda m, y, a, b: _strict_partial(m, b, a),
        ),
    ),
]
