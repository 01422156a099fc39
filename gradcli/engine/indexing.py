"""Reading and writing elements and members: `x[i]`, `d.k`, `x.T`, and `a[i] = v` with value semantics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Span, did_you_mean
from ..lang import program
from ..ops import OPS
from .apply import apply, to_array
from .at_once import part_of_array
from .attached import gradient
from .backends import CPU, dtype_name, shape_of
from .by_rows import agreed_value
from .choices import deciding
from .compiler import Closure, Compiler
from .lanes import Lanes
from .modules import member as instance_member
from .run import Run
from .slices import read_part
from .tape import Blank, Site, primal
from .values import UNSET, Instance, List, Namespace, Variable, describe, read, show_shape

GETITEM, SETITEM, TRANSPOSE = OPS["getitem"], OPS["setitem"], OPS["transpose"]


# ---- the index -------------------------------------------------------------------------------------------------------


def compile_items(c: Compiler, items: tuple[program.IndexItem, ...]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The index in brackets as NumPy takes it: a tuple of ints, slices, None, Ellipsis and arrays."""
    if (written := written_index(items)) is not None:
        return lambda frame: written
    closures = [_compile_item(c, item) for item in items]
    if len(closures) == 1:
        only = closures[0]
        return lambda frame: (only(frame),)
    return lambda frame: tuple([closure(frame) for closure in closures])


def written_index(items: tuple[program.IndexItem, ...]) -> tuple[Any, ...] | None:
    """The index in brackets where it is of ints and slices that are written; None for any other."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, program.EllipsisItem):
            return None
        if not isinstance(item, program.Slice):
            if (number := _written(item)) is None:
                return None
            found.append(number[0])
            continue
        bounds = [bound[0] for b in (item.start, item.stop, item.step) if (bound := _written(b)) is not None]
        if len(bounds) < 3:
            return None
        found.append(slice(*bounds))
    return tuple(found)


def _compile_item(c: Compiler, item: program.IndexItem) -> Closure:
    from .expressions import compile_value

    if isinstance(item, program.EllipsisItem):
        return lambda frame: Ellipsis
    if isinstance(item, program.Slice):
        span = item.span
        if (written := written_index((item,))) is not None:
            (fixed,) = written
            return lambda frame: fixed
        parts = (item.start, item.stop, item.step)
        bounds = [None if b is None else deciding(c, compile_value(c, b), span) for b in parts]
        return lambda frame: slice(*[None if b is None else _bound(frame[0], b(frame), span) for b in bounds])
    span = item.span
    value = deciding(c, compile_value(c, item), span)

    def index(frame: list[Any]) -> Any:
        i = value(frame)
        return i if type(i) is int else _index(frame[0], i, span)

    return index


def _written(bound: program.Expression | None) -> tuple[int | None] | None:
    """The bound of a slice that is written as an int, or isn't there; None for any other."""
    if bound is None:
        return (None,)
    if isinstance(bound, program.Constant) and type(bound.value) is int:
        return (bound.value,)
    if isinstance(bound, program.Apply) and bound.op.name == "neg":
        inner = _written(bound.operands[0])
        return None if inner is None or inner[0] is None else (-inner[0],)
    return None


def _bound(run: Run, value: Any, span: Span) -> Any:
    value = primal(value)
    if value is None or (type(value) is int):
        return value
    if type(value) is Lanes and value.dtype.kind == "i":
        return agreed_value(run, value)  # the size of a slice must be one
    run.fail("E303", f"a slice takes ints, and this is {describe(value)}", span)


def _index(run: Run, value: Any, span: Span) -> Any:
    value = primal(value)
    if type(value) is List:
        value = primal(to_array(run, Site(GETITEM, span), value))
        value = value.astype("int64") if not value.size else value
    if value is None or type(value) in (int, str):
        return value
    if type(value) is bool or (hasattr(value, "dtype") and value.dtype.kind in "bi"):
        return run.backend.xp.asarray(value) if type(value) is bool else value
    help = "write an int, or convert with `int64(…)`" if type(value) is float or hasattr(value, "dtype") else ""
    run.fail("E303", f"an index is an int, a slice or an array of ints or bools, and this is {describe(value)}", span, help=help)


def fail_index(run: Run, container: Any, index: tuple[Any, ...], span: Span) -> None:
    """Says what is wrong with an index."""
    verify_index(run, container, index, span)
    run.fail("E303", f"the index doesn't fit an array of shape {show_shape(shape_of(container))}", span)


def verify_index(run: Run, container: Any, index: tuple[Any, ...], span: Span) -> None:
    """Raises GradcliError (E303) where an index is out of its range."""
    shape = shape_of(container)
    if len([i for i in index if i is not None and i is not Ellipsis]) > len(shape):
        what = f"an array of shape {show_shape(shape)}" if shape else describe(container)
        run.fail("E303", f"too many indices: {len(index)} for {what}", span)
    axis = 0
    for position, i in enumerate(index):
        if i is None:
            continue
        if type(i) is Lanes and not i.shape and i.dtype.kind == "i":
            wrong = i.array[(i.array < -shape[axis]) | (i.array >= shape[axis])]
            i = int(wrong[0]) if wrong.size else 0
        if i is Ellipsis:
            axis = len(shape) - (len(index) - position - 1)
            continue
        if type(i) is int and not -shape[axis] <= i < shape[axis]:
            run.fail(
                "E303", f"index {i} is out of range for axis {axis} of size {shape[axis]}", span,
                f"the shape is {show_shape(shape)}", "indices count from 0; negative ones from the end",
            )  # fmt: skip
        values = i.array if type(i) is Lanes else i
        if hasattr(i, "dtype") and i.dtype.kind == "i" and not bool(((values >= -shape[axis]) & (values < shape[axis])).all()):
            run.fail(
                "E303",
                f"an index is out of range for axis {axis} of size {shape[axis]}",
                span,
                f"the shape is {show_shape(shape)}",
            )
        if hasattr(i, "dtype") and i.dtype.kind == "b" and i.shape != shape[axis : axis + i.ndim]:
            run.fail("E303", f"a mask of shape {show_shape(i.shape)} doesn't fit an array of shape {show_shape(shape)}", span)
        axis += i.ndim if hasattr(i, "dtype") and i.dtype.kind == "b" else 1


