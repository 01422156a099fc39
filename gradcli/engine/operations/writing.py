"""Assignment to elements and entries, such as `a[i] = v` and `d.k = v`, with value semantics: no
other name sees the change."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ...diagnostics import GradcliError
from ...ops import OPS
from ..backends.backend import CPU, dtype_name, shape_of
from ..trace.recording import Blank, blank
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, Dual, level_of, lowered, primal
from ..values.kinds import Instance, List, Variable, describe, is_number, read, show_shape
from ..values.lanes import Group, Lanes
from .access import GETITEM, dict_item, fail_index, list_item, read_index, verify_index
from .apply import apply, to_array
from .instances import refuse_assignment
from .rows.number_kinds import uniform_kind
from .rows.separation import uniform_value

SETITEM = OPS["setitem"]


def write(run: Run, site: Site, array: Any, origin: Any, index: tuple[Any, ...], value: Any) -> Any:
    """The array with `value` at `index`: written in place where the array has no alias, otherwise
    into a copy.

    `array` is the primal and `origin` the (number, segment) of a traced one, or None. The caller
    must hold the only reference to the array, in a local name; its reference count then shows
    whether there is an alias.
    """
    sole = sys.getrefcount(array) <= _SOLE_OWNER
    value = read(value)
    if type(value) is List:
        value = to_array(run, site, value)
    if run.group is not None:
        index = _uniform_masks(run, array, index, value)
    if type(array) is Dual:
        return _write_dual(run, site, array, origin, index, value, sole)
    if type(array) is tuple:  # traced at a lower level, too
        verify_index(run, primal(array), index, site.span)
        return apply(run, site, ((array, *origin), value), {"index": index})
    x = primal(value)
    if Lanes in (type(array), type(x)) or (run.group is not None and Lanes in map(type, index)):
        return _write_lanes(run, site, array, origin, index, value, sole)
    keeps = run.trace.room > 0  # whether the record keeps the array as it was before
    owned = sole and array.base is None and getattr(array.flags, "writeable", True) and not keeps
    _verify_kind(run, site, array, x)
    if any(type(i) is str for i in index):
        run.fail("E303", f"a string is no index of {describe(array)}", site.span)
    if run.backend is not CPU:
        verify_index(run, array, index, site.span)
    # `apply` takes off the boxes in the order of their levels
    if run.level and (origin is not None or level_of(value) != UNBOXED):
        return apply(
            run, site, (array if origin is None else (array, *origin), value), {"index": index}
        )
    y = array if owned else array.copy()
    try:
        y[index] = x
    except IndexError:
        fail_index(run, array, index, site.span)
    except (ValueError, TypeError):
        _fail_shape(run, site, shape_of(x), shape_of(array[index]))
    active = tuple([k for k, v in enumerate((origin, value)) if type(v) is tuple])
    if not active:
        return y
    inputs = [(None, *origin) if k == 0 else value for k in active]
    kept = Blank(y.shape, y.dtype)
    saved = (array, x) if keeps else (kept, blank(x))
    return run.trace.record(site.on(active), inputs, saved, index, kept, y)


def _uniform_masks(run: Run, array: Any, index: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The index with masks that are the same for all rows. Masks may differ between rows where the
    value is one number, as each element is then the number or stays as it was."""
    if (
        len(index) == 1
        and not shape_of(primal(value))
        and shape_of(index[0]) == shape_of(primal(array))
    ):
        return index
    return tuple(
        [uniform_value(run, i) if type(i) is Lanes and i.dtype.kind == "b" else i for i in index]
    )


def _verify_kind(run: Run, site: Site, array: Any, x: Any) -> None:
    """Raises GradcliError (E301, E312) for a value that is no number, or of a wider kind than the
    array's elements."""
    if not is_number(x):
        run.fail(
            "E301",
            f"an element of an array can't be {describe(x)}",
            site.span,
            help="arrays hold numbers only",
        )
    kind, own = dtype_name(x), array.dtype.kind
    if (own in "bi" and kind.startswith(("float", "complex"))) or (
        own == "f" and kind == "complex128"
    ):
        wider = "complex128" if kind == "complex128" else "float64"
        message = f"a {kind} doesn't fit into an element of an array of {array.dtype}"
        run.fail("E312", message, site.span, help=f"make it an array of {wider}: `a = {wider}(a)`")


def _fail_shape(run: Run, site: Site, shape: tuple[int, ...], target: tuple[int, ...]) -> NoReturn:
    message = (
        f"a value of shape {show_shape(shape)} doesn't fit into elements of shape "
        f"{show_shape(target)}"
    )
    run.fail("E302", message, site.span)


