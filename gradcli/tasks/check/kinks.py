"""Kinks: the operations on the way whose derivative jumps at their actual operands, along the
direction they are moved in.

An operation is moved a little to the one side and to the other. Where it is smooth, the two slopes
come together as the step shrinks; at a kink they don't: `abs` at 0, a tie of `max`, a root at 0. A
comparison of equals is one, too: it decides what `where` takes, or a branch. So is what makes ints
of numbers, as `int64` at 2, which indices and counts are made of.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

from ...diagnostics import GradcliError
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.replay.history import Step, compute
from ...engine.values.kinds import show
from ...engine.values.lanes import Lanes, deepest, with_rows
from ...ops.op import Op
from .differences import RELIABLE, Estimate, around, one_sided
from .path import Conditions
from .results import Kink
from .verdicts import Judge

STEP, STEP_SINGLE = 2.0**-20, 2.0**-12  # times the reach of a variable: in float64, in float32
SHRINK = 16.0
CLOSER = 2.0**-20  # times that step: where it has to be seen, too
JUMP = 1e-4  # of a slope
# By as much a slope grows as the step shrinks: at a jump by as much to both sides, or where it is
# infinite, as that of `cbrt` at 0.
GROWS = 1.5
# What an operation does within a step: its derivative jumps; it leads beyond the edge of a domain
# or to what isn't finite; nothing; nothing that could be seen for rounding errors.
BENDS, ENDS, SMOOTH, DROWNED = "bends", "ends", "smooth", "drowned"


def kinks(judge: Judge, conditions: Conditions) -> list[Kink]:
    """The kinks of one output along one direction, in execution order; of a place in the program
    the first."""
    case, direction = judge.case, judge.direction
    h = (STEP if case.point.eps < 1e-10 else STEP_SINGLE) * judge.reach
    if h * CLOSER <= sys.float_info.min:  # no step is as small
        return []
    casts = {step.number: step for step in (*case.history.casts, *conditions.casts)}
    before, here, after = (_operands(judge, conditions, casts.values(), by) for by in (-h, 0.0, h))
    found: dict[Any, tuple[Step, str]] = {}
    for step in sorted((*case.history.steps, *casts.values()), key=attrgetter("number")):
        if (
            step.body is not None
            or step.number not in before
            or step.number not in after
            or _has_none(step.site.op)
        ):
            continue
        downward, upward, operands = (
            _arrays(step, found[step.number]) for found in (before, after, here)
        )
        bends = [
            ((b - a) / 2, (b - 2 * o + a) / 2) if is_inexact(o) and type(o) is not list else None
            for a, b, o in zip(downward, upward, operands, strict=True)
        ]
        eps = case.point.eps
        if operands and step.site.span not in found:
            look = partial(_look, case.point.kept[0], step, operands, bends, unit=h, eps=eps)
            if _is_kink(look, h):
                found[step.site.span] = step, _shown(operands)
    for step, margin, slope in conditions.margins(direction, case.history.comparisons):
        if _is_even(margin, slope):
            found.setdefault(step.site.span, (step, "equal operands"))
    if not found:
        return []
    left, right = (settled(slope, judge.natural) for slope in one_sided(judge.samples))
    curve = tuple(around(judge.samples))
    return [
        Kink(
            case.output,
            direction.variable + direction.where,
            step.site.op.infix or step.site.op.name,
            step.site.span,
            operand,
            left,
            right,
            curve,
            tuple([call.function for call in step.calls]),
        )
        for step, operand in found.values()
    ]


def _has_none(op: Op) -> bool:
    """Whether an operation is smooth everywhere, so that what looks like a kink is a step too large
    for it: `sin` at 1e15."""
    return op.differentiable and op.elementwise and not op.note and not any(op.domain)


def _arrays(step: Step, operands: list[Any]) -> list[Any]:
    """The operands of a step, of many rows at once as arrays: none where it doesn't go element by
    element."""
    if Lanes not in map(type, operands):
        return operands
    group = deepest(operands)
    return (
        [with_rows(v, group) for v in operands]
        if group is not None and step.site.op.elementwise
        else []
    )


NOTHING = 1e-35  # of a slope: underflow


def settled(slope: Estimate, natural: float) -> float:
    """A one-sided derivative, 0.0 where it is less than its error; an infinity where the slopes
    don't settle, to a small part of what is natural: the function jumps, or has a root."""
    room = 0.1 * abs(slope.value) + max(RELIABLE * natural, NOTHING)
    if math.isfinite(slope.value) and slope.error > room:
        return math.copysign(math.inf, slope.value)
    return 0.0 if abs(slope.value) <= slope.error else slope.value


