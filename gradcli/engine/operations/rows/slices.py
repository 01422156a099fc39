"""The fast path of `getitem` and of its rule for lanes that are indexed by ints and slices."""

from __future__ import annotations

from typing import Any

from ...trace.recording import record
from ...trace.run import Run
from ...trace.tape import Site
from ...values.lanes import Lanes
from .on_lanes import rows_contiguous


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
