"""Statements one after the other, and the bodies of functions that they make: see `statements.py`
for completions."""

from __future__ import annotations

from collections.abc import Callable
from operator import length_hint
from typing import Any, TypeAlias

from ...diagnostics import GradcliError
from ...lang import program
from ..lanes.parts import Alive, Split
from ..trace.run import Run
from ..values.kinds import RESULT
from .compiler import Closure, Compiler
from .paths import compile_result

Completion: TypeAlias = "int | Split | None"
Statement: TypeAlias = Callable[[list[Any]], Completion]


def compile_body(c: Compiler, body: tuple[program.Statement, ...]) -> Closure:
    """The closure of a function's body: `frame -> returned value`, none if it returns nothing."""
    if (
        len(body) == 1
        and isinstance(body[0], program.Return)
        and body[0].value is not None
        and not (c.counts or c.keeps_all)
    ):
        return compile_result(c, body[0].value)
    run = compile_block(c, body)

    def call(frame: list[Any]) -> Any:
        completion = run(frame)
        if type(completion) is Split:
            return completion.returned(frame)
        return None if completion is None else frame[RESULT]

    return call


def compile_block(c: Compiler, body: tuple[program.Statement, ...]) -> Statement:
    """The closure of a block: it runs its statements in order, up to the first that doesn't end
    normally. An error that doesn't say where it is, is at the statement that raised it."""
    statements = [c.statement(s) for s in body]
    if len(statements) == 1:
        return statements[0]

    alive = alive_after(c, body[-1]) if body else frozenset

    def block(frame: list[Any]) -> Completion:
        rest = iter(statements)
        try:
            for statement in rest:
                completion = statement(frame)
                if completion is not None:
                    return (
                        completion.then(frame, rest, alive)
                        if type(completion) is Split
                        else completion
                    )
        except GradcliError as error:
            _locate(error, frame[0], body[~length_hint(rest)])
            raise
        return None

    return block


def _locate(error: GradcliError, run: Run, node: program.Statement) -> None:
    """Has an error say in which statement it came up: the one that a limit struck, or in a loop the
    only one that it repeats."""
    while isinstance(node, program.For | program.While) and len(node.body) == 1:
        node = node.body[0]
    error.at(run.place or node.span)


def alive_after(c: Compiler, node: program.Statement) -> Alive:
    """The slots that may be read after a statement; all of them in a frame whose names are seen
    from outside."""
    liveness = c.liveness
    return (lambda: None) if liveness is None else lambda: liveness.after(node)
