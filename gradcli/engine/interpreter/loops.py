"""`while` and `for`, as closures that return a completion: see `statements.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from ...diagnostics import CallSite, GradcliError, Span, shortened
from ...lang import program
from ..compilation.assignments import compile_target
from ..compilation.compiler import Closure, Compiler, counted
from ..compilation.conditions import compile_condition, deciding
from ..compilation.sequence import Completion, Statement, alive_after, compile_block
from ..lanes.divergence import Exits, divide
from ..lanes.merging import MERGE
from ..lanes.parts import Alive, Split
from ..operations.rows.failing import RowsError
from ..operations.sequences import LAZY, RowRange, Window, iterate
from ..trace.tape import ROOM, SEGMENT_RECORDS, Site
from ..values.boxes import primal
from ..values.kinds import BREAK, CONTINUE, FRAME_HEAD, leaves, read, show
from ..values.lanes import Lanes

_KNOWN = (range, list, Window)  # sequences whose items can be taken some at a time

Step: TypeAlias = Callable[[list[Any], Any], Completion]


def loop_body(c: Compiler, node: program.While | program.For) -> Statement:
    """The closure of the body of a loop; an empty body counts as a step, or `while true { }` would
    never end."""
    if c.counts and not node.body:
        return counted(lambda frame: None, node.span)
    body = compile_block(c, node.body)
    return _noted(body, node.span) if c.keeps_all else body


def _noted(body: Statement, loop: Span) -> Statement:
    """The body of a loop whose iterations are noted by a trace that keeps everything."""

    def noted(frame: list[Any]) -> Completion:
        trace = frame[0].trace
        if not trace.keeps_all:
            return body(frame)
        iteration = trace.begin_iteration(loop)
        completion = body(frame)
        trace.end_iteration(iteration)
        return completion

    return noted


def compile_while(c: Compiler, node: program.While) -> Statement:
    before = c.operations
    condition, body = compile_condition(c, node.condition), loop_body(c, node)
    site, alive = Site(MERGE, node.span), alive_inside(c, node)

    def step(frame: list[Any], item: Any) -> Completion:
        holds = condition(frame)
        if holds is True:
            return body(frame)
        return BREAK if holds is False else divide(frame, holds, body, _leave_loop, site, alive)

    return _loop(c, node, lambda frame: count(), step, c.operations - before)


def _leave_loop(frame: list[Any]) -> Completion:
    return BREAK


def compile_for(c: Compiler, node: program.For) -> Statement:
    before = c.operations
    setter, body = compile_target(c, node.target), loop_body(c, node)
    operations = c.operations - before
    sequence = _compile_sequence(c, node.iterable)
    slot = node.target.slot if isinstance(node.target, program.NameTarget) else None
    if slot is None or slot.cell or slot.index in c.declared:

        def step(frame: list[Any], item: Any) -> Completion:
            setter(frame, item)
            return body(frame)

        return _loop(c, node, sequence, step, operations, _turns(c, node))
    k = slot.index + FRAME_HEAD

    def step_local(frame: list[Any], item: Any) -> Completion:
        frame[k] = item
        return body(frame)

    return _loop(c, node, sequence, step_local, operations, _turns(c, node))


def _turns(c: Compiler, node: program.For) -> Callable[[RowRange, Step], Step]:
    """Yields the turns of a `for` over a range that isn't equally long for all rows."""
    site, alive = Site(MERGE, node.span), alive_inside(c, node)

    def turns(items: RowRange, step: Step) -> Step:
        def turn(frame: list[Any], item: Any) -> Completion:
            holds = items.has(item)
            if holds is True:
                return step(frame, item)
            return (
                BREAK
                if holds is False
                else divide(frame, holds, lambda frame: step(frame, item), _leave_loop, site, alive)
            )

        return turn

    return turns


def alive_inside(c: Compiler, node: program.While | program.For) -> Alive:
    """The slots that may be read after a turn of a loop: in the next one, or after the loop."""
    return alive_after(c, node.body[-1] if node.body else node)


