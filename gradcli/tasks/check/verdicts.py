"""What each method says of each derivative: its answer, next to the one of reverse mode, and a
verdict.

A verdict here is of the numbers alone. Whether a distance is a wrong rule, a kink or an
ill-conditioned function, `checking` finds out afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...diagnostics import GradcliError
from ...engine.backends.backend import is_complex
from ...engine.execution import running
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.rounding import rounding
from ...engine.values.kinds import Variable
from . import closed_form
from .closed_form import SkippedError
from .complex_step import finer_step, tiny_step, verify_no_tiny_numbers, verify_no_underflow
from .differences import (
    RELIABLE,
    SHRINK,
    Estimate,
    Samples,
    distance,
    extrapolated,
    negligible,
    remainder,
)
from .directions import Direction
from .lane_runs import SMALLEST, first_step
from .point import Case
from .results import AGREE, DISAGREE, INCONCLUSIVE, SKIPPED, CheckOptions, Finding
from .trust import REPEATS, digits, lost, wobble

# Of what adds up to a derivative: how far two right answers may be apart, in float64 and float32.
CLOSE, CLOSE_SINGLE = 1e-11, 1e-5
SMALL, ROUNDED = 1e-7, 1e-11  # of a natural derivative: what is none, and what rounding makes of it
SAFETY = 10.0  # times an estimated error
ILL = 1e-9  # a relative error of a derivative from rounding alone, that is worth mentioning
EXACT = ("complex", "sympy")  # methods that have no other error
SHARP = 1e-6  # a relative tolerance of differences
LAST_DIGIT = 0.1  # a relative tolerance that leaves none
ZERO = "it is zero to rounding"


class Judge:
    """The methods on one output and one direction; what they share is computed once."""

    order = 1
    by_steps = ("differences", "taylor")  # methods that steps may be too large for

    def __init__(self, case: Case, direction: Direction, options: CheckOptions) -> None:
        self.case, self.direction, self.options = case, direction, options
        self.ours, self.size = case.along(direction)
        self._samples: Samples | None = None
        self.smallest = SMALLEST  # that a variable is taken to be, for the first step
        self.share = 1.0  # of the first step that is usual
        self.known_noise = 0.0  # of the output, from rounding inside, where that was measured
        self.known_rounding: float | None = None  # of the derivative, where that was measured
        self.in_lanes = True  # whether the program may run for several differences at once
        self.on_trace = False  # whether differences are taken along the trace

    def finding(self, method: str) -> Finding:
        """Applies a method and returns its finding."""
        case = self.case
        found = Finding(
            case.output,
            self.direction.variable,
            method,
            AGREE,
            where=self.direction.where,
            ours=self.ours,
        )
        if not math.isfinite(self.ours):
            found.verdict, found.reason = (
                INCONCLUSIVE,
                f"the derivative is {'infinite' if math.isinf(self.ours) else 'nan'}",
            )
            found.theirs = math.nan
            return found
        try:
            with running():
                self.apply(method, found)
        except SkippedError as reason:
            found.verdict, found.reason, found.theirs = SKIPPED, str(reason), math.nan
        except NotAnalyticError as error:
            found.verdict, found.theirs = SKIPPED, math.nan
            found.reason = (
                f"`{error.site.op.name}` isn't analytic, or takes no complex numbers (line "
                f"{error.site.span.line})"
            )
        except GradcliError as error:
            found.verdict, found.theirs = INCONCLUSIVE, math.nan
            found.reason = f"the program can't be run there: {error.diagnostics[0].message}"
        return found

    def apply(self, method: str, found: Finding) -> None:
        """Applies a method, which completes the finding."""
        _METHODS[method](self, found)

    # ---- comparing -------------------------------------------------------------------------------

    def compare(self, found: Finding, estimate: Estimate, scale: float) -> None:
        """The verdict on an estimate; `scale` is the size of what goes into the derivative."""
        found.theirs = estimate.value
        found.ulps = distance(self.ours, estimate.value, self.case.point.eps)
        if not math.isfinite(estimate.value):
            found.verdict, found.reason = INCONCLUSIVE, "the function isn't finite there"
            return
        gap = abs(self.ours - estimate.value)
        given = (self.options.rtol or 0.0) * max(abs(self.ours), abs(estimate.value)) + (
            self.options.atol or 0.0
        )
        floor = self.floor(scale) if found.method in EXACT else self.coarse_floor(scale)
        error = max(estimate.error, self.known_rounding or 0.0)
        if found.method not in self.by_steps and gap > max(SAFETY * error + floor, given):
            error = max(error, self.rounding_error())
        found.error, tolerance = error, max(SAFETY * error + floor, given)
        found.tolerance = tolerance
        if not math.isfinite(tolerance):  # every distance would pass
            found.verdict, found.reason = (
                INCONCLUSIVE,
                f"its error is {tolerance:g}, so that nothing can be told",
            )
            return
        known = max(self.resolution(max(scale, abs(estimate.value))), given)
        if (
            found.method in EXACT
            and tolerance > known
            and max(gap, abs(self.ours)) <= tolerance <= ROUNDED * self.natural
        ):
            found.reason = ZERO
        elif found.method != "forward" and tolerance > known:
            found.verdict = INCONCLUSIVE
            error = max(error, tolerance / SAFETY)
            if found.method in EXACT and self.order == 1 and self.ours:
                found.reason = lost(self.case, self.direction, error, self.ours)
            else:
                found.reason = f"the noise floor: its error is about {error:.1g}"
        elif gap > tolerance:
            is_tiny = max(abs(self.ours), abs(estimate.value)) <= negligible(self.case.point.eps)
            found.verdict = INCONCLUSIVE if is_tiny else DISAGREE
            found.reason = "numbers as small as these underflow" if is_tiny else ""
        elif self.order == 1 and found.method in EXACT and error > ILL * abs(self.ours) > 0:
            found.reason = f"ill-conditioned: {digits(error, self.ours)}"

    def rounding_error(self) -> float:
        """The effect of rounding errors inside on the derivative, measured once."""
        if self.known_rounding is None:
            with running():
                measured = wobble(self.case, self.direction)
            self.known_rounding = self.noise / SAFETY if measured is None else measured
        return self.known_rounding

    @property
    def is_lost(self) -> bool:
        """Whether rounding errors are known to leave no digit of a derivative."""
        return SAFETY * (self.known_rounding or 0.0) > LAST_DIGIT * abs(self.ours) > 0

    def weigh_rounding(self, row: dict[str, Finding]) -> None:
        """Doubts the complex step, which rounds as the program does, where SymPy doesn't confirm
        it: then it agrees to the digits that rounding errors leave, if any. Of one point among
        others sharp differences have to do, as it would be evaluated again alone."""
        found = row.get("complex")
        if found is None or found.verdict != AGREE:
            return
        said = {m: f for m, f in row.items() if f.verdict == AGREE}
        steps = said.get("differences") if not self.case.is_alone else None
        is_sharp = steps is not None and steps.tolerance < SHARP * abs(self.ours)
        is_confirmed = "sympy" in said or is_sharp
        if self.known_rounding is None and is_confirmed:
            return
        error = found.error = max(found.error, self.rounding_error())
        found.tolerance = max(found.tolerance, SAFETY * error)
        if error and not self.ours:
            self.samples.level(0)  # what is natural
        is_some = self.ours or self.natural or abs(row.get("sympy", found).theirs) > 0
        if error and is_some and SAFETY * error > LAST_DIGIT * abs(self.ours):
            if SAFETY * error <= (ROUNDED if self.ours else SMALL) * self.natural:
                found.reason = ZERO
                return
            reason = lost(self.case, self.direction, error, self.ours)
            for f in (found, *(() if self.ours else said.values())):  # a zero that all agree on
                f.verdict, f.reason = INCONCLUSIVE, reason
        elif error > ILL * abs(self.ours) > 0 and self.order == 1:
            found.reason = f"ill-conditioned: {digits(error, self.ours)}"

    def resolution(self, scale: float) -> float:
        """What a method has to resolve of a derivative; of a zero a part of what is natural."""
        if self.ours:
            return RELIABLE * scale
        return max(RELIABLE * scale, SMALL * self.natural, negligible(self.case.point.eps))

    def floor(self, scale: float) -> float:
        """How far two right answers may be apart; `scale` is the size of what goes into them."""
        return (CLOSE if self.case.point.eps < 1e-10 else CLOSE_SINGLE) * scale

    def coarse_floor(self, scale: float) -> float:
        """The same where a method uses values of the function, or isn't independent."""
        return CLOSE * (self.case.point.eps / 2.0**-52) * scale + self.noise

    @property
    def noise(self) -> float:
        """What rounding errors of the output can make of a slope."""
        return 64 * self.case.point.eps * abs(self.case.value) / self.reach

    @property
    def natural(self) -> float:
        """A derivative of the size that the output, the variable and the slopes nearby suggest:
        below a small part of it, zero is zero."""
        nearby = self._samples.slope() if self._samples is not None else 0.0
        return max(abs(self.case.value) / self.reach, nearby)

    @property
    def reach(self) -> float:
        """How far a variable can be moved along the direction: the size of its values; 1 for 0."""
        return self.case.reach(self.direction)

    @property
    def samples(self) -> Samples:
        if self._samples is None:
            function = self._along_the_trace if self.on_trace else self._of_the_program
            first = first_step(self.case, self.direction, self.smallest) * self.share
            eps = self.case.point.eps
            self._samples = Samples(function, self.case.value, first, eps, eps * self.reach)
            self._samples.floor = self.known_noise
            if self.in_lanes and not self.on_trace:
                self._samples.ahead = self.case.beside(self.direction, first) or []
        return self._samples

    def _of_the_program(self, h: float) -> float:
        try:
            return self.case.rerun((self.direction, h))
        except GradcliError:
            return math.nan

    def _along_the_trace(self, h: float) -> float:
        try:
            return float(self.case.replay((self.direction, h)))
        except GradcliError:
            return math.nan

    def take_apart(self) -> bool:
        """From now on runs the program for each difference by itself; returns whether it didn't
        before."""
        was = self._samples is not None and bool(self._samples.ahead)
        self.in_lanes = False
        if was:
            self._samples = None
        return was

    def compare_differences(self, found: Finding) -> None:
        """The verdict on extrapolated differences."""
        estimate = extrapolated(self.samples)
        self.compare(
            found,
            estimate,
            max(self.size, abs(estimate.value)) if math.isfinite(estimate.value) else self.size,
        )

    def look_closer(self) -> bool:
        """From now on takes smaller steps, for a variable that is small itself; returns whether
        there are any."""
        if self.reach >= self.smallest:
            return False
        self.smallest, self._samples = self.reach, None
        return True

    def moved(self, h: float) -> list[tuple[Direction, float]]:
        """What moves where the derivative is held against differences."""
        return [(self.direction, h)]

    def beside(self) -> tuple[Samples, Callable[[float], float]]:
        """What differences are of, and the derivatives beside that they are the means of."""
        return self.samples, lambda h: self.case.carried(self.direction, *self.moved(h))

    def look_finer(self, level: int) -> None:
        """Begins from now on with the step of a level."""
        self.share, self._samples = self.share * SHRINK**-level, None

    def measure_noise(self) -> bool:
        """Measures how far rounding errors inside move the output; returns whether that is more
        than its last places suggest."""
        case = self.case
        with running():
            disturbances = [rounding(seed, case.point.eps) for seed in range(REPEATS)]
            others = [
                float(case.replay((self.direction, 0.0), disturb=disturb))
                for disturb in disturbances
            ]
        floor = max(abs(other - case.value) for other in others)
        if not floor > 4 * self.case.point.eps * abs(case.value):
            return False
        self.samples.floor = self.known_noise = floor
        return True

    def allow_for_roughness(self, step: float) -> bool:
        """Measures how rough the output is around a step; returns whether that is news."""
        is_rough = self.samples.allow_for_roughness(step)
        self.known_noise = self.samples.floor
        return is_rough

    def use_trace(self) -> None:
        """From now on differences are taken along the trace, with what gradients don't flow through
        as it was."""
        self.on_trace, self._samples = True, None


