"""How many digits of a derivative rounding errors leave, and which operation's take most of them.

A method that goes along the trace repeats what the program rounds, and agrees with a gradient of
which no digit is right, as where `1 - cos(x)` cancels. So the trace is evaluated again with other
rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ...diagnostics import GradcliError
from ...engine.ad.derivatives import gradients, recording_view
from ...engine.backends.backend import is_complex
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.history import History
from ...engine.replay.rounding import rounding
from ...engine.trace.tape import Site
from ...engine.trace.windows import Window
from ...engine.values.kinds import leaves, read
from .complex_step import imaginary_part, tiny_step
from .directions import Direction, seed_of
from .point import Case

REPEATS = 5  # evaluations with other rounding errors
MANY_STEPS = 2000  # evaluations of an operation, beyond which no single one is looked for

NONE_LEFT = "no digit can be trusted"

Slope = Callable[..., float]


def wobble(case: Case, direction: Direction) -> float | None:
    """Measures how far other rounding errors move a derivative, which is how well it can be known;
    None where it can't be evaluated again.

    In forward mode and by the pullbacks, as rules may lose digits that the operation itself
    doesn't, such as `det` of a matrix nearly singular; and by the complex step where it applies.
    """
    disturbances = [rounding(seed, case.point.eps) for seed in range(REPEATS)]
    found = []
    for slope in _slopes(case, direction):
        with suppress(NotAnalyticError, GradcliError):
            first = slope()
            found += [abs(slope(disturb) - first) for disturb in disturbances]
    return max(found) if found else None


def _slopes(case: Case, direction: Direction) -> Iterator[Slope]:
    """The ways to evaluate a derivative along the trace, with a disturbance of each result."""
    step = tiny_step(case.reach(direction))

    def by_forward_mode(disturb: Any = None) -> float:
        return case.carried(direction, disturb=disturb)

    def by_complex_step(disturb: Any = None) -> float:
        return imaginary_part(case.replay((direction, step * 1j), disturb=disturb)) / step

    yield by_forward_mode
    with suppress(GradcliError):
        yield _by_reverse_mode(case, direction)
    if case.history.complex is None and not is_complex(case.state(direction.variable)):
        yield by_complex_step


def _by_reverse_mode(case: Case, direction: Direction) -> Slope:
    history = backward_pass(case, direction.variable, case.history.sources)

    def slope(disturb: Any = None) -> float:
        if history is None:
            return 0.0
        (gradient,) = history.values({}, disturb)
        return case.along(direction, gradient)[0]

    return slope


def backward_pass(case: Case, variable: str, numbers: Any) -> History | None:
    """The gradient by a variable as a function of the sources with these numbers; None where it is
    of none."""
    run = case.point.kept[0]
    with recording_view(run) as window:
        first = gradient_of(case, variable, window)
    return History(run, [first], numbers) if type(first) is tuple else None


def gradient_of(case: Case, variable: str, window: Window) -> Any:
    """The gradient by a variable, recorded in the run that kept every value."""
    run, answer = case.point.kept
    parts = [read(v) for v in leaves(answer.targets[case.output])]
    seeds = [
        (p, seed_of(p, w)) for p, w in zip(parts, case.weights, strict=True) if type(p) is tuple
    ]
    (found,) = gradients(run, seeds, [answer.sources[variable]], recorded=True, window=window)
    return found


def digits(error: float, slope: float) -> str:
    """How many digits of a derivative an error leaves, in words."""
    left = max(round(-math.log10(error / abs(slope))), 0) if slope else 0
    return f"about {left} digit{'s' * (left != 1)} can be trusted" if left else NONE_LEFT


def lost(case: Case, direction: Direction, error: float, slope: float) -> str:
    """How far rounding errors move a derivative, and where most of that comes from, in words."""
    site = _most_lossy(case, direction)
    place = f" of `{site.op.infix or site.op.name}` in line {site.span.line}" if site else ""
    return f"{digits(error, slope)}: rounding{place} moves the gradient by about {error:.1g}"


def _most_lossy(case: Case, direction: Direction) -> Site | None:
    """The operation whose rounding moves the derivative most; None where none can be told."""
    sites = dict.fromkeys(step.site for step in case.history.steps)
    if len(sites) * len(case.history.steps) > MANY_STEPS:
        return None
    moved: dict[Site, float] = {}
    with suppress(GradcliError):
        first = case.carried(direction)
        for site in sites:
            slopes = [
                case.carried(direction, disturb=rounding(seed, case.point.eps), at=site)
                for seed in range(REPEATS)
            ]
            moved[site] = max(abs(slope - first) for slope in slopes)
    return max(moved, key=moved.__getitem__, default=None)