def _loop(
    c: Compiler,
    node: program.While | program.For,
    sequence: Callable[[list[Any]], Iterable[Any]],
    step: Step,
    operations: int,
    turns: Any = None,
) -> Statement:
    """The closure of a loop: `step(frame, item)`, which has so many operations, for each item, up
    to one that breaks or returns."""
    site, alive = Site(MERGE, node.span), alive_inside(c, node)
    long, is_while = c.handlers.hot_loop(c, node), isinstance(node, program.While)

    def loop(frame: list[Any]) -> Completion:
        items = sequence(frame)
        if long is not None and frame[0].group is None and (is_while or type(items) in _KNOWN):
            completion = long.run(frame, items, through)
        else:
            completion = through(frame, items)
        return None if completion == BREAK else completion

    def through(frame: list[Any], items: Iterable[Any]) -> Completion:
        trace = frame[0].trace
        exits, staying = None, True
        began = turn = trace.limit  # see Note [Turning over] in tape.py
        go = turns(items, step) if type(items) is RowRange else step
        ended: Completion = None  # how the loop ends, and after how many iterations
        iterations = 0
        for item in items:
            iterations += 1
            if trace.limit > turn or trace.number > trace.limit - ROOM:
                trace.turn_over()
            turn = trace.number + SEGMENT_RECORDS
            try:
                completion = go(frame, item)
            except GradcliError as error:
                raise with_turn(error, node, item) from None
            if completion is not None and completion != CONTINUE:
                if type(completion) is Split:
                    exits = exits or Exits(frame, site, alive)
                    staying = exits.stay(frame, completion)
                    if staying:
                        continue
                    break
                ended, staying = completion, True
                break
        frame[0].work += iterations * (1 + operations)
        if exits is not None:
            return exits.rejoin(frame, ended, staying)
        if trace.limit > began and ended in (None, BREAK):
            trace.turn_over()
        return ended

    return loop


def with_turn(error: GradcliError, node: program.While | program.For, item: Any) -> GradcliError:
    """The error with the turn of a loop added to what led to it: where the loop is, and what it was
    at: the values of its names, or of `while`, whose items count from 0, the number of the
    iteration."""
    if isinstance(node, program.While):
        turn = f", in iteration {item + 1}"
    else:
        names = ", ".join([target.slot.name for target in _names(node.target)])
        items = item if isinstance(node.target, program.ListTarget) else [item]
        if isinstance(error, RowsError) and any(map(_differs, items)):
            error = error.without_rows()
        values = ", ".join([shortened(" ".join(show(value).split())) for value in items])
        turn = f", where {names} is {values}"
    loop = CallSite("", node.span, turn)
    error.diagnostics[:] = [replace(d, calls=(*d.calls, loop)) for d in error.diagnostics]
    return error


def _differs(value: Any) -> bool:
    """Whether a value differs between rows."""
    return any(type(primal(read(part))) is Lanes for part in leaves(value))


def _names(target: program.Target) -> list[program.NameTarget]:
    parts = target.items if isinstance(target, program.ListTarget) else (target,)
    return [part for part in parts if isinstance(part, program.NameTarget)]


def _compile_part(c: Compiler, node: program.Expression) -> Closure:
    """The closure of a sequence that `zip` or `enumerate` goes over, which may be such a call
    itself."""
    is_lazy = isinstance(node, program.Apply) and node.op.name in ("zip", "enumerate")
    return _compile_sequence(c, node) if is_lazy else c.expression(node)


def _compile_sequence(c: Compiler, node: program.Expression) -> Closure:
    """The closure of the sequence that a `for` goes over. For `range`, `zip` and `enumerate` no
    list is made."""
    if isinstance(node, program.Apply) and node.op.name in LAZY:
        lazy, site = LAZY[node.op.name], Site(node.op, node.span)
        given = [o for o in node.operands if o is not None]
        if node.op.name == "range":
            operands = [deciding(c, c.expression(o), node.span) for o in given]
        else:
            operands = [_compile_part(c, o) for o in given]
        return lambda frame: lazy(frame[0], site, [operand(frame) for operand in operands])
    value, span = c.value(node), node.span
    return lambda frame: iterate(frame[0], value(frame), span)
