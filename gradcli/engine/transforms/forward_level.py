"""Forward levels: calls of functions that carry tangents along.

A forward level boxes the arguments in `Dual`s and records nothing. Where the function itself asks
for gradients of values, tapes and captured names must meet on one trace, so tangents are carried by
sweeps over that trace instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operations.rows.narrowing import narrow_recorded
from ..trace.run import Run
from ..trace.tape import Trace
from ..values.boxes import Dual, level_of, lowered
from ..values.kinds import map_structure, read
from .recording import DifferentiatedCall, Recording, level_numbers


def perturb(run: Run, direction: Callable[[str, Any], Any], traced: bool) -> None:
    """Opens a forward level for a whole run that hasn't begun.

    `direction` gives the tangents of variables by name and state. `traced` says that the program
    itself asks for derivatives, for which it needs a trace above this level.
    """
    run.direction = direction
    run.level = run.direction_level = next(level_numbers)
    if traced:
        run.level = next(level_numbers)
        run.trace = Trace(run.level, run.trace)


def along(call: DifferentiatedCall, tangents: list[Any]) -> tuple[Any, Any]:
    """Calls a function once and returns its value together with the tangent of that value.

    `tangents` holds one for each number that it is differentiated by, in order; None for one that
    isn't perturbed. The tangent has the structure of the value, with None where the value has none.
    """
    run, function, arguments, keywords, wrt, site = call
    if run.asks:
        return _along_the_trace(call, tangents)
    outside = run.level
    level = run.level = next(level_numbers)
    rest = iter(tangents)

    def perturbed(value: Any) -> Any:
        tangent = next(rest)
        value = read(value)
        # A dual is indexed by rows as a whole, so its primal must have the rows of its tangent.
        return (
            value
            if tangent is None
            else Dual(narrow_recorded(run, site, value, run.group), tangent, level)
        )

    arguments = arguments.copy()
    for k in wrt:
        argument = arguments[k]
        arguments[k] = (
            perturbed(argument) if type(argument) is float else map_structure(perturbed, argument)
        )
    try:
        value = run.call(function, arguments, keywords, site)
    finally:
        run.level = outside
    return parted(value, level)


def parted(value: Any, level: int) -> tuple[Any, Any]:
    """Splits a result into its primal and its tangent at a level, which is None where it has none.

    Both have the structure of the value.
    """
    if type(value) is Dual and value.level == level:
        return value.primal, value.tangent
    tangent = map_structure(lambda v: v.tangent if level_of(v := read(v)) == level else None, value)
    return map_structure(lambda v: lowered(read(v), level), value), tangent


def _along_the_trace(call: DifferentiatedCall, tangents: list[Any]) -> tuple[Any, Any]:
    """Calls a function as `along` does, but without a level: by two sweeps over what the call
    records.
    """
    call.run.bodies += 1
    try:
        recording = Recording(call)
    finally:
        call.run.bodies -= 1
    found = iter(recording.push(tangents, call.site))
    value = map_structure(lambda v: recording.outside(read(v)), recording.value)
    recording.finish()
    return value, map_structure(lambda v: next(found), value)