# ---- methods -------------------------------------------------------------------------------------


def _forward(judge: Judge, found: Finding) -> None:
    source = judge.case.point.answer.sources[judge.direction.variable]
    if type(source) is not Variable or source.kind != "var":
        raise SkippedError(
            f"`{judge.direction.variable}` is no variable, and forward mode starts at variables"
        )
    case, direction = judge.case, judge.direction
    try:
        estimate = case.carried(direction) if case.point.is_long_in_all else case.tangent(direction)
    except GradcliError as error:
        raise SkippedError(f"{error.diagnostics[0].message}") from None
    judge.compare(found, Estimate(estimate, 0.0), max(judge.size, abs(estimate)))


def _complex(judge: Judge, found: Finding) -> None:
    case = judge.case
    if is_complex(case.state(judge.direction.variable)):
        raise SkippedError(f"`{judge.direction.variable}` is complex")
    if case.history.complex is not None:
        raise SkippedError(
            f"the program computes with complex numbers (line {case.history.complex.span.line})"
        )
    step = tiny_step(judge.reach)
    verify_no_underflow(judge.ours, step, judge.reach)
    slope = case.imaginary(judge.direction, step) / step
    if not judge.ours and abs(slope) <= step:  # of `abs(x)**3` at 0 this is what the step leaves
        slope = 0.0
    scale = max(judge.size, abs(slope))
    if abs(slope - judge.ours) > judge.floor(scale):
        verify_no_tiny_numbers(case)
        fine = finer_step(step)
        finer = case.imaginary(judge.direction, fine) / fine
        if finer and abs(finer - judge.ours) <= judge.floor(scale):
            slope = finer  # of `abs(x)**1.25` at 0: what the step leaves shrinks with it
    judge.compare(found, Estimate(slope, 0.0), scale)


