"""Whether differences contradict a derivative, or only have steps too large for the function.

The quotient of a difference is the mean of the derivative over the interval, however large the
step. So where a derivative is right, the derivatives at points beside have that very mean, and the
one in the middle goes with them. Steps within which a function turns often, or jumps, let quotients
settle on something else; the smallest that rounding leaves room for don't.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ...engine.backends.backend import CPU
from .differences import LEVELS, Samples

NODES, DEGREE = (
    16,
    7,
)  # of the polynomial that stands for the derivative beside the point; no node is the point itself
SAFETY = 10.0  # times an error
ALL_LEVELS = 24  # down to steps that the rounding of numbers has a share in
CONTRADICTED, CONFIRMED, UNRESOLVED = (
    "contradicted",
    "confirmed",
    "unresolved",
)  # what becomes of a derivative


class Profile(NamedTuple):
    """A derivative over an interval, as a polynomial: its mean, its value in the middle, and how
    far points are off it."""

    mean: float
    middle: float
    roughness: float


def finest_level(samples: Samples, gap: float, levels: int = LEVELS) -> int:
    """The level of the smallest step, of so many, at which a slope that is off by `gap` stands out
    of the rounding errors."""

    def stands_out(k: int) -> bool:
        step = samples.level(k).step
        is_known = all(map(math.isfinite, samples.level(k))) and step > NODES * samples.grain
        return is_known and 2 * SAFETY * samples.noise(k) <= gap * step

    return max(filter(stands_out, range(levels)), default=0)


def held_against(
    samples: Samples, level: int, slope: Callable[[float], float], ours: float, gap: float
) -> str:
    """Judges, by the difference at a level, a derivative `ours` that extrapolated differences say
    is off by `gap`. `slope` has the derivatives at steps beside."""
    beside = samples.level(level)
    profile = over(slope, beside.step)
    if not SAFETY * profile.roughness <= gap / 2:
        return UNRESOLVED
    quotient = (beside.up - beside.down) / (2 * beside.step)
    if not math.isfinite(quotient):
        return UNRESOLVED
    if abs(quotient - profile.mean) > gap / 2:
        return CONTRADICTED
    if abs(ours - profile.middle) <= gap / 2:
        return CONFIRMED
    return UNRESOLVED if _is_apart(samples, level) else CONTRADICTED


def _is_apart(samples: Samples, level: int) -> bool:
    """Whether the value in the middle stays away from those beside it as these come nearer: there
    is a pole or a jump, within the steps."""
    far, near = (samples.level(k) for k in (max(level - 1, 0), level))
    bends = [abs(beside.up - 2 * samples.value + beside.down) for beside in (far, near)]
    return bends[1] > max(bends[0] / 2, SAFETY * samples.noise(level))


def over(slope: Callable[[float], float], step: float) -> Profile:
    """The profile of a derivative from a step before the point to one after it."""
    nodes, projection, back, middle = _legendre()
    slopes = CPU.xp.array([slope(step * node) for node in nodes.tolist()])
    terms = projection @ slopes
    roughness = float(abs(slopes - back @ terms).max())
    return Profile(
        float(terms[0]),
        float(middle @ terms),
        roughness if math.isfinite(roughness) else math.inf,
    )


@cache
def _legendre() -> tuple[Any, Any, Any, Any]:
    """The nodes of Gauss and Legendre in [-1, 1], the matrix from values there to the coefficients
    of a Legendre series and the one back, and that from coefficients to the value in the middle."""
    legendre = CPU.xp.polynomial.legendre
    nodes, weights = legendre.leggauss(NODES)
    back = legendre.legvander(nodes, DEGREE)
    projection = (CPU.xp.arange(DEGREE + 1) + 0.5)[:, None] * back.T * weights
    return nodes, projection, back, legendre.legvander(0.0, DEGREE)[0]
