"""Declarations: `var`, `frozen` and `const` at the top level and in modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...ops import OPS
from ..analysis.declared import declared_names
from ..operations.apply import to_array
from ..operations.list_arrays import plain_array
from ..operations.rows.separation import separate_running_rows
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..values.boxes import primal
from ..values.contents import contents
from ..values.kinds import Instance, List, Variable, describe, is_number, read, set_slot
from .compiler import Compiler
from .declared_types import typed
from .given_values import from_outside
from .paths import compile_part

STACK = OPS["stack"]


def compile_declare(c: Compiler, node: program.Declare) -> Callable[[list[Any]], None]:
    slot, name = node.slot, node.slot.name
    value = None if node.value is None else compile_part(c, node.value)
    ends = (
        []
        if node.domain is None
        else [c.expression(end) for end in (node.domain.low, node.domain.high)]
    )
    path_of, in_module = c.path(node.slot), c.in_module

    def declare(frame: list[Any]) -> None:
        run, path = frame[0], path_of(frame)
        separate_running_rows(run)
        given = None if value is None else value(frame, path)
        if node.kind == "const" and path not in run.inputs and node.type is None:
            given = _with_history(run, given, node)
            if primal(given) is not given:  # a constant name for a value that depends on variables
                set_slot(frame, slot, given)
                return
        state = None if value is None else _own(run, given, node)
        if state is not None and node.type is not None:
            state = typed(run, state, node.type, node, "E313")
        if path in run.inputs:
            state = from_outside(run, path, run.inputs[path], state, node)
        elif value is None:
            run.fail(
                "E004",
                f"`{path}` has no value",
                node.span,
                f"it must come from outside{_and_others(run, path)}",
                node.meant
                or (
                    f"give it with `--set {path}=…` or `--inputs FILE`, or write `{node.kind} "
                    f"{name} = …`"
                ),
            )
        if node.kind != "const" and not is_number(state):
            _refuse_instances(run, state, node)
        variable: Any = Variable(path, node.kind, node.span, state)
        if node.kind == "const" and not (
            run.trace.keeps_all and (is_number(state) or type(state) is str)
        ):
            variable = state
        else:
            attach(run, variable)
            if node.domain is not None and run.domains is not None:
                low, high = (primal(read(end(frame))) for end in ends)
                run.domains.append((variable, low, high, node.domain.span))
            if not in_module:  # whoever holds an instance holds its variables
                run.declared[path] = variable
        set_slot(frame, slot, variable)

    return declare


def _and_others(run: Run, path: str) -> str:
    """What else the program needs from outside, and isn't given."""
    needed = dict.fromkeys(declared_names(run.compiled.program, needed=True))
    others = [f"`{name}`" for name in needed if name != path and name not in run.inputs]
    return f", and so must {', '.join(others)}" if others else ""


def _refuse_instances(run: Run, state: Any, node: program.Declare) -> None:
    for _, part in contents(state, ""):
        if type(part) is Instance:
            help = f"write `{node.slot.name} = …`: the variables are in the instance"
            run.fail(
                "E312", f"the state of a variable can't hold {describe(part)}", node.span, help=help
            )


def _with_history(run: Run, value: Any, node: program.Declare) -> Any:
    """The value of a `const` as it is, or as an array if it is a list of numbers."""
    value = read(value)
    if type(value) is List and not _holds_things(value):
        return to_array(run, Site(STACK, node.span), value)
    return value


def _own(run: Run, value: Any, node: program.Declare) -> Any:
    """Takes the history off a declared value, and makes a list of numbers an array."""
    value = primal(read(value))
    if type(value) is List and not _holds_things(value):
        return plain_array(run, value, lambda m, h: run.fail("E302", m, node.span, help=h))
    return value


def _holds_things(value: List) -> bool:
    """Whether a list holds anything but numbers, so that it stays a list (of variables, strings,
    …)."""
    return any(
        _holds_things(i) if type(i) is List else not is_number(primal(i)) for i in value.items
    )
