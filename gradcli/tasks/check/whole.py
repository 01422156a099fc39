"""The program as a whole against its trace. Methods that go along a trace can't see what the trace
itself lacks: so its value has to be that of the program, and of a program that takes too long to be
run for each difference a few runs, in which all variables move at once, have to say what the
gradients say together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...diagnostics import GradcliError
from ...engine.backends.backend import CPU
from ...engine.execution import running
from ...engine.replay.rounding import rounding
from ...engine.values.boxes import primal
from ...engine.values.kinds import Variable, leaves, read
from .differences import RELIABLE, SHRINK, Estimate, Samples, ridders
from .directions import Direction
from .path import Conditions
from .point import Case
from .results import DISAGREE, Finding

FIRST, LEVELS = 2.0**-10, 4  # the steps, times the sizes of the variables
SAFETY = 10.0  # times an estimated error
CLOSE = 1e-6  # of what is added up to a slope
STREAMS = (11, 12)  # directions that have to say the same
NOISE = 100.0  # times what rounding errors inside make of a value


def verify_whole(case: Case, is_slow: bool) -> list[Finding]:
    """A finding for each gradient of an output whose trace isn't what the program does."""
    with running():
        reason = _other_value(case) or (_other_slope(case) if is_slow else "")
    return (
        [Finding(case.output, name, "whole", DISAGREE, reason) for name in case.gradients]
        if reason
        else []
    )


def _other_value(case: Case) -> str:
    _, answer = case.point.kept
    kept = float(case.total([primal(read(v)) for v in leaves(answer.targets[case.output])]))
    apart = abs(kept - case.value)
    if not apart > NOISE * case.point.eps * abs(case.value):
        return ""
    disturbances = [rounding(seed, case.point.eps) for seed in range(3)]
    try:
        noise = max(abs(float(case.replay(disturb=disturb)) - kept) for disturb in disturbances)
    except GradcliError:
        return ""
    if apart <= NOISE * noise:
        return ""
    return f"`{case.output}` is {case.value:.17g}, and {kept:.17g} where every operation is kept"


def _other_slope(case: Case) -> str:
    """How the program moves along directions of all its variables, where that isn't what the
    gradients say."""
    reason = ""
    for stream in STREAMS:
        directions = _directions(case, stream)
        pairs = [case.along(direction) for direction in directions]
        ours, size = sum(slope for slope, _ in pairs), sum(size for _, size in pairs)
        estimate = _slope(case, directions, case.rerun)
        tolerance = SAFETY * estimate.error + CLOSE * size
        if (
            not math.isfinite(estimate.value)
            or tolerance > max(RELIABLE * size, 1e-300)
            or abs(ours - estimate.value) <= tolerance
            # Or kinks within the steps, which the trace has, too.
            or abs(_slope(case, directions, case.replay).value - estimate.value) <= tolerance
        ):
            return ""
        reason = (
            f"along a direction of all variables the program moves by {estimate.value:.8g}, and "
            f"by its gradients {ours:.8g}"
        )
        if _flips(case, directions):
            return ""
    return reason


def _flips(case: Case, directions: list[Direction]) -> bool:
    """Whether the smallest step decides a condition otherwise, to first order: then the program
    tells nothing of the path that the gradients are of."""
    conditions, h, xp = Conditions(case.point), FIRST / SHRINK ** (LEVELS - 1), CPU.xp
    margins: dict[int, Any] = {}
    slopes: dict[int, Any] = {}
    for direction in directions:
        for step, margin, slope in conditions.margins(direction):
            margins[step.number] = margin
            slopes[step.number] = slopes.get(step.number, 0.0) + slope
    return any(bool(xp.any(xp.abs(margins[k]) < h * xp.abs(slopes[k]))) for k in margins)


def _directions(case: Case, stream: int) -> list[Direction]:
    """A direction for each variable that can be set, in which its numbers move by about their own
    sizes."""
    sources = case.point.answer.sources
    names = [name for name in case.gradients if type(sources[name]) is Variable]
    found = [d for name in names for d in case.random_directions(name, stream)[:1]]
    return [d._replace(vector=d.vector * case.reach(d)) for d in found]


def _slope(case: Case, directions: list[Direction], moved: Callable[..., Any]) -> Estimate:
    """How the program moves, or its trace."""

    def value(h: float) -> float:
        try:
            return float(moved(*((direction, h) for direction in directions)))
        except GradcliError:
            return math.nan

    samples = Samples(value, case.value, FIRST, case.point.eps)
    levels = ((samples.level(k), samples.noise(k)) for k in range(LEVELS if directions else 0))
    return ridders((((b.up - b.down) / (2 * b.step), noise / b.step) for b, noise in levels), 2)
