"""Variables on the trace: what reading one gives."""

from __future__ import annotations

from ..backends.backend import is_inexact
from ..values.boxes import Dual
from ..values.kinds import Variable, is_number
from .keeping import KeepingTrace
from .run import Run
from .tape import Leaf


def attach(run: Run, variable: Variable) -> None:
    """Makes reading a variable give its present state: as a leaf where gradients can exist, or
    where everything is kept."""
    trace = run.trace if variable.origin is None else variable.origin.trace
    watches_itself = variable.trainable or variable.req != ""
    differentiable = (watches_itself or variable.watchers > 0) and is_inexact(variable.state)
    state = variable.state
    if run.direction is not None and variable.trainable and differentiable:
        tangent = run.direction(variable.name, state)
        state = state if tangent is None else Dual(state, tangent, run.direction_level)
        # the program asks for gradients of values, too
        differentiable = trace.level > run.direction_level
    if differentiable or (isinstance(trace, KeepingTrace) and is_number(variable.state)):
        variable.origin = Leaf(trace, variable) if variable.origin is None else variable.origin
        variable.box = trace.leaf(state, variable.number or None, variable.origin)
        variable.number = variable.origin.number = variable.box[1]
        if watches_itself:
            trace.variables.add(variable.number)
        if differentiable and isinstance(trace, KeepingTrace):
            trace.active.add(variable.number)
    else:
        variable.box = state
