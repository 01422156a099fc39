"""Transforms by one float, the common case made short: what `transforms.py` does, where it takes no more than a sweep over
floats, or one float's tangent.

Nothing is decided here but whether that is so. Where it isn't, the function has been called all the same, and what came of
that is handed over.
"""

from __future__ import annotations

from typing import Any

from .boxes import Dual
from .calls import call_function, call_value
from .levels import Recording, level_numbers, parted
from .run import Run
from .scalar_sweep import sweep_floats
from .tape import Site, leaf_numbers
from .values import Function


def is_short(run: Run) -> bool:
    """Whether a transform is called where all that it opens is a window on the main trace, which records."""
    trace = run.trace
    return not (run.level or run.asks or trace.keeps_all) and trace.main.recording


def value_and_slope(
    run: Run, function: Any, arguments: list[Any], k: int, x: float, seed: float, site: Site
) -> tuple[float, float] | Recording:
    """The value of a function and its derivative, times `seed`, by its argument `k`, which is the float x; what was recorded, where
    these aren't floats on which nothing outside depends. Where `is_short`."""
    trace = run.trace
    before, limit, switched = trace.segment, trace.limit, trace.switched
    since = trace.number = trace.number + 1
    begin = trace.advance()
    number = -next(leaf_numbers)
    trace.fresh[number] = begin
    given = arguments.copy()
    given[k] = fresh = x, number, begin
    run.recordings += 1
    try:
        value = (call_function if type(function) is Function else call_value)(run, function, given, {}, site)
    finally:
        run.recordings -= 1
    if type(value) is tuple and value[2] is begin and type(value[0]) is float and not begin.earlier:
        found = sweep_floats(begin, value[1], seed)
        if found is not None and number in found:
            del trace.fresh[number]
            if switched == trace.switched:  # see `Recording.finish`
                trace.segment, trace.limit, trace.number = before, limit, since - 1
            return value[0], found[number]
    return Recording.of_call(run, value, fresh, before, limit, switched)


def along_float(run: Run, function: Any, arguments: list[Any], x: float, tangent: float, site: Site) -> tuple[Any, Any]:
    """What `along` gives where the first argument, the float x, moves, and nothing asks for gradients of values."""
    outside = run.level
    level = run.level = next(level_numbers)
    given = arguments.copy()
    given[0] = Dual(x, tangent, level)
    try:
        value = (call_function if type(function) is Function else call_value)(run, function, given, {}, site)
    finally:
        run.level = outside
    return parted(value, level)