def _write_lanes(
    run: Run,
    site: Site,
    array: Any,
    origin: Any,
    index: tuple[Any, ...],
    value: Any,
    sole: bool,
) -> Any:
    """`write` where the array, the index or the value differs between rows."""
    x = primal(value)
    array = uniform_kind(run, array)
    _verify_kind(run, site, array, x)
    verify_index(run, array, index, site.span)
    mine = (
        sole
        and type(array) is Lanes
        and array.array.base is None
        and _holders(array) <= _SOLE_HOLDER
    )
    inplace = (
        mine
        and array.group is run.group
        and array.dtype == getattr(primal(value), "dtype", array.dtype)
    )
    try:
        return apply(
            run,
            site,
            (array if origin is None else (array, *origin), value),
            {"index": index, "inplace": inplace},
        )
    except GradcliError as error:
        if error.diagnostics[0].code == "E320":
            row = tuple([i.array[..., 0] if type(i) is Lanes else i for i in index])
            _fail_shape(run, site, shape_of(x), run.backend.xp.empty(array.shape, bool)[row].shape)
        raise


def _write_dual(
    run: Run,
    site: Site,
    dual: Dual,
    origin: Any,
    index: tuple[Any, ...],
    value: Any,
    sole: bool,
) -> Any:
    """`write` for an array with a tangent; with `sole`, nothing else refers to it."""
    if origin is not None or level_of(value) > dual.level:
        verify_index(run, primal(dual), index, site.span)
        return apply(
            run, site, (dual if origin is None else (dual, *origin), value), {"index": index}
        )
    level = dual.level
    pairs = [
        (dual.primal, lowered(value, level)),
        (dual.tangent, value.tangent if level_of(value) == level else 0.0),
    ]
    if sole:
        dual.primal = dual.tangent = None  # so that each part has only one reference, too
    written = []
    while pairs:
        array, new = pairs.pop()
        origin = None
        if type(array) is tuple:
            array, origin = array[0], array[1:]
        written.append(write(run, site, array, origin, index, new))
    return Dual(written[1], written[0], level)


def _calibrate() -> int:
    """The reference count that `write` sees, on this version of Python, for an array that only its
    caller's local name refers to."""

    def callee(array: Any) -> int:
        return sys.getrefcount(array)

    array = object()
    return callee(array)


def _holders(lanes: Lanes) -> int:
    """The reference count of the array of lanes. A view of it, such as one that a record keeps, is
    a reference."""
    return sys.getrefcount(lanes.array)


_SOLE_OWNER = _calibrate()
_SOLE_HOLDER = _holders(Lanes(object(), Group(0)))
_SOLE_LIST = List([]).holders()


def replace(run: Run, site: Site, container: Any, path: list[Any], value: Any, name: str) -> Any:
    """The container with another entry at `path`; everything else is shared with the old one. Lists
    are changed in place where they have no alias, which is told as in `write`."""
    sole = sys.getrefcount(container) <= _SOLE_OWNER
    step, rest = path[0], path[1:]
    if type(container) is Variable:
        help = "update its state with `:=`, or change a copy of it, which `array(…)` makes"
        run.fail("E312", f"`{name}` holds a variable", site.span, help=help)
    if type(container) is Instance:
        refuse_assignment(run, container, step, site.span)
    if type(container) is List:
        if not isinstance(step, str) and type(step[0]) is Lanes:
            step = (uniform_value(run, step[0]), *step[1:])
        if (
            isinstance(step, str)
            or (len(step) != 1 and not isinstance(step[0], int))
            or type(step[0]) is not int
        ):
            run.fail("E303", "an entry of a list is named by an int", site.span)
        i, rest = step[0], ([step[1:], *rest] if len(step) > 1 else rest)
        help = "indices count from 0; `append(l, v)` gives a longer list"
        old = list_item(run, container, (i,), site.span, help)
        sole = sole and container.holders() <= _SOLE_LIST
        if rest:
            if sole:
                container.replace(i, None, in_place=True)  # so that `old` may have no alias, either
            try:
                value = replace(run, site, old, rest, value, name)
            except BaseException:
                if sole:
                    container.replace(i, old, in_place=True)
                raise
        return container.replace(i, value, sole)
    if type(container) is dict:
        key = step if isinstance(step, str) else step[0]
        if type(key) is not str:
            run.fail("E303", f"a key of a dict is a string, and this is {describe(key)}", site.span)
        if rest:
            old = dict_item(run, container, key, site.span)
            value = replace(run, site, old, rest, value, name)
        return {**container, key: value}
    array, origin = (container[0], container[1:]) if type(container) is tuple else (container, None)
    if not hasattr(primal(array), "ndim") or isinstance(step, str):
        run.fail("E312", f"{describe(container)} has no entries to assign to", site.span)
    if rest:
        inner = read_index(run, Site(GETITEM, site.span), container, step)
        value = replace(run, site, inner, rest, value, name)
    return write(run, site, array, origin, step, value)