# ---- reading ---------------------------------------------------------------------------------------------------------


def compile_index(c: Compiler, node: program.Index) -> Closure:
    from .expressions import compile_expression

    container, items = compile_expression(c, node.object), compile_items(c, node.items)
    site = Site(GETITEM, node.span)
    active = site.on((0,))
    on_host = c.settings.device == "cpu" and not c.keeps_all
    saved: tuple[Blank] = (Blank((), None),)  # of the array read last: a loop reads the same one again and again

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


def read_index(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of any value. Raises GradcliError (E303, E309) where there is no such element."""
    x = read(x)
    part = part_of_array(run, site, x, index) if run.group is None else read_part(run, site, x, index)
    if part is not None:
        return part
    container = primal(x)
    if type(container) is List:
        return list_item(run, container, index, site.span)
    if type(container) is dict:
        key = index[0]
        if len(index) != 1 or type(key) is not str:
            run.fail(
                "E303", f"a dict is read by key, and this is {describe(key)}", site.span, help='write `d.name` or `d["name"]`'
            )
        return dict_item(run, container, key, site.span)
    if any(type(i) is str for i in index):
        run.fail("E303", f"a string is no index of {describe(container)}", site.span)
    if not shape_of(container):
        run.fail("E303", f"{describe(container)} has no elements to index", site.span)
    if run.group is not None:  # what a mask picks must be of one size
        index = tuple([agreed_value(run, i) if type(i) is Lanes and i.dtype.kind == "b" else i for i in index])
    if run.backend is not CPU:  # where an array of indices is taken modulo the size
        verify_index(run, container, index, site.span)
    try:
        return apply(run, site, (x,), {"index": index})
    except Exception as error:
        if getattr(getattr(error, "diagnostics", [None])[0], "code", "") == "E320":
            fail_index(run, container, index, site.span)
        raise


def list_item(run: Run, items: List, index: tuple[Any, ...], span: Span) -> Any:
    first = index[0]
    if type(first) is Lanes:  # of another kind than the other items, perhaps
        first = agreed_value(run, first)
    if type(first) is slice:
        value: Any = List(items.items[first])
    elif type(first) is int:
        if not -len(items) <= first < len(items):
            run.fail("E303", f"index {first} is out of range for a list of {len(items)}", span, help="indices count from 0")
        value = items[first]
    elif first is None or first is Ellipsis or hasattr(first, "dtype"):
        return read_index(run, Site(GETITEM, span), to_array(run, Site(GETITEM, span), items), index)
    else:
        run.fail("E303", f"a list is indexed by ints and slices, and this is {describe(first)}", span)
    if len(index) == 1:
        return value
    if type(first) is slice:
        return read_index(run, Site(GETITEM, span), to_array(run, Site(GETITEM, span), items), index)
    return read_index(run, Site(GETITEM, span), value, index[1:])


def dict_item(run: Run, entries: dict[str, Any], key: str, span: Span) -> Any:
    if key in entries:
        return entries[key]
    known = ", ".join(f"`{k}`" for k in list(entries)[:8]) or "none"
    run.fail("E309", f"the dict has no key `{key}`", span, f"its keys are {known}", did_you_mean(key, entries))


# ---- members ---------------------------------------------------------------------------------------------------------

_ATTRIBUTES = ("T", "shape", "size", "ndim", "dtype", "name", "grad")


def compile_member(c: Compiler, node: program.Member) -> Closure:
    from .expressions import compile_expression

    value, name, span = compile_expression(c, node.object), node.name, node.span
    return lambda frame: member(frame[0], value(frame), name, span)


def member(run: Run, value: Any, name: str, span: Span) -> Any:
    """`value.name`: a key of a dict, a name of an import or instance, or an attribute of an array."""
    if type(value) is dict:
        return dict_item(run, value, name, span)
    if type(value) is Namespace:
        found = value.member(name)
        if found is UNSET:
            run.fail("E309", f"`{value.name}` has no name `{name}`", span, help=did_you_mean(name, value.slots))
        return found
    if type(value) is Instance:
        return instance_member(run, value, name, span)
    if type(value) is Variable and name == "name":
        return value.name
    held, value = value, read(value)
    number = primal(value)
    is_number = shape_of(number) or type(number) in (int, float, bool, complex) or hasattr(number, "dtype")
    if name == "grad" and (is_number or type(number) is List):
        return gradient(run, held, span)
    if type(number) is List and name in _ATTRIBUTES:
        value = to_array(run, Site(TRANSPOSE, span), number)
        number, is_number = primal(value), True
    if is_number and name == "T":
        return apply(run, Site(TRANSPOSE, span), (value,), {"axes": None})
    if is_number and name == "shape":
        return List(list(shape_of(number)))
    if is_number and name == "size":
        return int(getattr(number, "size", 1))
    if is_number and name == "ndim":
        return len(shape_of(number))
    if is_number and name == "dtype":
        return dtype_name(number)
    run.fail("E309", f"{describe(value)} has no member `{name}`", span, help=did_you_mean(name, _ATTRIBUTES))
