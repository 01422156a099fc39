"""Values that decide what a program does: conditions, as bools, or lanes of bools where they differ
between rows; and indices, shapes and counts, which have no gradients."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span
from ...lang import program
from ..operations.rows.separation import operation_group, uniform_bool
from ..trace.keeping import KeepingTrace
from ..values.boxes import Dual, primal, up_to
from ..values.kinds import List, describe, leaves, read
from ..values.lanes import Lanes, narrow
from .compiler import Closure, Compiler


def compile_condition(c: Compiler, node: program.Expression) -> Closure:
    """The closure of a condition, which gives one bool, or lanes of bools where it differs between
    rows. An array of more elements is an error that names `any` and `all`."""
    value, span = c.value(node), node.span

    def condition(frame: list[Any]) -> Any:
        v = value(frame)
        return v if v is True or v is False else truth(frame[0], v, span)

    return condition


def truth(run: Any, value: Any, span: Any) -> Any:
    """The bool that a value stands for as a condition; lanes of them where it differs between the
    rows that run."""
    if type(value) is tuple or type(value) is Dual:
        if isinstance(run.trace, KeepingTrace) and type(value := up_to(value, 0)) is tuple:
            decided = run.trace.decide(value, span)
            if decided is not None:
                return decided
        value = primal(value)
    if type(value) in _NUMBERS:
        return bool(value)
    if hasattr(value, "dtype"):
        if value.size != 1:
            run.fail(
                "E310",
                f"a condition needs one bool, and this is an array of shape {tuple(value.shape)}",
                span,
                help="reduce it by `any()` or `all()`; `logical_and` and `logical_or` take arrays",
            )
        if type(value) is not Lanes:
            return bool(value.item())
        group = operation_group(run, (value,), span)
        return uniform_bool(run, narrow(value, group).array.reshape(group.size), group)
    help = (
        "reduce it with `any()` or `all()`" if type(value) is List else "compare it with something"
    )
    run.fail("E310", f"a condition needs one bool, and this is {describe(value)}", span, help=help)
    raise AssertionError


_NUMBERS = frozenset((float, int, bool))


def deciding(c: Compiler, closure: Closure, span: Span) -> Closure:
    """The closure of a value that decides an index, a shape or a count; the trace notes the value
    if it keeps everything."""
    if not c.keeps_all:
        return closure

    def noted(frame: list[Any]) -> Any:
        value = closure(frame)
        for part in map(read, leaves(value)):
            if type(part) is tuple and isinstance(trace := part[2].trace, KeepingTrace):
                trace.choices.append((part, span))
        return value

    return noted
