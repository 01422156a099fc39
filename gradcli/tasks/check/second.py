"""Second derivatives: reverse over reverse, along one direction or two, against methods that know
nothing of its rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...diagnostics import GradcliError
from ...engine.ad.derivatives import gradients, recording_view
from ...engine.backends.backend import CPU, is_complex
from ...engine.execution import running
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.history import History
from ...engine.replay.rounding import rounding
from ...engine.values.boxes import primal
from ...engine.values.kinds import read
from . import closed_form
from .blame import Doubt, wrong_steps
from .closed_form import SkippedError
from .complex_step import tiny_step, verify_no_tiny_numbers, verify_no_underflow
from .differences import Estimate, Samples, crossed, curvature, extrapolated
from .directions import Direction, seed_of, seeds
from .lane_runs import FIRST_STEP, SMALLEST
from .point import Case
from .results import AGREE, OTHERS, Finding
from .trust import REPEATS, backward_pass, gradient_of, wobble
from .verdicts import SAFETY, Judge


class SecondJudge(Judge):
    """The methods on one second derivative: of an output, twice along a variable's direction, or
    along that and then those of `others`, which move together."""

    order = 2
    by_steps = ("complex", "differences")

    def __init__(self, first: Judge, others: Sequence[Direction] = ()) -> None:
        super().__init__(first.case, first.direction, first.options)
        self.on_trace, self._samples = first.on_trace, first._samples
        self.others = list(others)
        self.other_reach = self.reach
        if len(others) == 1:
            self.other_reach = self.case.reach(others[0])
        elif others:  # each as far as suits it
            self.others = [d._replace(vector=d.vector * self.case.reach(d)) for d in others]
            self.other_reach = 1.0
        self.apply_not: Mapping[str, str] = {}  # methods that say nothing of the gradient, and why
        # of the slopes that the complex step has, from rounding inside, where that was measured
        self.wobble = 0.0
        self.ways = [0.0]  # the derivative, in both orders
        self.refusal = ""  # why there is none
        try:
            one = [self.direction]
            found = [
                _twice(self.case, *way)
                for way in ((one, self.others), (self.others, one))[: 1 + bool(self.others)]
            ]
            self.ways, self.size = [g for g, _ in found], max(size for _, size in found)
        except GradcliError as error:
            self.refusal = error.diagnostics[0].message
        self.ours = self.ways[0]

    @property
    def ratio(self) -> float:
        """How far the others move where this one moves by 1."""
        return self.other_reach / self.reach

    @property
    def natural(self) -> float:
        return super().natural / self.other_reach

    def finding(self, method: str) -> Finding:
        found = super().finding(method)
        found.order = 2
        if self.others:
            a, b = self.direction, self.others[0]
            found.variable = f"{a.variable},{b.variable if len(self.others) == 1 else OTHERS}"
            if len(self.others) > 1 or a.where.startswith(" ") or b.where.startswith(" "):
                found.where = " along random directions"
            else:
                found.where = (
                    f"{a.variable}{a.where},{b.variable}{b.where}" if a.where or b.where else ""
                )
        return found

    def apply(self, method: str, found: Finding) -> None:
        if reason := self.refusal or self.apply_not.get(method):
            raise SkippedError(reason)
        self._compare(method, found)
        if method == "differences" and found.verdict != AGREE and self.take_apart():
            found.verdict, found.reason = AGREE, ""
            self._compare(method, found)

    def _compare(self, method: str, found: Finding) -> None:
        estimate = _METHODS[method](self)
        found.ours = self.ours = max(self.ways, key=lambda way: abs(way - estimate.value))
        scale = max(self.size, abs(estimate.value)) if math.isfinite(estimate.value) else self.size
        self.compare(found, estimate, scale)

    def rounding_error(self) -> float:
        if self.known_rounding is None:
            self.known_rounding = 0.0
            with running(), suppress(GradcliError):
                lasts = self.others or [self.direction]
                self.known_rounding = _rounding(self.case, self.direction, lasts)
        return self.known_rounding

    def measure_noise(self) -> bool:
        """Asks how far rounding errors inside move the output, and its slopes; whether that is more
        than last places say."""
        if self.is_real:
            with running(), suppress(GradcliError, NotAnalyticError):
                self.wobble = wobble(self.case, self.direction) or 0.0
        return super().measure_noise() or self.wobble > 0

    @property
    def is_real(self) -> bool:
        """Whether the complex step can be taken."""
        case, sources = self.case, self.case.point.answer.sources
        numbers = [
            primal(read(sources[direction.variable]))
            for direction in (self.direction, *self.others)
        ]
        is_float64 = case.point.program.options.dtype == "float64"
        return is_float64 and not any(map(is_complex, numbers)) and case.history.complex is None

    def moves(self, along: Any, beside: float) -> list[tuple[Direction, Any]]:
        """Where the variable has moved by `along`, and the others, or the same, by `beside`."""
        if not self.others:
            return [(self.direction, beside + along)]
        return [(self.direction, along), *((direction, beside) for direction in self.others)]

    def moved(self, h: float) -> list[tuple[Direction, float]]:
        return [(direction, h) for direction in self.others or [self.direction]]

    def beside(self) -> tuple[Samples, Callable[[float], float]]:
        """Differences are those of the slope, in forward mode."""
        case, direction = self.case, self.direction

        def slope(h: float) -> float:
            return case.carried(direction, *self.moved(h))

        samples = self.of_slopes(slope)
        samples.floor = wobble(self.case, self.direction) or 0.0
        return samples, _second_slopes(case, direction, self.others or [direction])

    def of_slopes(self, slope: Callable[[float], float]) -> Samples:
        """Slopes beside the point."""
        eps, first = self.case.point.eps, FIRST_STEP * max(self.other_reach, SMALLEST) * self.share
        return Samples(slope, slope(0.0), first, eps, eps * self.other_reach)

    def both(self, sign: float) -> Samples:
        """The output where all move, the others in their direction or against it."""

        def function(h: float) -> float:
            moves = self.moves(h, sign * self.ratio * h)
            try:
                return float(self.case.replay(*moves)) if self.on_trace else self.case.rerun(*moves)
            except GradcliError:
                return math.nan

        here = self.samples
        samples = Samples(function, here.value, here.first, here.eps, here.grain)
        samples.floor = here.floor
        return samples


def _twice(
    case: Case, firsts: Sequence[Direction], lasts: Sequence[Direction]
) -> tuple[float, float]:
    """The derivative along some directions, and then along others or again the same, as reverse
    mode over reverse mode has it; and the size of what goes into it."""
    run, sources = case.point.run, case.point.answer.sources
    lasts = lasts or firsts
    seeds = [
        (p, seed_of(p, w))
        for p, w in zip(case.parts, case.weights, strict=True)
        if type(p) is tuple
    ]
    with recording_view(run) as window:
        slopes = gradients(
            run, seeds, [sources[d.variable] for d in firsts], recorded=True, window=window
        )
        moved = [
            (g, seed_of(g, d.vector))
            for g, d in zip(slopes, firsts, strict=True)
            if type(g) is tuple
        ]
        if not moved:
            return 0.0, 0.0
        found = gradients(
            run, moved, [sources[d.variable] for d in lasts], recorded=False, window=window
        )
    terms = [case.along(d, g) for d, g in zip(lasts, found, strict=True) if g is not None]
    return sum(g for g, _ in terms), sum(size for _, size in terms)


def wrong_derivatives(case: Case, variable: str, others: Sequence[str]) -> list[Doubt]:
    """The operations of the backward pass whose own rules are wrong."""
    sources = case.point.kept[1].sources
    history = backward_pass(
        case, variable, {sources[other].number for other in others or (variable,)}
    )
    return [] if history is None else wrong_steps(history)


def _complex(judge: SecondJudge) -> Estimate:
    """Differences of the complex step, whose values have all their digits."""
    case = judge.case
    if not judge.is_real:
        raise SkippedError("the complex step needs real numbers in float64")
    step = tiny_step(judge.reach)
    verify_no_underflow(judge.ours, step * judge.other_reach, judge.reach)

    def slope(h: float) -> float:
        try:
            return float(CPU.xp.imag(case.replay(*judge.moves(step * 1j, h)))) / step
        except (GradcliError, NotAnalyticError):
            return math.nan

    case.replay(*judge.moves(step * 1j, 0.0))  # says why, where it can't be done
    samples = judge.of_slopes(slope)
    samples.floor = judge.wobble
    estimate = extrapolated(samples)
    floor = SAFETY * estimate.error + judge.floor(max(judge.size, abs(estimate.value)))
    if abs(estimate.value - judge.ours) > floor:
        verify_no_tiny_numbers(case)
    return estimate


def _differences(judge: SecondJudge) -> Estimate:
    if not judge.others:
        return curvature(judge.samples)
    return crossed(judge.both(1.0), judge.both(-1.0), judge.ratio)


def _sympy(judge: SecondJudge) -> Estimate:
    found = closed_form.second(judge.case, judge.direction, judge.others or [judge.direction])
    return Estimate(found, 0.0)


def _rounding(case: Case, first: Direction, lasts: Sequence[Direction]) -> float:
    """Measures how far other rounding errors, in all that depends on any variable, move a second
    derivative: in forward mode over the backward pass, and in a backward pass over it, as rules may
    lose digits inside."""
    forward = _second_slopes(case, first, lasts)
    slopes = [lambda disturb: forward(0.0, disturb), _pulled_twice(case, first, lasts)]
    disturbances = [rounding(seed, case.point.eps) for seed in range(REPEATS)]
    return max(
        abs(slope(disturb) - without)
        for slope in slopes
        for without in [slope(None)]
        for disturb in disturbances
    )


def _pulled_twice(
    case: Case, first: Direction, lasts: Sequence[Direction]
) -> Callable[[Any], float]:
    """The second derivative by a backward pass over the backward pass, with other rounding errors
    if asked for."""
    run, answer = case.point.kept
    sources = [answer.sources[direction.variable] for direction in lasts]
    with recording_view(run) as window:
        slope = gradient_of(case, first.variable, window)
        seeds = [(slope, seed_of(slope, first.vector))] if type(slope) is tuple else []
        bends = gradients(run, seeds, sources, recorded=True, window=window)
    traced = [(bend, d) for bend, d in zip(bends, lasts, strict=True) if type(bend) is tuple]
    history = History(run, [bend for bend, _ in traced], case.history.sources)

    def second(disturb: Any) -> float:
        values = history.values({}, disturb)
        return sum(case.along(d, v)[0] for (_, d), v in zip(traced, values, strict=True))

    return second


def _second_slopes(
    case: Case, first: Direction, lasts: Sequence[Direction]
) -> Callable[..., float]:
    """The second derivative where the last variables have moved by a step, with other rounding
    errors if asked for, by forward mode over the backward pass."""
    answer = case.point.kept[1]
    vectors = seeds(answer, [(direction, 1.0) for direction in lasts])
    history = backward_pass(case, first.variable, case.history.sources)

    def slope(h: float, disturb: Any = None) -> float:
        if history is None:
            return 0.0
        shifts = seeds(answer, [(direction, h) for direction in lasts]) if h else {}
        (tangent,) = history.tangents(vectors, disturb, shifts)
        return 0.0 if tangent is None else float(CPU.xp.sum(tangent * first.vector))

    return slope


_METHODS: dict[str, Callable[[SecondJudge], Estimate]] = {
    "complex": _complex,
    "differences": _differences,
    "sympy": _sympy,
}
METHODS = tuple(_METHODS)
