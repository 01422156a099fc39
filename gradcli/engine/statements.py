"""Statements as closures that return a completion: None (go on), BREAK, CONTINUE or RETURN; never an exception.

Rows that run together (`lanes.py`) may end a statement differently: then the completion is a `Split` (`divergence.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ..diagnostics import GradcliError, Span, said
from ..lang import program
from . import attached, builtins, declarations, loops, outcomes, own_functions, tapes, writing
from .apply import apply
from .by_rows import part_off
from .changes import note, take_back
from .compiler import Closure, Compiler
from .divergence import MERGE, Split, alive_after, divide
from .expressions import compile_condition, compile_expression, compile_value
from .paths import compile_assigned, compile_result
from .tape import Site
from .values import BREAK, CONTINUE, FRAME_HEAD, RESULT, RETURN, Variable, describe, read, show

Completion: TypeAlias = "int | Split | None"
Statement: TypeAlias = Callable[[list[Any]], Completion]
Step: TypeAlias = Callable[[list[Any], Any], Completion]
Setter: TypeAlias = Callable[[list[Any], Any], None]


def compile_body(c: Compiler, body: tuple[program.Statement, ...]) -> Closure:
    """A function's body: `frame -> the value it returns`, none if it doesn't."""
    if len(body) == 1 and isinstance(body[0], program.Return) and body[0].value is not None and not (c.counts or c.keeps_all):
        return compile_result(c, body[0].value)
    run = compile_block(c, body)

    def call(frame: list[Any]) -> Any:
        completion = run(frame)
        if type(completion) is Split:
            return completion.returned(frame)
        return None if completion is None else frame[RESULT]

    return call


def compile_block(c: Compiler, body: tuple[program.Statement, ...]) -> Statement:
    """Statements one after the other, up to the first that doesn't end normally."""
    statements = [compile_statement(c, s) for s in body]
    if len(statements) == 1:
        return statements[0]

    alive = alive_after(c, body[-1]) if body else frozenset

    def block(frame: list[Any]) -> Completion:
        rest = iter(statements)
        for statement in rest:
            completion = statement(frame)
            if completion is not None:
                return completion.then(frame, rest, alive) if type(completion) is Split else completion
        return None

    return block


def compile_statement(c: Compiler, node: program.Statement) -> Statement:
    statement = _COMPILE[type(node)](c, node)
    if c.keeps_all:
        statement = _noted(statement, id(node))
    if c.settings.tracks:
        statement = _tracked(statement, node.span)
    return counted(statement, node.span) if c.counts else statement


def counted(statement: Statement, span: Span) -> Statement:
    def counted(frame: list[Any]) -> Completion:
        run = frame[0]
        run.steps += 1
        if run.steps > run.settings.max_steps:
            run.fail(
                "E403", f"the limit of {run.settings.max_steps} steps is reached", span,
                help="a step is one statement executed; raise it with --max-steps",
            )  # fmt: skip
        return statement(frame)

    return counted


def _tracked(statement: Statement, span: Span) -> Statement:
    def tracked(frame: list[Any]) -> Completion:
        frame[0].place = span
        return statement(frame)

    return tracked


def _noted(statement: Statement, key: int) -> Statement:
    def noted(frame: list[Any]) -> Completion:
        frame[0].executed.add(key)
        return statement(frame)

    return noted


# ---- assignment ------------------------------------------------------------------------------------------------------


def compile_target(c: Compiler, target: program.Target) -> Setter:
    """How a value gets into a target: `(frame, value)`."""
    if isinstance(target, program.NameTarget):
        return _compile_name(c, target)
    if isinstance(target, program.EntryTarget):
        return writing.compile_entry_write(c, target)
    setters = [compile_target(c, item) for item in target.items]

    def unpack(frame: list[Any], value: Any) -> None:
        items = list(builtins.iterate(frame[0], value, target.span))
        if len(items) != len(setters):
            frame[0].fail(
                "E315", f"{len(items)} values for {len(setters)} names", target.span, f"the right side is {describe(value)}"
            )
        for setter, item in zip(setters, items, strict=True):
            setter(frame, item)

    return unpack


def _compile_name(c: Compiler, target: program.NameTarget) -> Setter:
    k, cell, path, span = target.slot.index + FRAME_HEAD, target.slot.cell, c.path(target.slot), target.span
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
            part_off(frame[0])
            frame[0].replaced.setdefault(old.name, (old, span))
            value = read(value) if type(value) is Variable and value.kind == "const" else value
        holder[at] = value

    return assign


