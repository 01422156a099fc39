"""Finite differences, and the order of the Taylor remainder: both from the output at points beside
the one at hand.

The differences are central ones with steps that shrink, extrapolated to the step 0 (Ridders,
Advances in Engineering Software 4, 1982, 75). Neighbours in that table say how large the error is;
the step's share of rounding is added. So the tolerance of a comparison follows from the function,
and there is no step size to choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, pairwise
from typing import NamedTuple

from ...engine.replay.rounding import smallest

SHRINK = 4.0
LEVELS = 12
CLEAR = 50.0  # times the rounding error: what a remainder has to be to be one
ENOUGH = 1e-10  # a relative error at which no smaller step is tried
CONVERGED = 1e-3  # a relative error that doesn't come by chance
SLOWEST = 0.99  # the factor by which distances from a limit shrink at least; of logarithms it is 1
# Levels at which a function rises by as much, but for this share, so that it jumps; or goes as
# steeply, so that it is smooth there; or is as rough.
LAST, SAME = 4, 0.01
AROUND = range(-2, 10)  # levels: stairs may be larger than a step
ROUGH = 8.0  # last places of the output
SMOOTH = 2.0**-12  # of the largest step: where little is left of third derivatives
CURVE = 8  # points to each side of what a plot shows
RELIABLE = 1e-4  # what a method has to resolve of a derivative to say anything


def negligible(eps: float) -> float:
    """The absolute error that any number of a precision may have, because intermediate results
    underflow."""
    return 1e-300 if eps < 1e-10 else 1e-35


class Estimate(NamedTuple):
    """A derivative, and how wrong it may be."""

    value: float
    error: float


class Beside(NamedTuple):
    """The output at a step to the one side and to the other."""

    step: float
    up: float
    down: float


class Samples:
    """The output beside a point, at as many steps as were asked for. `first` is the largest step,
    and `grain` the last place of the number that a step is added to: no step is as small."""

    def __init__(
        self,
        function: Callable[[float], float],
        value: float,
        first: float,
        eps: float,
        grain: float = 0.0,
    ) -> None:
        self.function, self.value, self.first, self.eps = function, value, first, eps
        self.grain = grain
        # of the rounding error of the output, where it is known to be more than its last places
        self.floor = 0.0
        self.ahead: list[Beside] = []  # what is known of them without asking `function`
        self._found: list[Beside] = []

    def level(self, k: int) -> Beside:
        while len(self._found) <= k:
            h = self.first / SHRINK ** len(self._found)
            if h <= self.grain:
                self._found.append(Beside(h, math.nan, math.nan))
            elif len(self._found) < len(self.ahead):
                self._found.append(self.ahead[len(self._found)])
            else:
                self._found.append(Beside(h, self.function(h), self.function(-h)))
        return self._found[k]

    def noise(self, k: int, side: int = 0) -> float:
        """The rounding error of the output at a level, on the sides where it has a value. On one
        side, 1 or -1, that of its last places alone: rounding inside may lead across a jump, which
        is what sides are looked at for."""
        step, *ends = self.level(k)
        up, down = (
            end if math.isfinite(end) and side in (0, way) else self.value
            for way, end in zip((1, -1), ends, strict=True)
        )
        last_places = 2 * self.eps * max(abs(up), abs(down), abs(self.value))
        by_step = self.grain / 2 * _quotient(abs(up - down), (1 if side else 2) * step)
        floor = 0.0 if side else self.floor
        return max(last_places, floor, smallest(self.eps)) + by_step

    def allow_for_roughness(self, step: float) -> bool:
        """Measures the error of the output around a step by differences in which what is smooth
        cancels, and goes on shrinking; returns whether that is more than was known: of a function
        that rounds inside to less than its last places, or ends a search."""
        steps = [step * SHRINK**k for k in AROUND if step * SHRINK**k <= SMOOTH * self.first]
        rises = [(self.function(h) - self.value, self.function(-h) - self.value) for h in steps]
        ends = list(dropwhile(lambda ends: ends == (0.0, 0.0), rises))
        rests = [
            max(
                abs((a + sign * b) - ratio * (c + sign * d)) / (2 + 2 * ratio)
                for sign, ratio in ((1, SHRINK**2), (-1, SHRINK))
            )
            for (c, d), (a, b) in pairwise(ends)
        ]
        found = min(rests[:LAST], default=0.0)
        is_rough = math.inf > found > max(self.floor, ROUGH * self.eps * abs(self.value))
        self.floor = found if is_rough else self.floor
        return is_rough

    def rise(self, k: int) -> float:
        """The change of the output at a level."""
        beside = self.level(k)
        return max(
            [abs(v - self.value) for v in (beside.up, beside.down) if math.isfinite(v)], default=0.0
        )

    def moves_both_ways(self) -> bool:
        """Whether the output moves within the smallest step to both sides."""
        near, least = self.level(LEVELS - 1), CLEAR * self.noise(LEVELS - 1)
        return min(abs(end - self.value) for end in (near.up, near.down)) > least

    def slope(self) -> float:
        """The larger slope between the point and those at the largest step, if these were computed:
        what a zero derivative compares to."""
        slopes = [abs(v - self.value) / b.step for b in self._found[:1] for v in (b.up, b.down)]
        return max([s for s in slopes if math.isfinite(s)], default=0.0)


def around(samples: Samples) -> list[tuple[float, float]]:
    """The output at steps that are evenly spread around the point, up to the largest one: as a plot
    shows it. nan where it has no value, and where it jumps beside the point."""
    left, right = _beside(samples, -1), _beside(samples, 1)
    return [*reversed(left), (0.0, samples.value), *right]


def _beside(samples: Samples, side: int) -> list[tuple[float, float]]:
    """The points of a plot to one side, from the nearest on."""
    steps = [side * samples.first * k / CURVE for k in range(1, CURVE + 1)]
    points = [(step, samples.function(step)) for step in steps]
    levels = [samples.level(k) for k in range(LEVELS)]
    ends = [(b.step, b.up if side > 0 else b.down) for b in levels]
    near, value = min((end for end in ends if math.isfinite(end[1])), default=(0.0, samples.value))
    if abs(value - samples.value) > abs(points[0][1] - samples.value) / 2:  # however near: a jump
        points = [(side * near / 2, math.nan), (side * near, value), *points]
    return points


def ridders(
    quotients: Iterator[tuple[float, float]],
    power: int,
    settled: Callable[[int, Estimate, float], bool] = lambda *_: False,
) -> Estimate:
    """The limit of difference quotients, each with its rounding error, at steps that shrink by
    `SHRINK`: their error is a series in the step to the `power`. An infinite error where none is
    finite. `settled(level, best so far, rounding error)` tells that no smaller step is needed."""
    best = Estimate(math.nan, math.inf)
    row: list[float] = []
    for k, (quotient, rounding) in enumerate(quotients):
        if not math.isfinite(quotient):
            row = []
            continue
        previous, row = row, [quotient]
        factor = SHRINK**power
        for older in previous:
            row.append((row[-1] * factor - older) / (factor - 1))
            factor *= SHRINK**power
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - older)) + rounding
            if error < best.error or _belies(row[-1], error, best):
                best = Estimate(row[-1], error)
        if settled(k, best, rounding):
            break
    return best


def _belies(value: float, error: float, best: Estimate) -> bool:
    """Whether an estimate that has converged shows that the best one so far only seemed to: at
    steps too large for the function quotients are small, and so are their differences."""
    converged = error < CONVERGED * abs(value) and best.error > 0.1 * abs(best.value)
    return converged and abs(value - best.value) > 10 * (error + best.error)


def aitken(quotients: Sequence[tuple[float, float]]) -> Estimate:
    """The limit of quotients, each with its rounding error, whose distances from it shrink by
    whatever factor the last ones do: by Aitken's delta-squared process. Where they don't shrink,
    the last one that stands out of rounding errors, and an infinite error."""
    best, last = Estimate(math.nan, math.inf), math.nan
    for (first, _), (second, _), (third, rounding) in zip(
        quotients, quotients[1:], quotients[2:], strict=False
    ):
        before, after = second - first, third - second
        if abs(after) < SLOWEST * abs(before):
            ratio = after / before
            value = third + after * ratio / (1 - ratio)
            error = abs(value - last) + 4 * rounding / (1 - ratio) ** 2
            if error < best.error:
                best = Estimate(value, error)
            last = value
        elif abs(after) > CLEAR * rounding:
            best, last = Estimate(third, math.inf), math.nan
    return best


def _quotient(rise: float, step: float) -> float:
    """A quotient; nan where steps are so small that their product has underflowed."""
    return rise / step if step else math.nan


def extrapolated(samples: Samples) -> Estimate:
    """The derivative by central differences."""
    levels = ((k, samples.level(k)) for k in range(LEVELS))
    slopes = (
        (_quotient(b.up - b.down, 2 * b.step), _quotient(samples.noise(k), b.step))
        for k, b in levels
    )
    return ridders(
        slopes,
        2,
        lambda k, best, r: (
            best.error <= ENOUGH * abs(best.value) or (k > 3 and r > 10 * best.error)
        ),
    )


def curvature(samples: Samples) -> Estimate:
    """The second derivative by second differences."""
    levels = ((k, samples.level(k)) for k in range(LEVELS))
    bends = (
        (
            _quotient(b.up - 2 * samples.value + b.down, b.step * b.step),
            _quotient(2 * samples.noise(k), b.step * b.step),
        )
        for k, b in levels
    )
    return ridders(bends, 2, _drowned)


def crossed(together: Samples, apart: Samples, ratio: float) -> Estimate:
    """The mixed second derivative by two variables, from the output where both move `together`, the
    second one `ratio` times as far, and where it moves the other way."""
    levels = ((k, together.level(k), apart.level(k)) for k in range(LEVELS))
    bends = (
        (
            _quotient(a.up + a.down - b.up - b.down, 4 * ratio * (a.step * a.step)),
            _quotient(max(together.noise(k), apart.noise(k)), ratio * (a.step * a.step)),
        )
        for k, a, b in levels
    )
    return ridders(bends, 2, _drowned)


def _drowned(level: int, best: Estimate, rounding: float) -> bool:
    """Whether rounding errors dominate at smaller steps."""
    return rounding > 10 * best.error


def one_sided(samples: Samples) -> tuple[Estimate, Estimate]:
    """The derivatives to the left and to the right, from the steps on that side alone."""
    return _one_side(samples, -1), _one_side(samples, 1)


def _one_side(samples: Samples, side: int) -> Estimate:
    known = []
    for k in range(LEVELS):
        step, up, down = samples.level(k)
        rise = up - samples.value if side > 0 else samples.value - down
        if math.isfinite(rise):
            known.append((step, rise, samples.noise(k, side)))
    if len(known) >= LAST and _jumps(known[-LAST:]):
        step, rise, _ = known[-1]
        return Estimate(_quotient(rise, step), math.inf)
    return _limit([(_quotient(rise, step), _quotient(noise, step)) for step, rise, noise in known])


def _jumps(last: Sequence[tuple[float, float, float]]) -> bool:
    """Whether a function rises by as much however small the step is: a step, the rise, and its
    noise at each level."""
    jumps = [low - (high - low) / (SHRINK - 1) for (_, high, _), (_, low, _) in pairwise(last)]
    least = CLEAR * max(noise for _, _, noise in last)
    return min(map(abs, jumps)) > least and all(
        abs(jump - jumps[-1]) <= SAME * abs(jumps[-1]) for jump in jumps
    )


def _limit(quotients: list[tuple[float, float]]) -> Estimate:
    """The limit of one-sided quotients. Their errors are a series in the step, or begin with a
    fraction of its power, as of `abs(x)**1.5` at 0; an infinite error where they diverge."""
    by_series, by_ratio = ridders(iter(quotients), 1), aitken(quotients)
    last = quotients[-LAST:]
    nearest = last[-1][0] if last else math.nan
    near = SAME * abs(nearest)
    if all(abs(q - nearest) <= near for q, _ in last) and abs(by_series.value - nearest) > 2 * near:
        by_series = ridders(iter(last), 1)  # larger steps lead across jumps
    diverges = math.isfinite(by_ratio.value) and math.isinf(by_ratio.error)
    largest = max((abs(q) for q, _ in quotients if math.isfinite(q)), default=0.0)
    if diverges and by_series.error > CONVERGED * largest:
        return by_ratio
    return min(by_series, by_ratio, key=lambda found: found.error)


def bends(samples: Samples, slope: float) -> tuple[Estimate, Estimate]:
    """The second derivatives to the left and to the right, where the first is `slope`."""
    return _bend(samples, slope, -1), _bend(samples, slope, 1)


def _bend(samples: Samples, slope: float, side: int) -> Estimate:
    levels = [samples.level(k) for k in range(LEVELS)]
    ends = (b.up if side > 0 else b.down for b in levels)
    return _limit(
        [
            (
                _quotient(2 * (end - samples.value - side * b.step * slope), b.step**2),
                _quotient(2 * samples.noise(k, side), b.step**2),
            )
            for k, (b, end) in enumerate(zip(levels, ends, strict=True))
        ]
    )


class Remainder(NamedTuple):
    """How |f(x + h) - f(x) - h d| shrinks: with the power `order` of h (inf where there is none),
    and the error in `d` that it leaves room for. `is_linear`: it goes on shrinking with the first
    power, so that `d` is wrong by `room`."""

    order: float
    room: float
    is_linear: bool = False


def remainder(samples: Samples, derivative: float) -> Remainder:
    """The order at the smallest steps at which the remainder stands out of the rounding errors."""
    left: list[tuple[float, float, float]] = []  # step, remainder, noise
    for k in range(LEVELS):
        beside = samples.level(k)
        up = abs(beside.up - samples.value - beside.step * derivative)
        down = abs(beside.down - samples.value + beside.step * derivative)
        if beside.step and math.isfinite(up) and math.isfinite(down):
            noise = samples.noise(k) + samples.eps * abs(beside.step * derivative)
            left.append((beside.step, max(up, down), noise))
            if left[-1][1] < CLEAR * noise:
                break
    if not left:
        return Remainder(math.nan, math.inf)
    room = min((r + noise) / h for h, r, noise in left)
    clear = [(h, r) for h, r, noise in left if r >= CLEAR * noise and r > 0]
    if not clear:
        return Remainder(math.inf, room)
    orders = [math.log(r / s) / math.log(h / k) for (h, r), (k, s) in pairwise(clear)]
    is_linear = len(orders) > 1 and all(0.9 < order < 1.1 for order in orders[-2:])
    jumps = len(orders) > 1 and all(abs(order) < SAME for order in orders[-2:])
    while len(orders) > 1 and not (is_linear or jumps) and orders[-1] < min(1.7, orders[-2]):
        orders.pop()  # rounding errors that are larger than the last place of the output
    return Remainder(orders[-1] if orders else math.inf, room, is_linear)


def distance(a: float, b: float, eps: float = 2.0**-52) -> float:
    """How many units in the last place of the larger one two numbers are apart."""
    if a == b:
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    unit = math.ulp(max(abs(a), abs(b))) * (eps / 2.0**-52)
    return abs(a - b) / unit
