"""Reading elements and members of any value, such as `x[i]`, `d.k` and `x.T`, and the errors where
there is no such element or member."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span, did_you_mean
from ...ops import OPS
from ...ops.elsewhere import suggestion
from ...ops.members import ATTRIBUTES, TAPE_MEMBERS
from ..backends.backend import CPU, dtype_name, shape_of
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import (
    UNSET,
    Instance,
    List,
    Namespace,
    Tape,
    Variable,
    describe,
    is_number,
    read,
    show_shape,
)
from ..values.lanes import Lanes, narrow
from .apply import apply, to_array
from .instances import member as instance_member
from .rows.failing import fail_beyond, of_all_rows, tells_apart
from .rows.number_kinds import uniform_kind
from .rows.separation import operation_group, uniform_value

GETITEM, TRANSPOSE = OPS["getitem"], OPS["transpose"]


# ---- elements ------------------------------------------------------------------------------------


def read_index(run: Run, site: Site, x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` for any value. Raises GradcliError (E303, E309) where there is no such element."""
    x = read(x)
    container = primal(x)
    if type(container) is List:
        return list_item(run, container, index, site.span)
    if type(container) is dict:
        key = index[0]
        if len(index) != 1 or type(key) is not str:
            run.fail(
                "E303",
                f"a dict is read by key, and this is {describe(key)}",
                site.span,
                help='write `d.name` or `d["name"]`',
            )
        return dict_item(run, container, key, site.span)
    if any(type(i) is str for i in index):
        run.fail("E303", f"a string is no index of {describe(container)}", site.span)
    if not shape_of(container):
        run.fail("E303", f"{describe(container)} has no elements to index", site.span)
    if run.group is not None:  # a mask must pick as many elements in all rows
        index = tuple(
            [
                uniform_value(run, i) if type(i) is Lanes and i.dtype.kind == "b" else i
                for i in index
            ]
        )
    if run.backend is not CPU or (  # CuPy takes indices modulo the size instead of refusing them
        tells_apart(run, run.group) and Lanes in map(type, index)
    ):
        verify_index(run, container, index, site.span)
    try:
        return apply(run, site, (x,), {"index": index})
    except Exception as error:
        if getattr(getattr(error, "diagnostics", [None])[0], "code", "") == "E320":
            fail_index(run, container, index, site.span)
        raise


def list_item(
    run: Run,
    items: List,
    index: tuple[Any, ...],
    span: Span,
    help: str = "indices count from 0",
) -> Any:
    """The item of a list, or a part of it. `help` is for an index that is out of range."""
    first = _in_running_rows(run, index[:1], span)[0]
    if type(first) is Lanes:  # items may differ in kind, so rows must agree on one
        fail_beyond(run, first, len(items), lambda k: list_item(run, items, (k,), span, help))
        first = uniform_value(run, first)
    if type(first) is int:
        if not -len(items) <= first < len(items):
            message = f"index {first} is out of range for a list of {len(items)}"
            raise of_all_rows(run, GradcliError(Diagnostic("E303", message, span, help=help)))
        value = items[first]
        if len(index) == 1:
            return value
        return read_index(run, Site(GETITEM, span), value, index[1:])
    if type(first) is slice and len(index) == 1:
        return List(items.items[first])
    if not (type(first) is slice or first is None or first is Ellipsis or hasattr(first, "dtype")):
        run.fail(
            "E303", f"a list is indexed by ints and slices, and this is {describe(first)}", span
        )
    site = Site(GETITEM, span)
    return read_index(run, site, to_array(run, site, items), index)


def dict_item(run: Run, entries: dict[str, Any], key: str, span: Span) -> Any:
    if key in entries:
        return entries[key]
    known = ", ".join(f"`{k}`" for k in list(entries)[:8]) or "none"
    run.fail(
        "E309",
        f"the dict has no key `{key}`",
        span,
        f"its keys are {known}",
        did_you_mean(key, entries),
    )


# What a dict can be asked for by a member, unless it has a key of this name.
VIEWS: dict[str, Callable[[dict[str, Any]], Iterable[Any]]] = {
    "keys": lambda entries: entries,
    "values": lambda entries: entries.values(),
    "items": lambda entries: [List([key, value]) for key, value in entries.items()],
}


def dict_view(run: Run, entries: dict[str, Any], name: str, given: list[Any], span: Span) -> List:
    """The keys, the values or the pairs of both of a dict, as a list."""
    if given:
        run.fail("E308", f"`{name}` of a dict takes no arguments", span)
    return List(list(VIEWS[name](entries)))


def fail_index(run: Run, container: Any, index: tuple[Any, ...], span: Span) -> None:
    """Reports what is wrong with an index."""
    verify_index(run, container, index, span)
    run.fail(
        "E303", f"the index doesn't fit an array of shape {show_shape(shape_of(container))}", span
    )


