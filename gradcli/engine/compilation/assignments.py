"""Assignments: how a value gets into names and elements, and into the state of a variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...lang import program
from ...ops import OPS
from ..backends.backend import dtype_name, shape_of
from ..operations.access import GETITEM, member, read_index
from ..operations.apply import apply
from ..operations.list_arrays import plain_array
from ..operations.rows.separation import separate_running_rows
from ..operations.sequences import iterate
from ..operations.writing import SETITEM, replace, write
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..values.boxes import primal
from ..values.kinds import FRAME_HEAD, UNSET, List, Variable, describe, is_number, read, show_shape
from .compiler import Closure, Compiler
from .declarations import cast, fits
from .indexing import compile_items

# ---- targets -------------------------------------------------------------------------------------


Setter: TypeAlias = Callable[[list[Any], Any], None]


def compile_target(c: Compiler, target: program.Target) -> Setter:
    """The closure `(frame, value)` that assigns a value to a target."""
    if isinstance(target, program.NameTarget):
        return _compile_name(c, target)
    if isinstance(target, program.EntryTarget):
        return compile_entry_write(c, target)
    setters = [compile_target(c, item) for item in target.items]

    def unpack(frame: list[Any], value: Any) -> None:
        items = list(iterate(frame[0], value, target.span))
        if len(items) != len(setters):
            frame[0].fail(
                "E315",
                f"{len(items)} values for {len(setters)} names",
                target.span,
                f"the right side is {describe(value)}",
            )
        for setter, item in zip(setters, items, strict=True):
            setter(frame, item)

    return unpack


def _compile_name(c: Compiler, target: program.NameTarget) -> Setter:
    k = target.slot.index + FRAME_HEAD
    cell = target.slot.cell
    path = c.path(target.slot)
    span = target.span
    if target.slot.index not in c.declared:

        def assign_plain(frame: list[Any], value: Any) -> None:
            if cell:
                frame[k][0] = value
            else:
                frame[k] = value

        return assign_plain

    def assign(frame: list[Any], value: Any) -> None:
        holder, at = (frame[k], 0) if cell else (frame, k)
        old = holder[at]
        if type(old) is Variable and old is not value and old.name == path(frame):
            separate_running_rows(frame[0])
            frame[0].replaced.setdefault(old.name, (old, span))
            value = read(value) if type(value) is Variable and value.kind == "const" else value
        holder[at] = value

    return assign


def compile_entry_write(
    c: Compiler, target: program.EntryTarget
) -> Callable[[list[Any], Any], None]:
    """The closure `(frame, value)` of `a[i] = v`, `d.k = v` or `l[i].k = v` on a local name, which
    replaces the entry."""
    k, cell = target.slot.index + FRAME_HEAD, target.slot.cell
    steps = [step if isinstance(step, str) else compile_items(c, step) for step in target.path]
    site, name = Site(SETITEM, target.span), target.slot.name
    is_parameter = target.slot.index in c.parameters

    def assign(frame: list[Any], value: Any) -> None:
        path = [step if isinstance(step, str) else step(frame) for step in steps]
        holder, at = (frame[k], 0) if cell else (frame, k)
        root = holder[at]
        if root is UNSET:
            frame[0].fail(
                "E307",
                f"`{name}` has no value yet",
                target.span,
                help=f"assign `{name}` before its elements",
            )
        if is_parameter:
            # the function's own from here on; the variable that was passed keeps its state
            root = read(root)
        array, origin = (root[0], root[1:]) if type(root) is tuple else (root, None)
        if len(path) == 1 and hasattr(primal(array), "ndim"):
            holder[at] = UNSET
            del root  # from here on `array` is the only name for it, unless somebody else holds it
            try:
                holder[at] = write(frame[0], site, array, origin, path[0], value)  # type: ignore[arg-type]
            except BaseException:
                holder[at] = array if origin is None else (array, *origin)
                raise
        else:
            holder[at] = UNSET
            del array
            try:
                holder[at] = replace(frame[0], site, root, path, value, name)
            except BaseException:
                holder[at] = root
                raise

    return assign


def compile_entry_read(c: Compiler, target: program.EntryTarget) -> Closure:
    """The closure of the entry that an augmented assignment starts from."""
    k, cell = target.slot.index + FRAME_HEAD, target.slot.cell
    steps = [step if isinstance(step, str) else compile_items(c, step) for step in target.path]
    site = Site(GETITEM, target.span)

    def read_entry(frame: list[Any]) -> Any:
        value = frame[k][0] if cell else frame[k]
        if value is UNSET:
            frame[0].fail("E307", f"`{target.slot.name}` has no value yet", target.span)
        for step in steps:
            if isinstance(step, str):
                value = member(frame[0], value, step, target.span)
            else:
                value = read_index(frame[0], site, value, step(frame))
        return value

    return read_entry


# ---- updates of variables: `x := v`, `x :-= v`, `x[i] := v` --------------------------------------


def compile_update(c: Compiler, node: program.Update) -> Callable[[list[Any]], None]:
    """The closure of `x := v`, `x :-= v` or `x[i] := v`, where x is any expression that denotes a
    variable."""
    value = c.value(node.value)
    denoted = c.expression(node.variable)
    owner = c.expression(node.variable.object) if isinstance(node.variable, program.Index) else None
    items = (
        compile_items(c, node.variable.items) if isinstance(node.variable, program.Index) else None
    )
    op_site = Site(node.op, node.span) if node.op is not None else None

    def update(frame: list[Any]) -> None:
        run = frame[0]
        index: Any = None
        variable: Any = UNSET
        if owner is not None and items is not None:
            holder = owner(frame)
            if type(holder) is Variable:
                variable, index = holder, items(frame)
        if variable is UNSET:
            variable = denoted(frame)
        if type(variable) is not Variable or variable.kind in ("const", "watched"):
            what = (
                "a constant"
                if type(variable) is Variable and variable.kind == "const"
                else describe(variable)
            )
            run.fail(
                "E312",
                f"`:=` updates a variable, and this is {what}",
                node.span,
                help=_meant(node.variable),
            )
        new = value(frame)
        if op_site is not None:
            old = variable.box if index is None else _element(run, node, variable, index)
            # a state has no history, so what leads to it needs none
            if not run.trace.keeps_all:
                old, new = primal(old), primal(new)
            new = apply(run, op_site, (old, new))
        _set_state(run, variable, new, index, node)

    return update


def _meant(node: program.Expression) -> str:
    if isinstance(node, program.Member) and node.name == "grad":
        return f"`attach_grad({node.object.span.text})` sets it back to zeros"
    return "declare it with `var`"


def _element(run: Run, node: program.Update, variable: Variable, index: Any) -> Any:
    return read_index(run, Site(OPS["getitem"], node.span), variable, index)


def _set_state(run: Run, variable: Variable, new: Any, index: Any, node: program.Update) -> None:
    traced = new
    new = _plain_state(run, new, node)
    old = variable.state
    if index is not None:
        if not hasattr(old, "ndim"):
            run.fail(
                "E303", f"`{variable.name}` is {describe(old)}, and has no elements", node.span
            )
        new = write(run, Site(SETITEM, node.span), old, None, index, new)
    elif not _are_alike(old, new) and is_number(old):
        if shape_of(new) != shape_of(old):
            run.fail(
                "E313",
                (
                    f"`{variable.name}` has shape {show_shape(shape_of(old))}, and the new state "
                    f"{show_shape(shape_of(new))}"
                ),
                node.span,
                help="a variable keeps its shape; to give the name another value use `=`",
            )
        if dtype_name(new) != dtype_name(old):
            if not fits(new, dtype_name(old)):
                run.fail(
                    "E313",
                    f"`{variable.name}` is {dtype_name(old)}, and the new state {describe(new)}",
                    node.span,
                )
            new = cast(run, new, dtype_name(old))
    note(run, variable)
    variable.state = new
    attach(run, variable)
    if isinstance(run.trace, KeepingTrace):
        run.trace.left(variable.number, traced, node.span, "update")


def _are_alike(a: Any, b: Any) -> bool:
    """Whether two values are of one kind, shape and dtype, as far as their types show."""
    kind = type(a)
    return type(b) is kind and (
        kind is float or (hasattr(a, "dtype") and a.dtype is b.dtype and a.shape == b.shape)
    )


def _plain_state(run: Run, value: Any, node: program.Update) -> Any:
    value = primal(read(value))
    if type(value) is List:
        return plain_array(run, value, lambda m, h: run.fail("E302", m, node.span, help=h))
    if not is_number(value) and type(value) is not str:
        run.fail("E312", f"the state of a variable can't be {describe(value)}", node.span)
    return value
