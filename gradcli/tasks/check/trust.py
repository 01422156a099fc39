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

REPEATS, FEW_REPEATS = 5, 2  # evaluations with other rounding errors, and those of a long path
LONG = 2000  # operations
MANY_STEPS = 2000  # evaluations of an operation, beyond which no single one is looked for

NONE_LEFT = "no digit can be trusted"


def wobble(case: Case, direction: Direction) -> float | None:
    """Measures how far other rounding errors move a derivative, which is how well it can be known;
    None where it can't be evaluated again.

    By the pullbacks and in forward mode, as rules may lose digits that the operation itself
    doesn't, such as `det` of a matrix nearly singular; and by the complex step where it applies. Of
    a long path by the pullbacks alone.
    """
    case, found = case.apart(), []
    for slopes in _ways(case, direction):
        with suppress(NotAnalyticError, GradcliError):
            first, *others = slopes()
            found += [abs(other - first) for other in others]
            if len(case.history.steps) > LONG:
                break
    return max(found) if found else None


def _ways(case: Case, direction: Direction) -> Iterator[Callable[[], list[float]]]:
    """The ways to evaluate a derivative along the trace: each gives it as it is, and then with
    other rounding errors."""
    step = tiny_step(case.reach(direction))
    disturbances = [None, *(rounding(seed, case.point.eps) for seed in range(REPEATS))]

    def by_complex_step(disturb: Any) -> float:
        return imaginary_part(case.replay((direction, step * 1j), disturb=disturb)) / step

    yield lambda: [case.along(direction, g)[0] for g in _gradients(case, direction.variable)]
    yield lambda: [case.carried(direction, disturb=disturb) for disturb in disturbances]
    if case.history.complex is None and not is_complex(case.state(direction.variable)):
        yield lambda: list(map(by_complex_step, disturbances))


def _gradients(case: Case, variable: str) -> list[Any]:
    """The gradient by a variable as the pullbacks give it, and then with other rounding errors;
    none where the output doesn't depend on it."""
    if variable not in case.disturbed:
        history = backward_pass(case, variable, case.history.sources)
        repeats = FEW_REPEATS if len(case.history.steps) > LONG else REPEATS
        disturbances = [None, *(rounding(seed, case.point.eps) for seed in range(repeats))]
        case.disturbed[variable] = (
            [] if history is None else [history.values({}, d)[0] for d in disturbances]
        )
    return case.disturbed[variable] or [0.0]


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
