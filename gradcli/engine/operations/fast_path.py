"""The fast path of `apply` for the most frequent operations.

These are elementwise operations on floats (plain, traced, or with tangents) and on float64 arrays
of one shape, and reads of such arrays by ints and slices. There nothing has to be checked or
converted. For everything else the functions here return None, and the caller falls back to the
general path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ops.op import OpError
from ..backends.backend import CPU
from ..formulas.functions import array_function, scalar_function, scalar_push
from ..trace.blanks import Blank
from ..trace.recording import reads_of
from ..trace.run import Run
from ..trace.tape import Site, Trace
from ..values.boxes import Dual
from ..values.kinds import Variable
from .overwriting import donated_array

LARGE = 2**21  # elements: smaller arrays are allocated without checking the free memory


def apply_fast(
    run: Run, site: Site, operands: Sequence[Any], options: Mapping[str, Any], over: bool
) -> Any:
    """The result of an elementwise op that maps floats to floats, traced if an operand is; None for
    operands of other kinds. `over` as in `apply`."""
    trace = run.trace
    shape: Any = None
    dual: Dual | None = None
    any_float = False
    values: list[Any] = []
    primals: list[Any] = []
    active: list[int] = []
    for k, value in enumerate(operands):
        if type(value) is Variable:
            value = value.box
        p = value
        if type(value) is tuple:
            p = value[0]
            if run.level and value[2].trace is not trace:
                if active:
                    return None  # operands of several levels
                trace = value[2].trace
            active.append(k)
        if type(p) is float:
            any_float = True
        elif type(p) is CPU.ndarray:
            if p.shape != shape:
                if shape is not None or p.size >= LARGE:
                    return None
                shape = p.shape
            if p.dtype.char != "d":
                return None
        elif type(p) is Dual:
            dual = p
        elif type(p) is not int or run.settings.dtype != "float64":
            return None
        values.append(value)
        primals.append(p)
    if run.trace.sees_plain and (dual is not None or not active):
        return None
    if shape is None:
        if dual is not None:
            y = _on_duals(run, site, primals) if not active or trace.level > dual.level else None
        else:
            y = on_floats(run, site, primals) if any_float else None
        if y is None or not active or trace.segment is None:
            return y
        return _record_all(trace, site, values, primals, y, active, options)
    if not shape or dual is not None or run.backend is not CPU:
        return None
    y = _on_arrays(run, site, values, primals, active, over)
    if type(y) is not CPU.ndarray or y.shape != shape or y.dtype.char != "d":
        return None
    if not active or trace.segment is None:
        return y
    record = _record_all if trace.room > 0 else _record_reads
    return record(trace, site, values, primals, y, active, options)


def on_floats(run: Run, site: Site, primals: list[Any]) -> Any:
    """The elementwise op of `site` on floats and ints, as a float. None where the op refuses its
    operands, gives no float, or the run computes in float32."""
    if run.settings.dtype != "float64":
        return None
    if (function := site.on_floats) is None:
        function = site.on_floats = scalar_function(site.op)
    try:
        y = function(*map(float, primals))
    except OpError:  # by a function that another package registered
        return None
    return y if type(y) is float else None


def _on_duals(run: Run, site: Site, operands: list[Any]) -> Any:
    """The elementwise op on floats of which some have float tangents, all of one level; None for
    other operands."""
    level = 0
    primals: list[Any] = []
    tangents: list[float] = []
    active: list[int] = []
    for k, v in enumerate(operands):
        if type(v) is Dual:
            if (
                type(v.primal) is not float
                or type(v.tangent) is not float
                or (active and v.level != level)
            ):
                return None
            level = v.level
            active.append(k)
            primals.append(v.primal)
            tangents.append(v.tangent)
        elif type(v) is float or type(v) is int:
            primals.append(v)
        else:
            return None
    y = on_floats(run, site, primals)
    if y is None or level <= run.paused:
        return y
    return Dual(y, scalar_push(site.op, tuple(active))(y, *primals, *tangents), level)


def _record_all(
    trace: Trace,
    site: Site,
    values: list[Any],
    primals: list[Any],
    y: Any,
    active: list[int],
    options: Mapping[str, Any],
) -> Any:
    """Records the operation with all operands and the result: numbers take little memory, and for
    arrays the trace has room. Returns the traced result."""
    site = site.on(tuple(active))
    inputs = [values[k] for k in active]
    if site.inline_operands:
        return trace.record(
            site, inputs, primals[0], primals[1] if len(primals) > 1 else None, y, y
        )
    return trace.record(site, inputs, tuple(primals), options, y, y)


def _on_arrays(
    run: Run, site: Site, values: list[Any], primals: list[Any], active: list[int], over: bool
) -> Any:
    """The elementwise op on float64 arrays of one shape and floats, written over an operand that is
    no longer needed; None where the op refuses them."""
    if (function := site.on_arrays) is None:
        function = site.on_arrays = array_function(CPU, site.op)
    out = None
    if over and not run.trace.room:
        first, second = primals
        if active:
            out = donated_array(site, values, primals)
        elif type(first) is type(second) and first.base is None:
            out = first
    try:
        return function(*primals) if out is None else function(*primals, out=out)
    except OpError:
        return None


def read_array_part(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of an array, traced or not, outside of lanes; None for any other value or index,
    which `apply` handles."""
    trace = run.trace
    array = x[0] if type(x) is tuple else x
    if run.level or run.backend is not CPU or (array is x and trace.sees_plain):
        return None
    if (
        type(array) is not CPU.ndarray
        or array.dtype.char != "d"
        or len(index) > array.ndim
        or not is_basic_index(index)
    ):
        return None
    try:
        y = array[index]
    except IndexError:
        return None  # `apply` reports it
    # A copy, never a view: a view would keep the whole array alive, and show later writes to it.
    y = y.copy() if type(y) is type(array) else y.item()
    if array is x or trace.segment is None:
        return y
    saved = array if trace.room > 0 else Blank(array.shape, array.dtype)
    kept = y if trace.room > 0 or type(y) is float else Blank(y.shape, y.dtype)
    return trace.record(site.on((0,)), [x], (saved,), {"index": index}, kept, y)


def is_basic_index(index: tuple[Any, ...]) -> bool:
    """Whether an index has only ints and slices: it selects no element twice, and is the same for
    every row."""
    return all([type(i) is slice or type(i) is int for i in index])  # noqa: C419


def _record_reads(
    trace: Trace,
    site: Site,
    values: list[Any],
    primals: list[Any],
    y: Any,
    active: list[int],
    options: Mapping[str, Any],
) -> Any:
    """Records the operation with only those arrays that its rule reads. Returns the traced
    result."""
    site = site.on(tuple(active))
    reads = site.reads if site.reads is not None else reads_of(site, len(primals))
    # stands for every array that no rule reads: all have its shape
    unread = Blank(y.shape, y.dtype)
    saved = [
        unread if k not in reads and type(p) is CPU.ndarray else p for k, p in enumerate(primals)
    ]
    kept = y if "result" in reads else unread
    inputs = [values[k] for k in active]
    if site.inline_operands:
        return trace.record(site, inputs, saved[0], saved[1] if len(saved) > 1 else None, kept, y)
    return trace.record(site, inputs, tuple(saved), options, kept, y)
