"""The path that a run took: which branches, how often, and how far each condition is from being
decided otherwise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

from ...diagnostics import GradcliError, Span
from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, count, is_complex, is_inexact, shape_of
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.history import COMPARISONS, Exactly, History, Step, compute
from ...engine.replay.value_trace import ValueTrace
from ...engine.trace.records import record_in
from ...engine.trace.tape import Traced
from ...engine.values.boxes import primal
from ...engine.values.kinds import read
from ...engine.values.lanes import Lanes
from .directions import Direction
from .point import Point
from .results import Branch, Path

TINY_STEP = 1e-30
MANY_STEPS = 500  # or comparisons, of a path, that are too many to be gone again and again
FAR = 1e9  # times the value of a variable: no branch flips there


class Conditions:
    """The conditions of a run that depend on its variables, as functions of these."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.run, self.answer = point.kept
        trace = self.run.trace
        assert isinstance(trace, ValueTrace)
        self.numbers = {
            name: n for name, s in self.answer.sources.items() if (n := number_of(s)) is not None
        }
        self.decided: list[
            tuple[Span, bool, list[Step]]
        ] = []  # where, how, and by which comparisons
        for value, span in trace.conditions:
            if type(value[0]) is Lanes:
                continue  # each of many rows decides for itself
            if count(shape_of(value[0])) == 1 and (
                comparisons := list(_comparisons(value))
            ):  # no error that was expected
                self.decided.append((span, bool(value[0]), comparisons))

    @cached_property
    def comparisons(self) -> list[Step]:
        """The comparisons that depend on a variable, in execution order."""
        numbers = self.history.moving
        unique = {step.number: step for _, _, steps in self.decided for step in steps}
        return [
            step for _, step in sorted(unique.items()) if any(n in numbers for _, n in step.refs)
        ]

    @cached_property
    def history(self) -> History:
        """The history of what all comparisons compare, and of what ints are made of."""
        return self._history(
            [*(step for _, _, steps in self.decided for step in steps), *self.casts]
        )

    def _history(self, steps: Collection[Step]) -> History:
        """The history of the operands of these."""
        targets: dict[int, Traced] = {}
        for step in steps:
            for k, n in step.refs:
                targets[n] = (step.operands[k], n, step.segment.holder(n))
        return History(self.run, targets.values(), self.numbers.values())

    @cached_property
    def casts(self) -> list[Step]:
        """What makes ints of the values that conditions, indices and counts are made of."""
        trace = self.run.trace
        assert isinstance(trace, ValueTrace)
        decisive = [value for value, _ in (*trace.conditions, *trace.choices)]
        return History(self.run, decisive, self.numbers.values()).casts

    def operands(
        self, steps: Collection[Step], direction: Direction, h: float
    ) -> dict[int, list[Any]]:
        """The operands of each of these where a variable has moved by `h` along a direction. Raises
        GradcliError where they can't be computed."""
        if not steps or direction.variable not in self.numbers:
            return {}
        history = self._history(steps)
        values = history.values({self.numbers[direction.variable]: h * direction.vector})
        known = {t[1]: value for t, value in zip(history.targets, values, strict=True)}
        found = {step.number: list(step.operands) for step in steps}
        for step in steps:
            for k, n in step.refs:
                found[step.number][k] = known[n]
        return found

    # ---- how far ---------------------------------------------------------------------------------

    def margins(
        self, direction: Direction, more: Sequence[Step] = ()
    ) -> Iterator[tuple[Step, Any, Any]]:
        """Each comparison, also those of `more`, with the difference of what it compares, and how
        that changes along a direction."""
        comparisons = [
            *self.comparisons,
            *(step for step in more if Lanes not in map(type, step.operands)),
        ]
        if not comparisons or direction.variable not in self.numbers:
            return
        history = self._history(comparisons) if more else self.history
        moved = self._moved(history, direction)
        for step in comparisons:
            here = list(step.operands)
            slopes: list[Any] = [0.0, 0.0]
            for k, n in step.refs:
                slopes[k] = moved.get(n, 0.0)
            if all(is_inexact(v) or not hasattr(v, "dtype") for v in here):
                margin, slope = here[0] - here[1], slopes[0] - slopes[1]
                if not is_complex(margin):
                    yield step, margin, slope
                elif not CPU.xp.any(
                    margin
                ):  # of complex numbers all that is known is whether they are equal
                    yield step, abs(margin), abs(slope)

    def _moved(self, history: History, direction: Direction) -> dict[int, Any]:
        """The change of the compared values along a direction."""
        number, keys = self.numbers[direction.variable], [t[1] for t in history.targets]
        try:
            values = history.values({number: TINY_STEP * 1j * direction.vector})
            return {k: CPU.xp.imag(v) / TINY_STEP for k, v in zip(keys, values, strict=True)}
        except (NotAnalyticError, GradcliError):
            h = 1e-7 * _reach(primal(read(self.answer.sources[direction.variable])))
        try:
            up, down = (history.values({number: side * h * direction.vector}) for side in (1, -1))
        except GradcliError:
            return {}
        return {k: (a - b) / (2 * h) for k, a, b in zip(keys, up, down, strict=True)}

    def holds(self, variable: str, value: float) -> bool:
        """Whether every condition is decided as it was where a variable has another value."""
        number = self.numbers[variable]
        trace = self.run.trace
        assert isinstance(trace, ValueTrace)
        was = primal(read(self.answer.sources[variable]))
        try:
            values = self.history.values(
                {number: value - was if number in trace.updated else Exactly(value)}
            )
        except GradcliError:
            return False
        known = {t[1]: v for t, v in zip(self.history.targets, values, strict=True)}
        for step in (*self.comparisons, *self.casts):
            operands = list(step.operands)
            for k, n in step.refs:
                operands[k] = known.get(n, operands[k])
            was = record_in(step.segment, step.number).y
            if not CPU.xp.array_equal(compute(self.run, step, operands), was):
                return False
        return True

    # ---- the report ------------------------------------------------------------------------------

    def path(self) -> Path:
        """The branches that were taken, and the intervals in which they stay the same."""
        found = Path()
        if not self.comparisons:
            return found
        scalars = [
            name for name in self.numbers if not shape_of(primal(read(self.answer.sources[name])))
        ]
        nearest: dict[int, dict[str, float]] = {}
        for name in scalars:
            if is_inexact(primal(read(self.answer.sources[name]))):
                for step, margin, slope in self.margins(Direction(name, 1.0, "")):
                    nearest.setdefault(step.number, {})[name] = _distance(margin, slope)
        moving = {step.number for step in self.comparisons}
        for span in dict.fromkeys(span for span, _, _ in self.decided):
            there = [(how, steps) for where, how, steps in self.decided if where == span]
            if not any(s.number in moving for _, steps in there for s in steps):
                continue
            distance: dict[str, float] = {}
            for _, steps in there:
                for step in steps:
                    for name, d in nearest.get(step.number, {}).items():
                        distance[name] = min(d, distance.get(name, math.inf))
            held = sum(how for how, _ in there)
            found.branches.append(
                Branch(
                    span,
                    held,
                    len(there) - held,
                    {n: d for n, d in distance.items() if d < math.inf},
                )
            )
        if max(len(self.history.steps), len(self.comparisons)) <= MANY_STEPS:
            for name in scalars:
                value = primal(read(self.answer.sources[name]))
                slopes = [d[name] for d in nearest.values() if name in d and d[name] < math.inf]
                if (
                    type(value) is float
                    and math.isfinite(value)
                    and slopes
                    and self.holds(name, value)
                ):
                    low, low_in = self._end(name, value, -1, min(slopes))
                    high, high_in = self._end(name, value, 1, min(slopes))
                    found.valid[name] = low, low_in, high, high_in
        return found

    def _end(self, name: str, value: float, side: int, guess: float) -> tuple[float, bool]:
        """Where the path ends on one side of a value, and whether it still holds there; an infinity
        where it doesn't."""

        good, step = value, max(guess * 0.999, math.ulp(value))
        while True:
            bad = value + side * step
            if not self.holds(name, bad):
                break
            good = bad
            step = step * 1.002 if step < guess else step * 2
            if step > FAR * max(abs(value), 1.0):
                return side * math.inf, False
        while True:
            middle = (good + bad) / 2
            if middle in (good, bad):
                break
            if self.holds(name, middle):
                good = middle
            else:
                bad = middle
        return (bad, False) if len(repr(bad)) < len(repr(good)) else (good, True)


