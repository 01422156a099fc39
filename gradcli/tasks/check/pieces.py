"""Obstacles that keep differences from having a derivative as their limit: a function of several
pieces within a step, where an operation jumps or a branch goes otherwise, and numbers that
underflow."""

from __future__ import annotations

from typing import Any

from ...diagnostics import GradcliError
from ...engine.backends.backend import CPU
from ...engine.replay.rounding import smallest
from ...engine.replay.steps import Step
from .blame import FLAT
from .complex_step import numbers_of, underflows
from .verdicts import SAFETY, Judge

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
    return _underflow(judge)


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


def _underflow(judge: Judge) -> str:
    """The first product on the way that is too small for its precision, in words."""
    eps, found = judge.case.point.eps, []
    normal = smallest(eps) / eps

    def watch(step: Step, y: Any, operands: list[Any]) -> None:
        if underflows(step, y, operands, normal):
            found.append(f"`{step.site.op.name}` in line {step.site.span.line} underflows")

    judge.case.replay(watch=watch)
    return found[0] if found else ""
