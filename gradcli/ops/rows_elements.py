"""How reading and writing elements take rows (see rows.py). Where rows have indices of their own,
each takes its own row: the rows are one more index."""

from __future__ import annotations

from typing import Any

from .rows import Rule
from .scatter import add_at


def is_laned(index: Any) -> bool:
    """Whether an index differs between rows: it is a lane value of the engine's."""
    return hasattr(index, "group")


def chooses(index: tuple[Any, ...]) -> bool:
    """Whether an index is a mask that differs between rows; it then selects between the elements
    and one number."""
    return len(index) == 1 and is_laned(index[0]) and index[0].dtype.kind == "b"


def _whole_index(
    xp: Any, index: tuple[Any, ...], rank: int, n: int
) -> tuple[tuple[Any, ...], bool]:
    """An index of values as one of their arrays, and whether the rows come first in what it gives.
    Where a row has an index of its own, each takes its own row."""
    if not any(map(is_laned, index)):
        return ((*index, slice(None)) if any(i is Ellipsis for i in index) else index), False
    used = sum(
        i.ndim if getattr(i, "dtype", None) is not None and i.dtype.kind == "b" else 1
        for i in index
        if i is not None and i is not Ellipsis
    )
    rest = (slice(None),) * (rank - used)
    where = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
    full = [*index[:where], *rest, *index[where + 1 :], xp.arange(n)]
    full = [
        i.array if is_laned(i) else i[..., None] if getattr(i, "ndim", 0) else i for i in full[:-1]
    ] + full[-1:]
    advanced = [k for k, i in enumerate(full) if type(i) is int or hasattr(i, "dtype")]
    return tuple(full), advanced != list(range(advanced[0], len(full)))


def read_elements(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `getitem`."""
    x = (
        operands[0]
        if laned[0]
        else xp.broadcast_to(operands[0][..., None], (*operands[0].shape, n))
    )
    index, first = _whole_index(xp, options["index"], x.ndim - 1, n)
    y = x[index]
    if first:
        return xp.moveaxis(y, _rank(index) - 1, -1)
    # A view shows what is written to its array in place; but that isn't done to an array that
    # somebody else holds, and a view does. What is small must not keep what is large.
    return y.copy() if y.base is not None and 2 * y.size < x.size else y


def _rank(index: tuple[Any, ...]) -> int:
    return max(int(i.ndim) for i in index if hasattr(i, "dtype"))


def _names_none_twice(index: tuple[Any, ...]) -> bool:
    """Whether an index selects no element of a row twice, which only an int array may do."""
    return all(
        not hasattr(i, "dtype") or i.dtype.kind == "b" or (is_laned(i) and not i.shape)
        for i in index
    )


def elements_total(xp: Any, k: int, g: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The total for `getitem`: the shares of all rows are added to one array."""
    index = options["index"]
    if any(map(is_laned, index)):
        numbers = [i for i in index if not isinstance(i, slice)]
        if list(index[: len(numbers)]) != numbers or not all(map(_is_number, numbers)):
            return NotImplemented
        index = tuple([i.array if is_laned(i) else i for i in index])
        g = xp.moveaxis(g, -1, 0)
    else:
        g = g.sum(axis=-1)
    found = xp.zeros(operands[0].shape, g.dtype)
    add_at(xp, found, index, g)
    return found


def _is_number(index: Any) -> bool:
    return type(index) is int or (is_laned(index) and not index.shape and index.dtype.kind == "i")


def write_elements(adds: bool) -> Rule:
    """The rule for `setitem` and `index_add`."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        x, value = operands
        if chooses(options["index"]):
            return xp.where(
                options["index"][0].array, value, x if laned[0] else x[..., None]
            ).astype(x.dtype)
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
            add_at(xp, total, index, value)
        return total

    return rule
