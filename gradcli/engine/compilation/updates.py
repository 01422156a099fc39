"""Updates of variables: `x := v`, `x :-= v`, `x[i] := v`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...ops import OPS
from ..backends.backend import dtype_name, shape_of
from ..operations.access import read_index
from ..operations.apply import apply
from ..operations.list_arrays import plain_array
from ..operations.writing import write
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..values.boxes import primal
from ..values.kinds import UNSET, List, Variable, describe, is_number, read, show_shape
from .compiler import Compiler
from .declared_types import cast, fits
from .indexing import compile_items

SETITEM = OPS["setitem"]


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