def verify_index(run: Run, container: Any, index: tuple[Any, ...], span: Span) -> None:
    """Raises GradcliError (E303) where an index is out of its range."""
    shape = shape_of(container)
    if len([i for i in index if i is not None and i is not Ellipsis]) > len(shape):
        what = f"an array of shape {show_shape(shape)}" if shape else describe(container)
        run.fail("E303", f"too many indices: {len(index)} for {what}", span)
    index = _in_running_rows(run, index, span)
    axis = 0
    for position, i in enumerate(index):
        if i is None:
            continue
        if type(i) is Lanes and i.dtype.kind == "i":
            _tell_beyond(run, container, index, position, shape[axis], span)
        if type(i) is Lanes and not i.shape and i.dtype.kind == "i":
            wrong = i.array[(i.array < -shape[axis]) | (i.array >= shape[axis])]
            i = int(wrong[0]) if wrong.size else 0
        if i is Ellipsis:
            axis = len(shape) - (len(index) - position - 1)
            continue
        if type(i) is int and not -shape[axis] <= i < shape[axis]:
            run.fail(
                "E303",
                f"index {i} is out of range for axis {axis} of size {shape[axis]}",
                span,
                f"the shape is {show_shape(shape)}",
                "indices count from 0; negative ones from the end",
            )
        values = i.array if type(i) is Lanes else i
        if (
            hasattr(i, "dtype")
            and i.dtype.kind == "i"
            and not bool(((values >= -shape[axis]) & (values < shape[axis])).all())
        ):
            run.fail(
                "E303",
                f"an index is out of range for axis {axis} of size {shape[axis]}",
                span,
                f"the shape is {show_shape(shape)}",
            )
        if hasattr(i, "dtype") and i.dtype.kind == "b" and i.shape != shape[axis : axis + i.ndim]:
            run.fail(
                "E303",
                (
                    f"a mask of shape {show_shape(i.shape)} doesn't fit an array of shape "
                    f"{show_shape(shape)}"
                ),
                span,
            )
        axis += i.ndim if hasattr(i, "dtype") and i.dtype.kind == "b" else 1


def _in_running_rows(run: Run, index: tuple[Any, ...], span: Span) -> tuple[Any, ...]:
    """The index of the rows that run: that of the others may be beyond its range."""
    if run.group is None or Lanes not in map(type, index):
        return index
    group = operation_group(run, index, span)
    return tuple([narrow(i, group) for i in index])


def _tell_beyond(
    run: Run, container: Any, index: tuple[Any, ...], position: int, size: int, span: Span
) -> None:
    """Raises RowsError for the rows in which the index at a position is out of its range."""
    before, after = index[:position], index[position + 1 :]
    fail_beyond(
        run,
        index[position],
        size,
        lambda own: verify_index(run, container, (*before, own, *after), span),
    )


# ---- members -------------------------------------------------------------------------------------


def member(run: Run, value: Any, name: str, span: Span) -> Any:
    """`value.name`: an entry of a dict, a name in an import or instance, or an attribute of an
    array. Raises GradcliError (E309) where there is none."""
    if type(value) is dict:
        return dict_item(run, value, name, span)
    if type(value) is Namespace:
        found = value.member(name)
        if found is UNSET:
            run.fail(
                "E309",
                f"`{value.name}` has no name `{name}`",
                span,
                help=did_you_mean(name, value.slots),
            )
        return found
    if type(value) is Instance:
        return instance_member(run, value, name, span)
    if type(value) is Variable and name == "name":
        return value.name
    held, value = value, read(value)
    if type(value) is dict:
        return dict_item(run, value, name, span)
    number = primal(value)
    if name == "grad" and (is_number(number) or type(number) is List):
        return gradient(run, held, span)
    if type(number) is List and name in ATTRIBUTES:
        value = to_array(run, Site(TRANSPOSE, span), number)
        number = primal(value)
    if is_number(number) and name == "T":
        return apply(run, Site(TRANSPOSE, span), (value,), {"axes": None})
    if is_number(number) and name == "shape":
        return List(list(shape_of(number)))
    if is_number(number) and name == "size":
        return int(getattr(number, "size", 1))
    if is_number(number) and name == "ndim":
        return len(shape_of(number))
    if is_number(number) and name == "dtype":
        return dtype_name(uniform_kind(run, number))
    if name in (TAPE_MEMBERS if type(value) is Tape else OPS):
        run.fail("E309", f"`{name}` needs a call", span, help=f"write `{span.text}(…)`")
    run.fail(
        "E309",
        f"{describe(value)} has no member `{name}`",
        span,
        help=suggestion(name, ATTRIBUTES, called=True),
    )


def gradient(run: Run, value: Any, span: Span) -> Any:
    """`x.grad`: zeros at first, then what `backward` put there; none under `req = "null"`.

    Raises GradcliError (E316) where no gradient is attached.
    """
    if type(value) is Variable and value.req:
        return None if value.req == "null" else value.grad
    name = span.text.rpartition(".")[0].rstrip()
    label = "it holds a computed value" if type(value) is tuple else ""
    help = (
        f"write `attach_grad({name})` first; after it `{name} := …` keeps the gradient, `{name} "
        "= …` loses it"
    )
    run.fail("E316", f"`{name}` has no attached gradient", span, label, help)
