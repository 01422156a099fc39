"""Reading a part of each row's value by ints and slices, there and back: what `getitem` and its
rule do, for floats of the rows that run, without looking at each operand as an operation does."""

from __future__ import annotations

from typing import Any

from ...ops import OPS
from ..backends.backend import Backend
from ..trace.recording import record
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Lanes, zeros
from .at_once import is_plain
from .by_rows import in_order

GETITEM = OPS["getitem"]


def read_part(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of lanes, traced or not; None for what `apply` has to look at."""
    array = x[0] if type(x) is tuple else x
    if (
        type(array) is not Lanes
        or array.group is not run.group
        or not is_plain(index)
        or len(index) > array.ndim
    ):
        return None
    trace = run.trace if array is x else x[2].trace
    if trace.keeps_constants or run.trace.keeps_all:
        return None
    try:
        y = array.array[index]
    except IndexError:
        return None  # which `apply` reports
    # A view shows what is written to its array in place; but that isn't done to an array that
    # somebody else holds, and a view does. What is small must not keep what is large.
    part = Lanes(
        in_order(run.backend.xp, y.copy() if 2 * y.size < array.array.size else y), array.group
    )
    return part if array is x else record(trace, site, [x], [array], {"index": index}, part, (0,))


def add_part(
    backend: Backend, total: Lanes | None, g: Lanes, x: Lanes, index: tuple[Any, ...]
) -> Lanes:
    """The cotangent `g` of `x[index]` added to that of `x`, a buffer that nobody else holds, or to
    a new one."""
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
