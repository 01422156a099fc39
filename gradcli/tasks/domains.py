"""Random points of the domains that programs declare: `var k = 0.5 in (0.1, 5.0)`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Span
from ..engine.backends.backend import CPU, is_inexact, shape_of
from ..engine.execution import Compiled, Execution
from ..engine.values.kinds import show


class Domain(NamedTuple):
    """The interval that a variable declares, and the value that it has without being moved."""

    name: str
    state: Any
    low: float
    high: float
    place: Span


def declared_domains(compiled: Compiled, inputs: Mapping[str, Any]) -> list[Domain]:
    """The domains of a program's variables of floats, those of modules and imports too. Raises
    GradcliError where the program fails."""
    execution = Execution(compiled, inputs)
    found: list[tuple[Any, Any, Any, Span]] = []
    execution.run.domains = found
    execution.execute()
    domains = [
        Domain(variable.name, variable.state, float(low), float(high), place)
        for variable, low, high, place in found
    ]
    execution.release()
    return domains


def random_points(domains: Sequence[Domain], n: int, seed: int) -> Iterator[dict[str, Any]]:
    """`n` values of the variables that have a domain: evenly spread between two finite ends; beyond
    one, or on the whole line, at the distances that the declared value suggests. Raises
    GradcliError (E005) for an interval without points."""
    random = CPU.xp.random.default_rng(seed)
    for name, _, low, high, place in domains:
        if not low < high:
            message = f"the domain of `{name}` has no points: ({show(low)}, {show(high)})"
            raise GradcliError(Diagnostic("E005", message, place))
    drawn = [domain for domain in domains if is_inexact(domain.state)]
    for _ in range(n):
        yield {d.name: _drawn(random, d.state, d.low, d.high) for d in drawn}


def no_points(domains: Sequence[Domain]) -> str:
    """That there are no random points, and why, where no variable of floats has a domain."""
    if not domains:
        why = "no variable has a domain; declare one with `var x = 0.5 in (0.0, 1.0)`"
    else:
        why = f"`{domains[0].name}` is {show(domains[0].state)}, and only floats are drawn"
    return f"no random points: {why}"


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


def failed_at(error: Diagnostic, number: int, values: Mapping[str, Any]) -> Diagnostic:
    """Says that a program fails at the random point of that number."""
    message = f"at point {number} ({shown(values)}) the program fails: {error.message}"
    help = "the domain of a variable (`var x = 0.5 in (0.0, 1.0)`) is where the program works"
    return replace(error, message=message, help=help)


def shown(values: Mapping[str, Any]) -> str:
    """Formats the values at a random point briefly."""
    named = [f"{name} = {show(value)}" for name, value in values.items()]
    return ", ".join(named[:3]) + (", …" if len(named) > 3 else "")
