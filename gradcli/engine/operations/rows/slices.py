"""The fast path of `getitem` and of its rule for lanes that are indexed by ints and slices."""

from __future__ import annotations

from typing import Any

from ....ops import OPS
from ...backends.backend import Backend
from ...trace.recording import record
from ...trace.run import Run
from ...trace.tape import Site
from ...values.lanes import Lanes, zeros
from .on_lanes import rows_contiguous

GETITEM = OPS["getitem"]


def read_part(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of lanes, traced or not; None for any other value or index, which `apply`
    handles."""
    array = x[0] if type(x) is tuple else x
    if (
        type(array) is not Lanes
        or array.group is not run.group
        or not is_basic_index(index)
        or len(index) > array.ndim
    ):
        return None
    trace = run.trace if array is x else x[2].trace
    if trace.keeps_constants or run.trace.keeps_all:
        return None
    try:
        y = array.array[index]
    except IndexError:
        return None  # `apply` reports it
    # A view is safe: an array that has one is an alias, and is never written in place. But a small
    # part is copied, so that it doesn't keep a large array alive.
    part = Lanes(
        rows_contiguous(run.backend.xp, y.copy() if 2 * y.size < array.array.size else y),
        array.group,
    )
    return part if array is x else record(trace, site, [x], [array], {"index": index}, part, (0,))


def is_basic_index(index: tuple[Any, ...]) -> bool:
    """Whether an index has only ints and slices: it selects no element twice, and is the same for
    every row."""
    return all([type(i) is slice or type(i) is int for i in index])  # noqa: C419


def add_part(
    backend: Backend, total: Lanes | None, g: Lanes, x: Lanes, index: tuple[Any, ...]
) -> Lanes:
    """Adds the cotangent `g` of `x[index]` to `total`, the cotangent of `x` in a buffer without
    aliases, or to a new one if that is None."""
    if total is not None:
        total.array[index] += g.array
        return total
    shape = x.array.shape
    first = index[0] if len(index) == 1 else 0
    if (
        type(first) is slice
        and first.step in (None, 1)
        and x.dtype.char == "d"
        and x.size <= x.group.size
    ):
        start, stop, _ = first.indices(shape[0])
        new = backend.empty(shape)  # zeros only where `g` has nothing
        new[:start] = 0.0
        new[max(start, stop) :] = 0.0
        backend.xp.add(g.array, 0.0, out=new[start:stop])  # as a sum, for the sign of zeros
        return Lanes(new, x.group)
    whole = zeros(backend.xp, x.shape, x.dtype, x.group)
    backend.xp.add(g.array, 0.0, out=whole.array[index])
    return whole
