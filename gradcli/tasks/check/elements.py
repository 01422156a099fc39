"""Small elements of a gradient, and zeros, among large ones. In a random direction what they add up
to is lost behind the others, as is a mistake in them; so they are looked at in a direction in which
all elements count about the same.

Only the complex step can tell then, which has no rounding error of the output to hide in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.backends.backend import CPU, is_complex, shape_of
from ...engine.execution import running
from .directions import FEW, Direction
from .kinks import kinks
from .path import Conditions
from .point import Case
from .results import AGREE, DISAGREE, CheckOptions, Finding
from .scatter import Scatter
from .verdicts import Judge

HIDDEN = 1e-4  # of the largest share in a direction
SMALLEST = 1e-6  # of the largest element: what is smaller gets no more weight
# of the largest value: smaller ones move less, so that the complex step stays small beside them
REACH = 1e-12
STREAM = 21


def small_elements(
    case: Case, variable: str, findings: Sequence[Finding], options: CheckOptions
) -> Finding | None:
    """The finding of the complex step about a wrong element of a gradient that it has confirmed
    along random directions; None where it finds none, or a kink that is hidden in the same way."""
    if case.point.eps > 1e-10 or not any(
        f.method == "complex" and f.verdict == AGREE for f in findings
    ):
        return None
    vector = _even(case, variable)
    if vector is None:
        return None
    direction = Direction(variable, vector, " along a random direction")
    found = _judged(case, direction, options)
    if found.verdict != DISAGREE:
        return None
    if (element := _narrowed(case, direction, options)) is not None:
        direction = element
        found = _judged(case, direction, options)
    with running():
        return None if kinks(Judge(case, direction, options), Conditions(case.point)) else found


def _even(case: Case, variable: str) -> Any:
    """A vector in whose direction all elements of a gradient count about the same; None where in
    the random ones no element is hidden by others."""
    value, xp = case.state(variable), CPU.xp
    if is_complex(value) or not shape_of(value) or value.size <= FEW:
        return None
    sizes = abs(case.point.run.backend.to_host(case.gradients[variable]))
    moved = abs(case.random_directions(variable)[0].vector)
    share, largest = sizes * moved, float(sizes.max())
    hidden = (share < HIDDEN * share.max()) | (moved < HIDDEN * moved.max())
    if not largest or not hidden.any():
        return None
    reach = abs(value) / (float(abs(value).max()) or 1.0)
    near = xp.where((reach > 0) & (reach < REACH), reach / REACH, 1.0)
    return (
        Scatter(value.size, STREAM).numbers(value.shape)
        * near
        * SMALLEST
        / xp.maximum(sizes / largest, SMALLEST)
    )


def _judged(case: Case, direction: Direction, options: CheckOptions) -> Finding:
    return Judge(case, direction, options).finding("complex")


def _narrowed(case: Case, direction: Direction, options: CheckOptions) -> Direction | None:
    """The direction of one wrong element, found by halves; None where none alone is wrong."""
    xp, variable, vector = CPU.xp, direction.variable, direction.vector
    places = xp.arange(vector.size)
    while len(places) > 1:
        halves = xp.array_split(places, 2)
        verdicts = [
            _judged(case, Direction(variable, _only(vector, half), ""), options).verdict
            for half in halves
        ]
        if DISAGREE not in verdicts:
            return None
        places = halves[verdicts.index(DISAGREE)]
    where = ",".join(str(int(k)) for k in xp.unravel_index(int(places[0]), vector.shape))
    found = Direction(variable, _only(xp.ones_like(vector), places), f"[{where}]")
    return found if _judged(case, found, options).verdict == DISAGREE else None


def _only(vector: Any, places: Any) -> Any:
    """A vector that is zero except at some places."""
    kept = CPU.xp.zeros_like(vector)
    kept.flat[places] = vector.flat[places]
    return kept
