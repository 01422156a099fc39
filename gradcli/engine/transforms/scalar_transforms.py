"""The fast path of transforms by floats, where one sweep over floats, or one tangent, suffices.

Nothing is decided here but whether that is so. Where it isn't, the function has been called all the
same, and its recording is returned to continue with.
"""

from __future__ import annotations

from typing import Any

from ..ad.scalar_sweep import sweep_floats
from ..trace.run import Run
from ..trace.tape import Segment, Site, leaf_numbers
from ..values.boxes import Dual
from ..values.kinds import List, Variable
from .forward_level import parted
from .recording import Recording, level_numbers


def is_short(run: Run) -> bool:
    """Returns whether a transform may take the fast path: it would only open a window on the main
    trace, which records.
    """
    trace = run.trace
    return (
        run.fast_paths and not (run.level or run.asks or trace.keeps_all) and trace.main.recording
    )


def are_floats(arguments: list[Any], positions: list[int]) -> bool:
    """Returns whether the arguments at the positions are floats, or lists or dicts of floats."""
    for k in positions:
        value = arguments[k]
        if type(value) is Variable:
            value = value.box
        if type(value) is not float:
            items = (
                value.items
                if type(value) is List
                else value.values()
                if type(value) is dict
                else (None,)
            )
            for item in items:
                if type(item.box if type(item) is Variable else item) is not float:
                    return False
    return True


def value_and_slopes(
    run: Run,
    function: Any,
    arguments: list[Any],
    positions: list[int],
    x: float | None,
    seed: float,
    site: Site,
) -> tuple[float, list[float]] | Recording:
    """Returns the value of a function and its derivatives, times `seed`, by the floats at the
    positions.

    The argument is the float `x`, or if that is None, `are_floats` holds for the arguments. Returns
    a `Recording` of the call instead where the value is no float or depends on something outside.
    Call it only where `is_short` holds.
    """
    trace = run.trace
    before, limit, switched = trace.segment, trace.limit, trace.switched
    since = trace.number = trace.number + 1
    begin = trace.advance()
    given = arguments.copy()
    if x is not None:
        number = -next(leaf_numbers)
        trace.fresh[number] = begin
        boxed = given[positions[0]] = x, number, begin
        inputs: list[Any] = [boxed]
    else:
        inputs = []
        for k in positions:
            given[k] = _boxed(arguments[k], begin, inputs)
    run.recordings += 1
    try:
        value = run.call(function, given, {}, site)
    finally:
        run.recordings -= 1
    if type(value) is tuple and value[2] is begin and type(value[0]) is float and not begin.earlier:
        found = sweep_floats(begin, value[1], seed)
        if found is not None:
            slopes = (
                [found.get(number, 0.0) for _, number, _ in inputs]
                if x is None
                else [found.get(number, 0.0)]
            )
            for _, number, _ in inputs:
                del trace.fresh[number]
            if switched == trace.switched:  # see `Recording.finish`
                trace.segment, trace.limit, trace.number = before, limit, since - 1
            return value[0], slopes
    return Recording.of_call(run, value, inputs, begin, before, limit, switched)


def _boxed(value: Any, begin: Segment, inputs: list[Any]) -> Any:
    """Returns a float as a traced input in the segment `begin`, or a list or dict of floats as such
    inputs.
    """
    if type(value) is List:
        return List([_boxed(item, begin, inputs) for item in value.items])
    if type(value) is dict:
        return {key: _boxed(item, begin, inputs) for key, item in value.items()}
    number = -next(leaf_numbers)
    begin.trace.fresh[number] = begin
    boxed = value.box if type(value) is Variable else value, number, begin
    inputs.append(boxed)
    return boxed


def along_float(
    run: Run, function: Any, arguments: list[Any], x: float, tangent: float, site: Site
) -> tuple[Any, Any]:
    """Does what `along` does where only the first argument, the float x, moves, and the program
    asks for no gradients of values.
    """
    outside = run.level
    level = run.level = next(level_numbers)
    given = arguments.copy()
    given[0] = Dual(x, tangent, level)
    try:
        value = run.call(function, given, {}, site)
    finally:
        run.level = outside
    return parted(value, level)
