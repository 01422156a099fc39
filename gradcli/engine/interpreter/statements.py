"""Statements as closures that return a completion: None (go on), BREAK, CONTINUE or RETURN; never
an exception.

Rows that run together (`lanes.py`) may end a statement differently: then the completion is a
`Split` (`divergence.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...diagnostics import GradcliError, said
from ...lang import program
from ..calls import functions
from ..compilation.assignments import (
    compile_entry_read,
    compile_entry_write,
    compile_target,
    compile_update,
)
from ..compilation.compiled import compile_program, run_import
from ..compilation.compiler import Compiler
from ..compilation.conditions import compile_condition
from ..compilation.declarations import compile_declare
from ..compilation.paths import compile_assigned, compile_result
from ..compilation.sequence import Completion, Statement, alive_after, compile_block
from ..lanes.divergence import divide
from ..lanes.merging import MERGE
from ..operations.apply import apply
from ..operations.rows.separation import separate_running_rows
from ..trace.changes import note, take_back
from ..trace.tape import Site
from ..values.contents import snapshot
from ..values.kinds import (
    BREAK,
    CONTINUE,
    FRAME_HEAD,
    RESULT,
    RETURN,
    map_structure,
    read,
    set_slot,
    show,
)
from . import expectations, loops, recorders
from .texts import compile_shown

# ---- assignment ----------------------------------------------------------------------------------


def _assign(c: Compiler, node: program.Assign) -> Statement:
    target = node.target
    value = compile_assigned(c, target, node.value)
    if (
        isinstance(target, program.NameTarget)
        and not target.slot.cell
        and target.slot.index not in c.declared
    ):
        k = target.slot.index + FRAME_HEAD

        def assign_local(frame: list[Any]) -> None:
            frame[k] = value(frame)

        return assign_local
    setter = compile_target(c, target)
    return lambda frame: setter(frame, value(frame))


def _augment(c: Compiler, node: program.Augment) -> Statement:
    site, value = Site(node.op, node.span), c.value(node.value)
    if isinstance(node.target, program.NameTarget):
        current = c.value(program.Read(node.target.slot, checked=True, span=node.target.span))
        setter = compile_target(c, node.target)
        return lambda frame: setter(frame, apply(frame[0], site, (current(frame), value(frame))))
    write = compile_entry_write(c, node.target)
    entry = compile_entry_read(c, node.target)
    return lambda frame: write(frame, apply(frame[0], site, (entry(frame), value(frame))))


# ---- control flow --------------------------------------------------------------------------------


def _if(c: Compiler, node: program.If) -> Statement:
    branches = [
        (compile_condition(c, condition), compile_block(c, body))
        for condition, body in node.branches
    ]
    otherwise = compile_block(c, node.otherwise)
    site, alive = Site(MERGE, node.span), alive_after(c, node)

    def branch(frame: list[Any], first: int = 0) -> Completion:
        for condition, body in branches[first:] if first else branches:
            holds = condition(frame)
            if holds is True:
                return body(frame)
            if holds is not False:
                others = partial(branch, first=branches.index((condition, body)) + 1)
                return divide(frame, holds, body, others, site, alive)
        return otherwise(frame)

    return branch


def _return(c: Compiler, node: program.Return) -> Statement:
    value = compile_result(c, node.value) if node.value is not None else lambda frame: None

    def leave(frame: list[Any]) -> Completion:
        frame[RESULT] = value(frame)
        return RETURN

    return leave


# ---- the rest ------------------------------------------------------------------------------------


def _evaluate(c: Compiler, node: program.Evaluate) -> Statement:
    value = c.expression(node.value)

    def evaluate(frame: list[Any]) -> None:
        value(frame)

    return evaluate


def _print(c: Compiler, node: program.Print) -> Statement:
    items = [compile_shown(c, item) for item in node.items]

    def print_them(frame: list[Any]) -> None:
        run, values = frame[0], [item(frame) for item in items]
        run.printed.append(" ".join([show(value) for value in values]))
        if run.group is None:  # who prints for many rows has no listener
            run.printed_values.append([snapshot(value) for value in values])

    return print_them


def _output(c: Compiler, node: program.Output) -> Statement:
    items = [(name, c.value(value), value.span) for name, value in node.items]

    def output(frame: list[Any]) -> None:
        for name, value, span in items:
            result = value(frame)
            note(frame[0], ("output", name))
            try:
                # Variables in a list are the states that they have now, as a variable alone is.
                frame[0].outputs[name] = map_structure(read, result)
            except GradcliError as error:  # it nests too deep
                raise error.at(span) from None

    return output


def _expect_error(c: Compiler, node: program.ExpectError) -> Statement:
    body = compile_block(c, node.body) if not node.found else None
    line = node.span.line

    def expect(frame: list[Any]) -> None:
        run, text = frame[0], node.found
        if body is not None:
            group, divisions = run.group, len(run.changes)
            try:
                body(frame)
            except GradcliError as error:
                if run.parts_rows and group is not None and group.size > 1:
                    # only a row by itself tells whether it has the error
                    raise GradcliError(*error.diagnostics) from None
                run.group = group
                take_back(run, divisions)
                text = "\n".join(said(d) for d in error.diagnostics)
        if not text:
            message = f'expected an error that says "{node.message}", and there was none'
        elif node.message not in text:
            message = (
                f'expected an error that says "{node.message}", and it said: {text.splitlines()[0]}'
            )
        else:
            message = ""
        expectations.note(run, line, message, node.span)

    return expect


def _import(c: Compiler, node: program.Import) -> Statement:
    key = id(node.program)
    if key not in c.imports:
        c.imports[key] = compile_program(
            c.handlers,
            c.settings,
            node.program,
            c.keeps_all,
            c.imports,
            f"{c.prefix}{node.slot.name}.",
            c.places,
        )
    compiled = c.imports[key]
    c.asks, c.rules = c.asks or compiled.asks, c.rules or compiled.rules

    def load(frame: list[Any]) -> None:
        separate_running_rows(frame[0])
        namespace = run_import(frame[0], compiled, node)
        set_slot(frame, node.slot, namespace)

    return load


STATEMENTS: dict[type, Callable[[Compiler, Any], Statement]] = {
    program.Declare: compile_declare,
    program.Assign: _assign,
    program.Augment: _augment,
    program.Update: compile_update,
    program.Evaluate: _evaluate,
    program.If: _if,
    program.While: loops.compile_while,
    program.For: loops.compile_for,
    program.Break: lambda c, node: lambda frame: BREAK,
    program.Continue: lambda c, node: lambda frame: CONTINUE,
    program.Return: _return,
    program.Print: _print,
    program.Output: _output,
    program.Expect: expectations.compile_expect,
    program.ExpectError: _expect_error,
    program.Import: _import,
    program.Tape: recorders.compile_tape,
    program.Watch: recorders.compile_watch,
    program.Pause: recorders.compile_pause,
    program.Record: recorders.compile_record,
    program.Attach: recorders.compile_attach,
    program.Backward: functions.compile_backward,
}
