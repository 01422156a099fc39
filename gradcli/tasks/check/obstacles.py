"""What is in the way of differences: a function of several pieces within a step, where an operation
jumps or a branch goes otherwise, and numbers that underflow; and kinks, which a program is checked
beside, at a point so near that the same operations meet."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...diagnostics import GradcliError
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.replay.history import Step
from ...engine.replay.rounding import smallest
from ...engine.values.kinds import Variable, show
from .blame import FLAT
from .complex_step import numbers_of, underflows
from .directions import Scatter
from .point import Case, Point
from .results import ALLOWED, KINK, UNDECIDED, Blame, Check, CheckOptions
from .verdicts import SAFETY, Judge

# ---- within a step -------------------------------------------------------------------------------


PLACES = [side * part for part in (1.0, 0.61, 0.27, 0.08) for side in (1.0, -1.0)]
REMAINDERS = ("mod", "fmod")


def obstacle(judge: Judge, step: float) -> str:
    """Why differences say nothing at a step as small as this; "" where they do."""
    try:
        here = _stairs(judge, 0.0)
        for place in PLACES:
            if _stairs(judge, place * step) != here or not _keeps_its_path(judge, place * step):
                return "the function is of several pieces within the steps"
    except GradcliError:
        return "the steps lead beyond the edge of a domain"
    return underflow(judge)


def has_stairs_aside(judge: Judge, step: float) -> bool:
    """Whether an operation jumps more than once within a step, so that what goes on beside the
    first jump isn't seen."""
    with suppress(GradcliError):
        for side in (PLACES[::2], PLACES[1::2]):
            first, *others = (_stairs(judge, place * step) for place in side)
            if any(other != first for other in others):
                return True
    return False


def _stairs(judge: Judge, h: float) -> dict[int, bytes]:
    """Where each operation that jumps stands: on which stair, in which tooth."""
    found: dict[int, bytes] = {}

    def watch(step: Step, y: Any, operands: list[Any]) -> None:
        name = step.site.op.name
        if name in FLAT:
            found[step.number] = numbers_of(y).tobytes()
        elif name in REMAINDERS:
            a, b = map(numbers_of, operands)
            found[step.number] = CPU.xp.round((a - numbers_of(y)) / b).tobytes()

    judge.case.replay(*judge.moved(h), watch=watch)
    return found


def _keeps_its_path(judge: Judge, h: float) -> bool:
    """Whether the program gives what its trace gives, which stays on the path that was taken."""
    if judge.on_trace:
        return True
    case, moves = judge.case, judge.moved(h)
    along = float(case.replay(*moves))
    noise = 2 * case.point.eps * max(abs(along), abs(case.value)) + judge.known_noise
    return abs(case.rerun(*moves) - along) <= SAFETY * noise


def underflow(judge: Judge) -> str:
    """The first product on the way that is too small for its precision, in words."""
    eps, found = judge.case.point.eps, []
    normal = smallest(eps) / eps

    def watch(step: Step, y: Any, operands: list[Any]) -> None:
        if underflows(step, y, operands, normal):
            found.append(f"`{step.site.op.name}` in line {step.site.span.line} underflows")

    judge.case.replay(watch=watch)
    return found[0] if found else ""


# ---- beside a kink -------------------------------------------------------------------------------


FAR = 2.0**-10  # times the size of a number: how far it is moved
SIDES = (1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Beside:
    """The check of a gradient at a point beside the kink: its verdict, the point in words, and the
    operations to blame."""

    verdict: str = UNDECIDED
    where: str = ""
    blamed: list[Blame] = field(default_factory=list)


# Checks an output with these options, and adds what it finds at the point of that number.
Recheck = Callable[[Case, CheckOptions, Check, int], None]


def checked_beside(case: Case, variable: str, options: CheckOptions, recheck: Recheck) -> Beside:
    """The verdict on a gradient a little away from the point of `case`, in all variables at
    once."""
    return _found_beside(case, options, recheck).get(variable, Beside())


def _found_beside(case: Case, options: CheckOptions, recheck: Recheck) -> dict[str, Beside]:
    """The findings beside the point of a case, by variable, computed once for all of them."""
    point = case.point
    if case.output not in point.beside:
        point.beside[case.output] = {}  # a kink beside a kink isn't looked into further
        for side in SIDES:
            with suppress(GradcliError):
                found = _check(case, _moved(point, side), options, recheck)
                point.beside[case.output] = found
                if not any(beside.verdict in (ALLOWED, UNDECIDED) for beside in found.values()):
                    break
    return point.beside[case.output]


def _check(
    case: Case, moved: dict[str, Any], options: CheckOptions, recheck: Recheck
) -> dict[str, Beside]:
    found = Check("")
    beside = Point(case.point.program, {**case.point.inputs, **moved})
    for other in beside.cases:
        beside.beside[other.output] = {name: Beside(KINK) for name in beside.answer.sources}
        if other.output == case.output:
            recheck(other, replace(options, order=1, nonfinite=True), found, 0)
    beside.release()
    numbers = [f"{name} = {show(value)}" for name, value in moved.items() if not shape_of(value)]
    where = f"at {', '.join(numbers[:3])}" if numbers else "where all elements have moved a little"
    return {
        result.variable: Beside(result.verdict, where, found.blamed) for result in found.results
    }


def _moved(point: Point, side: float) -> dict[str, Any]:
    """The values of all variables after a move by about a thousandth of their sizes, each number by
    itself."""
    moved = {}
    sources = [
        s
        for s in point.answer.variables.values()
        if type(s) is Variable and s.kind == "var" and is_inexact(s.state)
    ]
    for k, source in enumerate(sources):
        state, scatter = source.state, Scatter(k, 1)
        shape = shape_of(state)
        if shape:
            sizes = CPU.xp.abs(state)
            largest = float(sizes.max(initial=0.0)) or 1.0
            moved[source.name] = state + (
                side * FAR * CPU.xp.where(sizes > 0, sizes, largest) * scatter.numbers(shape)
            ).astype(state.dtype)
        else:
            size = abs(state) if 0 < abs(state) < math.inf else 1.0
            moved[source.name] = state + type(state)(side * FAR * size * scatter.numbers(()))
    return moved