def _differences(judge: Judge, found: Finding) -> None:
    judge.compare_differences(found)
    if found.verdict != AGREE and judge.take_apart():
        found.verdict, found.reason = AGREE, ""
        judge.compare_differences(found)
    if found.verdict != AGREE and judge.look_closer():
        found.verdict, found.reason = AGREE, ""
        judge.compare_differences(found)


def _taylor(judge: Judge, found: Finding) -> None:
    _compare_orders(judge, found)
    if found.verdict != AGREE and judge.take_apart():
        found.verdict, found.reason = AGREE, ""
        _compare_orders(judge, found)


def _compare_orders(judge: Judge, found: Finding) -> None:
    order, room, is_linear = remainder(judge.samples, judge.ours)
    found.theirs, found.error = order, room
    found.tolerance = room
    if 1.7 < order < 2.3:
        room *= max(abs(2.0 - order), 0.03)  # the rest of it is of second order
    enough = max(3 * RELIABLE * judge.size, judge.resolution(0.0))
    if is_linear and room > max(
        SMALL * judge.natural, (judge.options.rtol or 0.0) * judge.size, judge.options.atol or 0.0
    ):
        found.verdict, found.reason = DISAGREE, ""
    elif math.isnan(order) or room > enough:
        found.verdict, found.reason = INCONCLUSIVE, "the noise floor: no order can be told"
    elif order < 1.7:
        found.verdict, found.reason = (
            INCONCLUSIVE,
            "the order is neither 1 nor 2: the function isn't twice differentiable there",
        )


def _sympy(judge: Judge, found: Finding) -> None:
    slope = closed_form.slope(judge.case, judge.direction)
    judge.compare(found, Estimate(slope, 0.0), max(judge.size, abs(slope)))


_METHODS: dict[str, Callable[[Judge, Finding], None]] = {
    "forward": _forward,
    "complex": _complex,
    "differences": _differences,
    "taylor": _taylor,
    "sympy": _sympy,
}
