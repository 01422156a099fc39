"""What `apply` does for most operations on arrays, at once: elementwise ones on float64 arrays of one shape, and numbers; and
parts of such arrays by ints and slices.

There nothing has to be verified or converted, and the rules read plain arrays; everything else goes the long way.
"""

from __future__ import annotations

from typing import Any

from ..ops.op import OpError
from .backends import CPU
from .formulas import array_function
from .overwriting import spare
from .run import Run
from .tape import Blank, Site, Trace
from .values import Variable

LARGE = 2**21  # elements: smaller arrays are made without asking whether there is room


def on_alike_arrays(run: Run, site: Site, operands: tuple[Any, ...], over: bool) -> Any:
    """The result, traced where an operand is; None for operands of other kinds, and where all of them are kept. `over` as in
    `apply`."""
    trace, op = run.trace, site.op
    if run.level or type(trace) is not Trace or run.backend is not CPU or op.integers == "bool" or not op.differentiable:
        return None
    shape: Any = None
    values, primals, active = [], [], []
    for k, value in enumerate(operands):
        if type(value) is Variable:
            value = value.box
        p = value
        if type(value) is tuple:
            p = value[0]
            active.append(k)
        if hasattr(p, "strides"):
            if type(p) is not CPU.xp.ndarray or p.dtype.char != "d":  # NumPy is there already
                return None
            if p.shape != shape:
                if shape is not None or p.size >= LARGE:
                    return None
                shape = p.shape
        elif type(p) is not float and (type(p) is not int or run.settings.dtype != "float64"):
            return None
        values.append(value)
        primals.append(p)
    if not shape:
        return None
    out = spare(site, values, primals) if over else None
    try:
        y = array_function(CPU, op)(*primals) if out is None else array_function(CPU, op)(*primals, out=out)
    except OpError:  # of a function that another package registered
        return None
    if type(y) is not CPU.xp.ndarray or y.shape != shape or y.dtype.char != "d":
        return None
    return y if not active or trace.segment is None else _recorded(trace, site, values, primals, y, tuple(active))


def part_of_array(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of an array, traced or not, where there are no rows; None for any other value, for an element, and for what
    `apply` has to look at."""
    trace = run.trace
    array = x[0] if type(x) is tuple else x
    if run.level or type(trace) is not Trace or run.backend is not CPU:
        return None
    if not hasattr(array, "strides") or type(array) is not CPU.xp.ndarray or array.dtype.char != "d":
        return None
    if len(index) > array.ndim or not is_plain(index):
        return None
    try:
        y = array[index]
    except IndexError:
        return None  # which `apply` reports
    if type(y) is not type(array):
        return None
    y = y.copy()  # never a view: it would keep the whole array alive, and show what is written to it in place
    if array is x or trace.segment is None:
        return y
    kept = Blank(array.shape, array.dtype)
    return trace.record(site.on((0,)), [x], (kept,), {"index": index}, Blank(y.shape, y.dtype), y)


def is_plain(index: tuple[Any, ...]) -> bool:
    """Whether an index is of ints and slices alone: it names no element twice, and every row has the same."""
    return all([type(i) is slice or type(i) is int for i in index])  # noqa: C419


def _recorded(trace: Trace, site: Site, values: list[Any], primals: list[Any], y: Any, active: tuple[int, ...]) -> Any:
    from .apply import reads_of  # which comes here first

    site = site.on(active)
    reads = site.reads if site.reads is not None else reads_of(site, len(primals))
    unread = Blank(y.shape, y.dtype)  # of all that no rule reads: they are alike
    saved = [unread if k not in reads and hasattr(p, "strides") else p for k, p in enumerate(primals)]
    kept = y if "result" in reads else unread
    inputs = [values[k] for k in active]
    if site.narrow:
        return trace.record(site, inputs, saved[0], saved[1] if len(saved) > 1 else None, kept, y)
    return trace.record(site, inputs, tuple(saved), {}, kept, y)
