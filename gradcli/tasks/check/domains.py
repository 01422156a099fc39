"""Random points of the domains that a program declares: `var k = 0.5 in (0.1, 5.0)`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.execution import Execution
from ...engine.values.kinds import show
from .point import Point


def random_points(point: Point, n: int) -> Iterator[dict[str, Any]]:
    """`n` values of the variables that have a domain, those of modules and imports too: evenly
    spread between two finite ends; beyond one, or on the whole line, at the distances that the
    declared value suggests. Raises GradcliError (E005) for an interval without points."""
    program = point.program
    random = CPU.xp.random.default_rng(program.options.seed)
    execution = Execution(program.compiled, point.inputs)
    found: list[tuple[Any, Any, Any, Span]] = []
    execution.run.domains = found
    execution.execute()
    domains = []
    for variable, *ends, place in found:
        low, high = map(float, ends)
        if not low < high:
            message = f"the domain of `{variable.name}` has no points: ({show(low)}, {show(high)})"
            raise GradcliError(Diagnostic("E005", message, place))
        if is_inexact(variable.state):
            domains.append((variable.name, variable.state, low, high))
    execution.release()
    for _ in range(n):
        yield {name: _drawn(random, state, low, high) for name, state, low, high in domains}


def _drawn(random: Any, state: Any, low: float, high: float) -> Any:
    shape, xp = shape_of(state), CPU.xp
    scale = float(abs(state).max()) if shape else abs(state)
    scale = scale if 0 < scale < math.inf else 1.0
    if math.isfinite(low) and math.isfinite(high):
        value = low + (high - low) * xp.clip(random.uniform(size=shape), 1e-6, 1 - 1e-6)
    elif math.isfinite(low):
        value = low + scale * random.exponential(size=shape)
    elif math.isfinite(high):
        value = high - scale * random.exponential(size=shape)
    else:
        value = scale * random.normal(size=shape)
    return value.astype(state.dtype) if shape else type(state)(value)