def _operands(
    judge: Judge, conditions: Conditions, casts: Collection[Step], h: float
) -> dict[int, list[Any]]:
    """The operands of every step and cast where the variable has moved by `h`; of those that can be
    reached."""
    found: dict[int, list[Any]] = {}
    with suppress(GradcliError):  # beyond the edge of a domain: what came before it was seen
        judge.case.replay(
            (judge.direction, h),
            watch=lambda step, y, operands: found.update({step.number: operands}),
        )
    with suppress(GradcliError):
        found.update(conditions.operands(casts, judge.direction, h))
    return found


def _is_kink(look: Callable[..., tuple[str, Any]], h: float) -> bool:
    """Whether an operation jumps at its operands, and not only near them, as at a step that leads
    beyond an edge."""
    found, bend = look(h)
    if found not in (BENDS, ENDS):
        return False
    closer, _ = look(h * CLOSER, bend)
    return closer in (BENDS, ENDS) or (found == BENDS and closer == DROWNED)


def _look(
    run: Any,
    step: Step,
    operands: list[Any],
    bends: list[Any],
    h: float,
    seen: Any = 0.0,
    *,
    unit: float,
    eps: float,
) -> tuple[str, Any]:
    """What an operation does within a step, where its operands move along parabolas, which `bends`
    are at 1 unit: of `x**2` at 0 the tangent leads nowhere. And by how much its slopes to both
    sides differ, element by element; `seen` is that of a larger step, which rounding errors may
    hide at this one."""
    op, sizes, is_stuck = step.site.op, [], False
    for delta in (h, h / SHRINK):
        by = delta / unit
        moved = [_along(operands, bends, by) for by in (0.0, by, -by)]
        is_stuck = any(
            bend is not None and bool(CPU.xp.any((a == o) & (bend[0] + by * bend[1] != 0)))
            for o, a, bend in zip(*moved[:2], bends, strict=True)
        )
        try:
            y, up, down = (_flat(compute(run, step, values)) for values in moved)
        except GradcliError:
            return ENDS, 0.0
        if y is None:
            return SMOOTH, 0.0
        if not y.shape == up.shape == down.shape:
            return BENDS, 0.0
        if not (CPU.xp.isfinite(up).all() and CPU.xp.isfinite(down).all()):
            return (ENDS if CPU.xp.isfinite(y).all() else SMOOTH), 0.0
        bend = abs(up - 2 * y + down) / delta
        slope = abs(up - down) / (2 * delta)
        size = abs(y) if op.elementwise else abs(y).max(initial=0.0)
        noise = 16 * eps * size / delta * op.differentiable  # ints are exact
        sizes.append((bend, slope, noise))
    (wide, shallow, _), (narrow, slope, noise) = sizes
    stays = (narrow > 0.3 * wide) & (narrow > JUMP * slope.max(initial=0.0)) & (narrow > noise)
    jumps = (slope > GROWS * shallow) & (slope > noise)
    if (stays | jumps).any():
        return BENDS, CPU.xp.where(stays, narrow, 0.0) + CPU.xp.where(jumps, slope, 0.0)
    is_hidden = is_stuck or bool(((seen > 0) & (seen < 2 * noise)).any())
    return (DROWNED if is_hidden else SMOOTH), 0.0


def _along(operands: list[Any], bends: list[Any], by: float) -> list[Any]:
    """Where operands are on their parabolas."""
    return [
        o if bend is None else o + by * (bend[0] + by * bend[1])
        for o, bend in zip(operands, bends, strict=True)
    ]


def _flat(value: Any) -> Any:
    """All numbers of a result; None where it is of many rows at once."""
    xp = CPU.xp
    parts = value if type(value) is list else [value]
    if Lanes in map(type, parts):
        return None
    return xp.concatenate(
        [xp.ravel(xp.asarray(part, dtype="complex128")).view("float64") for part in parts]
    )


def _is_even(margin: Any, slope: Any) -> bool:
    """Whether a comparison is of equals that don't stay equal."""
    return bool(CPU.xp.any((CPU.xp.asarray(margin) == 0) & (CPU.xp.asarray(slope) != 0)))


def _shown(operands: list[Any]) -> str:
    return ", ".join(
        show(v) if not shape_of(v) else f"an array of shape {shape_of(v)}"
        for v in operands[:3]
        if is_inexact(v)
    )
