"""`tape`, `watch` and `pause`: the windows that programs open, and what a tape answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn
from weakref import WeakSet

from ..diagnostics import Span, did_you_mean
from ..lang import program
from ..ops.op import BindingError, Signature
from .apply import plain_array
from .backends import is_inexact
from .batches import batch_jacobian
from .compiler import Closure, Compiler
from .conditions import truth
from .derivatives import grad
from .jacobians import jacobian
from .keeping import KeepingTrace
from .run import Run
from .sequence import compile_block
from .tape import Site, primal
from .values import FRAME_HEAD, Cell, Instance, List, Tape, Variable, describe, is_number, read
from .windows import Window


def compile_tape(c: Compiler, node: program.Tape) -> Closure:
    c.asks = c.asks or c.in_function
    k, cell = node.slot.index + FRAME_HEAD, node.slot.cell
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
        if cell:
            frame[k][0] = Tape(window)
        else:
            frame[k] = Tape(window)
        run.trace.open(window)
        try:
            return body(frame)
        finally:
            run.trace.close(window)
            if window.watched:
                unwatch(run, window)

    return run_tape


def unwatch(run: Run, window: Window) -> None:
    """Ends a window's watch: its variables are leaves no longer, unless another window watches them."""
    for variable in window.watched or ():
        variable.watchers -= 1
        variable.attach(run)
    window.watched = None


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


# ---- watch -----------------------------------------------------------------------------------------------------------


def compile_watch(c: Compiler, node: program.Watch) -> Closure:
    items = [(c.expression(value), slot, value.span) for value, slot in node.items]
    tape = None if node.tape is None else c.expression(node.tape)

    def run_watch(frame: list[Any]) -> None:
        run = frame[0]
        window = next(w for w in reversed(run.trace.windows) if type(w) is Window)
        if tape is not None:
            value = tape(frame)
            if type(value) is not Tape:
                run.fail("E309", f"{describe(value)} has no member `watch`", node.span, help="only tapes do; or write `watch x`")
            window = value.window
        for item, slot, span in items:
            value = item(frame)
            if type(value) is List and not any(type(i) is Variable for i in value):
                value = plain_array(run, value, partial(_fail_list, run, span))
            if slot is not None and (is_number(value) or type(value) is str):
                value = Variable(slot.name, "watched", span, value)
                holder, k = frame, slot.index + FRAME_HEAD
                if type(holder[k]) is Cell:
                    holder[k][0] = value
                else:
                    holder[k] = value
            watch(run, window, value, span)

    return run_watch


def _fail_list(run: Run, span: Span, message: str, help: str) -> NoReturn:
    run.fail("E302", message, span, help=help)


def watch(run: Run, window: Window, value: Any, span: Any) -> None:
    """Makes a window watch a value: a variable, something the trace has, or a list or dict of these."""
    if type(value) is List or type(value) is dict:
        for item in value.values() if type(value) is dict else value:
            watch(run, window, item, span)
    elif type(value) is tuple:
        if isinstance(window.trace, KeepingTrace):
            window.trace.begin_at(value[1])
        window.add(value[1])
    elif type(value) is Variable:
        known = value.number != 0
        if window.watched is None:
            window.watched = WeakSet()
        if value not in window.watched:
            window.watched.add(value)
            value.watchers += 1
            value.attach(run)
        if value.number:
            window.add(value.number, new=not known)
    else:
        in_it = type(value) is Instance
        help = "watch its `trainable_variables`, or single ones of them" if in_it else "give it a name, and watch that"
        run.fail("E312", f"{describe(value)} can't be watched", span, help=help)


# ---- what a tape answers ---------------------------------------------------------------------------------------------


def call(run: Run, tape: Tape, name: str, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    """`t.gradient(…)` and the other members of a tape. Raises GradcliError (E309) for a name that isn't one."""
    if name not in _MEMBERS:
        run.fail("E309", f"a tape has no member `{name}`", site.span, help=did_you_mean(name, _MEMBERS))
    signature, member = _MEMBERS[name]
    try:
        slots, given = signature.bind(f"{tape.window.name}.{name}", len(arguments), list(keywords))
    except BindingError as error:
        run.fail("E308", error.message, site.span, help=error.help)

    def value(key: Any) -> Any:
        return keywords[key] if isinstance(key, str) else arguments[key]

    options = {p.name: p.default for p in signature.options} | {n: value(k) for n, k in given.items()}
    return member(run, tape.window, site, [value(k) for k in slots], options)


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A request for a derivative: a tape that isn't persistent answers one, and doesn't record it in its own block."""

    def request(run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
        if window.spent and not window.persistent:
            run.fail(
                "E321", f"the tape `{window.name}` was asked before", site.span, "it answers once",
                f"open it with `tape {window.name} (persistent = true)` to ask it more than once",
            )  # fmt: skip
        window.spent = True
        paused = [] if window.persistent else window.trace.pause([window])
        try:
            return function(run, site, operands, options, window)
        finally:
            window.trace.resume(paused)

    return request


def _watch(run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]) -> None:
    for value in operands:
        if type(value) is not Variable and type(value) is not tuple and is_inexact(primal(read(value))):
            run.fail("E312", "a plain value can only be watched by its name", site.span, help="write `t.watch(x)` as a statement")
        watch(run, window, value, site.span)


def _watched_variables(run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]) -> List:
    return List([variable for variable in window.uses if variable.kind not in ("const", "watched")])


def _reset(run: Run, window: Window, site: Site, operands: list[Any], options: dict[str, Any]) -> None:
    unwatch(run, window)
    window.reset()


_MEMBERS: dict[str, tuple[Signature, Callable[..., Any]]] = {
    "gradient": (Signature('target, sources; unconnected="none", seed=none'), _asked(grad)),
    "jacobian": (Signature('target, source; unconnected="none"'), _asked(jacobian)),
    "batch_jacobian": (Signature("target, source"), _asked(batch_jacobian)),
    "watch": (Signature("*values"), _watch),
    "watched_variables": (Signature(""), _watched_variables),
    "reset": (Signature(""), _reset),
}
REQUESTS = frozenset(("gradient", "jacobian", "batch_jacobian"))  # of these, the ones that ask for a derivative
