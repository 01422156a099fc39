"""Reading and writing elements and members: `x[i]`, `d.k`, `x.T`, and `a[i] = v` with value
semantics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ...ops import OPS
from ..operations.access import fail_index, member, read_index
from ..operations.apply import to_array
from ..operations.rows.number_kinds import uniform_kind
from ..operations.rows.separation import uniform_value
from ..trace.recording import Blank
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, Variable, describe
from ..values.lanes import Lanes
from .compiler import Closure, Compiler
from .conditions import deciding

GETITEM = OPS["getitem"]


# ---- the index -----------------------------------------------------------------------------------


def compile_items(
    c: Compiler, items: tuple[program.IndexItem, ...]
) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The closure of the index in brackets, which gives what NumPy takes: a tuple of ints, slices,
    None, Ellipsis and arrays."""
    if (written := written_index(items)) is not None:
        return lambda frame: written
    closures = [_compile_item(c, item) for item in items]
    if len(closures) == 1:
        only = closures[0]
        return lambda frame: (only(frame),)
    return lambda frame: tuple([closure(frame) for closure in closures])


def written_index(items: tuple[program.IndexItem, ...]) -> tuple[Any, ...] | None:
    """The index in brackets if it consists of ints and slices that are literals; None for any
    other."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, program.EllipsisItem):
            return None
        if not isinstance(item, program.Slice):
            if (number := _written(item)) is None:
                return None
            found.append(number[0])
            continue
        bounds = [
            bound[0]
            for b in (item.start, item.stop, item.step)
            if (bound := _written(b)) is not None
        ]
        if len(bounds) < 3:
            return None
        found.append(slice(*bounds))
    return tuple(found)


def _compile_item(c: Compiler, item: program.IndexItem) -> Closure:
    if isinstance(item, program.EllipsisItem):
        return lambda frame: Ellipsis
    if isinstance(item, program.Slice):
        span = item.span
        if (written := written_index((item,))) is not None:
            (fixed,) = written
            return lambda frame: fixed
        parts = (item.start, item.stop, item.step)
        bounds = [None if b is None else deciding(c, c.value(b), span) for b in parts]
        return lambda frame: slice(
            *[None if b is None else _bound(frame[0], b(frame), span) for b in bounds]
        )
    span = item.span
    value = deciding(c, c.value(item), span)

    def index(frame: list[Any]) -> Any:
        i = value(frame)
        return i if type(i) is int else _index(frame[0], i, span)

    return index


def _written(bound: program.Expression | None) -> tuple[int | None] | None:
    """The bound of a slice if it is an int literal or absent; None for any other."""
    if bound is None:
        return (None,)
    if isinstance(bound, program.Constant) and type(bound.value) is int:
        return (bound.value,)
    if isinstance(bound, program.Apply) and bound.op.name == "neg":
        inner = _written(bound.operands[0])
        return None if inner is None or inner[0] is None else (-inner[0],)
    return None


def _bound(run: Run, value: Any, span: Span) -> Any:
    value = uniform_kind(run, primal(value))
    if value is None or (type(value) is int):
        return value
    if type(value) is Lanes and value.dtype.kind == "i":
        return uniform_value(run, value)  # the size of a slice must be one
    run.fail("E303", f"a slice takes ints, and this is {describe(value)}", span)


def _index(run: Run, value: Any, span: Span) -> Any:
    value = uniform_kind(run, primal(value))
    if type(value) is List:
        value = primal(to_array(run, Site(GETITEM, span), value))
        value = value.astype("int64") if not value.size else value
    if value is None or type(value) in (int, str):
        return value
    if type(value) is bool or (hasattr(value, "dtype") and value.dtype.kind in "bi"):
        return run.backend.xp.asarray(value) if type(value) is bool else value
    help = (
        "write an int, or convert with `int64(…)`"
        if type(value) is float or hasattr(value, "dtype")
        else ""
    )
    run.fail(
        "E303",
        f"an index is an int, a slice or an array of ints or bools, and this is {describe(value)}",
        span,
        help=help,
    )


# ---- reading -------------------------------------------------------------------------------------


def compile_index(c: Compiler, node: program.Index) -> Closure:
    container, items = c.expression(node.object), compile_items(c, node.items)
    site = Site(GETITEM, node.span)
    active = site.on((0,))
    on_host = c.settings.device == "cpu" and not c.keeps_all
    saved: tuple[Blank] = (
        Blank((), None),
    )  # of the array read last: a loop reads the same one again and again

    def getitem(frame: list[Any]) -> Any:
        nonlocal saved
        x = container(frame)
        index = items(frame)
        if type(x) is Variable:
            x = x.box
        if (
            type(x) is List
            and len(index) == 1
            and type(k := index[0]) is int
            and -len(x) <= k < len(x)
            and frame[0].group is None
        ):
            return x[k]
        array = x[0] if type(x) is tuple else x
        if (
            on_host
            and len(index) == 1
            and type(index[0]) is int
            and hasattr(array, "item")
            and array.ndim == 1
            and array.dtype.char in "dl?D"
        ):
            try:
                y = array.item(index[0])
            except IndexError:
                fail_index(frame[0], array, index, node.span)
            if type(x) is not tuple or type(y) is not float:
                return y if type(x) is not tuple else read_index(frame[0], site, x, index)
            if (kept := saved)[0].shape != array.shape:  # other threads may run the same program
                saved = kept = (Blank(array.shape, array.dtype),)
            return x[2].trace.record(active, [x], kept, index, y, y)
        return read_index(frame[0], site, x, index)

    return getitem


# ---- members -------------------------------------------------------------------------------------


def compile_member(c: Compiler, node: program.Member) -> Closure:
    value, name, span = c.expression(node.object), node.name, node.span
    return lambda frame: member(frame[0], value(frame), name, span)
