"""Attached gradients in the style of MXNet: `attach_grad`, `record` and `x.grad`. `backward.py`
fills them.

A name with an attached gradient holds a variable, which is a leaf wherever it is read, however its
value was computed. `record` opens a window on the trace, as a tape does; the trace's segments note
where one was open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...diagnostics import Span
from ...ops import OPS
from ..ad.targets import zeros_like
from ..backends.backend import is_inexact
from ..operations.apply import to_array
from ..operations.rows.number_kinds import uniform_kind
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach as attach_variable
from ..trace.windows import RecordWindow
from ..values.boxes import primal
from ..values.kinds import Instance, List, Variable, describe, is_number, leaves, read

STACK = OPS["stack"]
REQUESTS = ("write", "add", "null")

_Result = TypeVar("_Result")


# ---- record --------------------------------------------------------------------------------------


def recorded(run: Run, action: Callable[[], _Result]) -> _Result:
    """Runs `action` and returns its result.

    What it computes is recorded for `backward`, even inside `pause`.
    """
    windows = [RecordWindow(trace) for trace in run.traces()]
    for window in windows:
        window.trace.open(window)
    try:
        return action()
    finally:
        for window in windows:
            window.trace.close(window)


# ---- attach_grad ---------------------------------------------------------------------------------


def attach_grad(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> None:
    """Implements `attach_grad` called as a function value, which accepts variables only: it has no
    name that it could bind to a new variable.
    """
    attach(run, operands[0], read(options["req"]), site.span)


def attach(run: Run, value: Any, req: Any, span: Span, name: str = "") -> Any:
    """Attaches a gradient of zeros to a variable, or to all variables in a list or dict; returns
    the value.

    A plain or traced value becomes the state of a new variable called `name`, which is returned
    instead. Raises GradcliError for a value that isn't differentiable, and for a number without a
    name.
    """
    if type(req) is not str or req not in REQUESTS:
        run.fail("E311", f"`req` is {describe(req)}", span, help='it is "write", "add" or "null"')
    if type(value) in (List, dict) and any(type(item) is Variable for item in leaves(value)):
        for item in leaves(value):
            attach(run, item, req, span)
        return value
    variable = value if type(value) is Variable else _new_variable(run, value, span, name)
    state = uniform_kind(run, variable.state)
    if not is_inexact(state):
        run.fail(
            "E314",
            f"no gradient can be attached to {describe(state)}",
            span,
            "only floats are differentiable",
            _meant(state, span),
        )
    variable.req = req
    note(run, ("grad", variable))
    variable.grad = zeros_like(run, state)
    attach_variable(run, variable)
    run.attached[variable.number] = variable
    if isinstance(run.trace, KeepingTrace):
        run.trace.left(variable.number, value, span, "attach")
    return variable


def _meant(state: Any, span: Span) -> str:
    if type(state) is Instance:
        return f"attach to its variables: `attach_grad({span.text}.trainable_variables)`"
    return (
        f"write `{state}.0`"
        if type(state) is int
        else "write floats, such as `2.0`"
        if is_number(state)
        else ""
    )


def _new_variable(run: Run, value: Any, span: Span, name: str) -> Variable:
    if type(value) is List:
        value = to_array(run, Site(STACK, span), value)
    state = primal(value)
    if is_number(state) and not name:
        message = f"{describe(state)} has no name that could hold its gradient"
        run.fail("E312", message, span, help="give it one: `y = …`, then `attach_grad(y)`")
    return Variable(name, "attached", span, state)