def _assign(c: Compiler, node: program.Assign) -> Statement:
    target = node.target
    value = compile_assigned(c, target, node.value)
    if isinstance(target, program.NameTarget) and not target.slot.cell and target.slot.index not in c.declared:
        k = target.slot.index + FRAME_HEAD

        def assign_local(frame: list[Any]) -> None:
            frame[k] = value(frame)

        return assign_local
    setter = compile_target(c, target)
    return lambda frame: setter(frame, value(frame))


def _augment(c: Compiler, node: program.Augment) -> Statement:
    site, value = Site(node.op, node.span), compile_value(c, node.value)
    if isinstance(node.target, program.NameTarget):
        current = compile_value(c, program.Read(node.target.slot, checked=True, span=node.target.span))
        setter = compile_target(c, node.target)
        return lambda frame: setter(frame, apply(frame[0], site, (current(frame), value(frame))))
    write = writing.compile_entry_write(c, node.target)
    entry = writing.compile_entry_read(c, node.target)
    return lambda frame: write(frame, apply(frame[0], site, (entry(frame), value(frame))))


# ---- control flow ----------------------------------------------------------------------------------------------------


def _if(c: Compiler, node: program.If) -> Statement:
    branches = [(compile_condition(c, condition), compile_block(c, body)) for condition, body in node.branches]
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


# ---- the rest --------------------------------------------------------------------------------------------------------


def _evaluate(c: Compiler, node: program.Evaluate) -> Statement:
    value = compile_expression(c, node.value)

    def evaluate(frame: list[Any]) -> None:
        value(frame)

    return evaluate


def _print(c: Compiler, node: program.Print) -> Statement:
    items = [compile_expression(c, item) for item in node.items]
    return lambda frame: frame[0].printed.append(" ".join([show(item(frame)) for item in items]))


def _output(c: Compiler, node: program.Output) -> Statement:
    items = [(name, compile_value(c, value)) for name, value in node.items]

    def output(frame: list[Any]) -> None:
        for name, value in items:
            result = value(frame)
            note(frame[0], ("output", name))
            frame[0].outputs[name] = result

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
                    raise  # which of the rows it is of, they say one by one
                run.group = group
                take_back(run, divisions)
                text = "\n".join(said(d) for d in error.diagnostics)
        if not text:
            message = f'expected an error that says "{node.message}", and there was none'
        elif node.message not in text:
            message = f'expected an error that says "{node.message}", and it said: {text.splitlines()[0]}'
        else:
            message = ""
        outcomes.note(run, line, message, node.span)

    return expect


def _import(c: Compiler, node: program.Import) -> Statement:
    from .evaluator import compile_program, run_import

    k = node.slot.index + FRAME_HEAD
    key = id(node.program)
    if key not in c.imports:
        c.imports[key] = compile_program(
            c.settings, node.program, c.keeps_all, c.imports, f"{c.prefix}{node.slot.name}.", c.places, c.fuses
        )
    compiled = c.imports[key]
    c.derives = c.derives or compiled.derives
    c.asks, c.rules = c.asks or compiled.asks, c.rules or compiled.rules

    def load(frame: list[Any]) -> None:
        part_off(frame[0])
        namespace = run_import(frame[0], compiled, node)
        if node.slot.cell:
            frame[k][0] = namespace
        else:
            frame[k] = namespace

    return load


_COMPILE: dict[type, Callable[[Compiler, Any], Statement]] = {
    program.Declare: declarations.compile_declare,
    program.Assign: _assign,
    program.Augment: _augment,
    program.Update: declarations.compile_update,
    program.Evaluate: _evaluate,
    program.If: _if,
    program.While: loops.compile_while,
    program.For: loops.compile_for,
    program.Break: lambda c, node: lambda frame: BREAK,
    program.Continue: lambda c, node: lambda frame: CONTINUE,
    program.Return: _return,
    program.Print: _print,
    program.Output: _output,
    program.Expect: outcomes.compile_expect,
    program.ExpectError: _expect_error,
    program.Import: _import,
    program.Tape: tapes.compile_tape,
    program.Watch: tapes.compile_watch,
    program.Pause: tapes.compile_pause,
    program.Record: attached.compile_record,
    program.Attach: attached.compile_attach,
    program.Backward: own_functions.compile_backward,
}
