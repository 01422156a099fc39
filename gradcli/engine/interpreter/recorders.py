"""`tape`, `watch`, `pause`, `record` and `attach_grad` as closures: statements that open windows on
the trace."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from ...diagnostics import Span
from ...lang import program
from ..compilation.compiler import Closure, Compiler
from ..compilation.conditions import truth
from ..compilation.sequence import compile_block
from ..operations.list_arrays import plain_array
from ..trace.run import Run
from ..trace.windows import Window
from ..transforms.attached import attach, recorded
from ..transforms.tape_members import unwatch, watch
from ..values.kinds import List, Tape, Variable, describe, is_number, set_slot


def compile_tape(c: Compiler, node: program.Tape) -> Closure:
    c.asks = c.asks or c.in_function
    options = [(name, c.value(value), value.span) for name, value in node.options]
    body = compile_block(c, node.body)

    def run_tape(frame: list[Any]) -> Any:
        run = frame[0]
        watches, persistent = True, False
        for name, value, span in options:
            if name == "persistent":
                persistent = truth(run, value(frame), span)
            else:
                watches = truth(run, value(frame), span)
        window = Window(run.trace, node.slot.name, watches, persistent)
        set_slot(frame, node.slot, Tape(window))
        run.trace.open(window)
        try:
            return body(frame)
        finally:
            run.trace.close(window)
            if window.watched:
                unwatch(run, window)

    return run_tape


def compile_watch(c: Compiler, node: program.Watch) -> Closure:
    items = [(c.expression(value), slot, value.span) for value, slot in node.items]
    tape = None if node.tape is None else c.expression(node.tape)

    def run_watch(frame: list[Any]) -> None:
        run = frame[0]
        window = next(w for w in reversed(run.trace.windows) if type(w) is Window)
        if tape is not None:
            value = tape(frame)
            if type(value) is not Tape:
                run.fail(
                    "E309",
                    f"{describe(value)} has no member `watch`",
                    node.span,
                    help="only tapes do; or write `watch x`",
                )
            window = value.window
        for item, slot, span in items:
            value = item(frame)
            if type(value) is List and not any(type(i) is Variable for i in value):
                value = plain_array(run, value, partial(_fail_list, run, span))
            if slot is not None and (is_number(value) or type(value) is str):
                value = Variable(slot.name, "watched", span, value)
                set_slot(frame, slot, value)
            watch(run, window, value, span)

    return run_watch


def _fail_list(run: Run, span: Span, message: str, help: str) -> NoReturn:
    run.fail("E302", message, span, help=help)


def compile_pause(c: Compiler, node: program.Pause) -> Closure:
    body = compile_block(c, node.body)

    def run_pause(frame: list[Any]) -> Any:
        run = frame[0]
        outside, run.paused = run.paused, run.level
        traces = run.traces()
        paused = [trace.pause(list(trace.windows)) for trace in traces]
        try:
            return body(frame)
        finally:
            run.paused = outside
            for trace, windows in zip(traces, paused, strict=True):
                trace.resume(windows)

    return run_pause


def compile_record(c: Compiler, node: program.Record) -> Closure:
    c.asks = c.asks or c.in_function
    body = compile_block(c, node.body)
    return lambda frame: recorded(frame[0], lambda: body(frame))


def compile_attach(c: Compiler, node: program.Attach) -> Closure:
    value, span, slot = c.expression(node.value), node.value.span, node.slot
    req = None if node.req is None else c.value(node.req)

    def run_attach(frame: list[Any]) -> None:
        held = value(frame)
        name = "" if slot is None else slot.name
        holds = attach(frame[0], held, "write" if req is None else req(frame), span, name)
        if slot is not None and holds is not held:
            set_slot(frame, slot, holds)

    return run_attach