def _distance(margin: Any, slope: Any) -> float:
    """The smallest change that makes a difference zero, to first order."""
    xp = CPU.xp
    margin, slope = xp.broadcast_arrays(
        xp.abs(xp.asarray(margin, float)), xp.abs(xp.asarray(slope, float))
    )
    return float(
        xp.min(
            xp.where(slope == 0, math.inf, margin / xp.where(slope == 0, 1.0, slope)),
            initial=math.inf,
        )
    )


def _reach(value: Any) -> float:
    largest = float(abs(value).max()) if shape_of(value) else float(abs(value))
    return largest or 1.0


def _comparisons(value: Traced) -> Iterator[Step]:
    """The comparisons that a bool was made of, by `any`, `all`, `not`, or nothing else."""
    pending = [(value[1], value[2])]
    while pending:
        number, segment = pending.pop()
        if number < 0:
            continue
        record = record_in(segment, number)
        site, inputs, operands, y = record.site, record.inputs, record.operands, record.y
        if site.op.name in COMPARISONS:
            if Lanes in map(type, operands):
                continue
            yield Step(
                number,
                site,
                operands,
                {},
                tuple(zip(site.operands, inputs, strict=True)),
                None,
                segment,
            )
        elif getattr(getattr(y, "dtype", None), "kind", "b" if type(y) is bool else "") == "b":
            pending += [(n, segment.holder(n)) for n in inputs]
