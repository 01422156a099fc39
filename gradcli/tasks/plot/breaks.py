"""Kinks, jumps and poles, found by evaluating: where neighbours differ by more than a smooth
function would, the function is evaluated ever closer, and its values on both sides decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from .function import Values
from .sampling import DEEPEST, Samples

LOOKED_AT = 1000  # places of curves, those where most changes
MOST = 400  # places of curves that are looked into to the end
EACH = 168  # evaluations for such a place, with those for places that turn out to be smooth
RUNS = 20  # for all of them together
ROUNDS = 4  # of looking closer, after which few places are left but for those that aren't smooth
PARTS = 8  # that an interval is divided into, to go on with one of them
LEAST = 1e-4  # of what a curve varies: a smaller jump can't be seen
FINEST, COARSEST = 2.0**-36, 2.0**-9  # of the range: the nearest that a place is looked at from
LARGEST = np.finfo(np.float64).max  # what stands for an infinity

SMOOTH, EDGE, JUMP, POLE = "", "edge", "jump", "pole"


class Break(NamedTuple):
    """A place, what each channel does there, and the values of each beside it."""

    x: float
    kinds: list[str]
    left: list[float]
    right: list[float]


Breaks = dict[str, list[Break]]  # by output


class Steps(NamedTuple):
    """How closely a place is found, and at which distances from it, from far to near, its sides are
    looked at; as parts of a range."""

    closest: float
    sizes: Any


def steps(low: float, high: float, eps: float) -> Steps:
    """The steps for the range from `low` to `high`. Raises GradcliError (E001) where there are too
    few floats in it."""
    float_size = eps * max(abs(low), abs(high)) / (high - low)
    nearest = max(FINEST, 16 * float_size)
    if nearest > COARSEST:
        message = f"there are too few floats between {low:.17g} and {high:.17g} for a plot"
        help = "give a wider range, or use --dtype float64"
        raise GradcliError(Diagnostic("E001", message, help=help))
    farthest = min(nearest * 2**18, max(DEEPEST, nearest * 8))
    sizes = np.geomspace(farthest, nearest, 3)
    return Steps(max(nearest / 2**8, 2 * float_size), sizes)


def find_breaks(samples: Samples, budget: int) -> Breaks:
    """The places where a channel of an output isn't continuous, or the edge of where it has values;
    in order. Where there are too many of them for the budget, a place stands for the interval that
    one is in."""
    most = min(samples.function.room(budget, RUNS) // EACH, MOST)
    places = _Places(samples, LOOKED_AT * most // MOST)
    samples.function.is_long |= most < MOST and places.are_cut
    rows = np.arange(len(places.found))
    left = np.array([samples.x[i] for _, _, i in places.found])
    right = np.array([samples.x[i + 1] for _, _, i in places.found])
    rows, left, right = zoom(places.at, rows, left, right, places.closest, places.least, ROUNDS)
    middle = (left[most:] + right[most:]) / 2
    unknown = [(places.found[n][0], float(x)) for n, x in zip(rows[most:], middle, strict=True)]
    _, left, right = zoom(
        places.at, rows[:most], left[:most], right[:most], places.closest, places.least
    )
    unknown += places.unseen
    return (
        places.judged(left, right, unknown)
        if len(rows) or unknown
        else {label: [] for label in samples.values}
    )


class _Places:
    """The intervals of samples that may not be smooth: output, channel, and index of each.

    found    those that are looked into, at most `most`
    are_cut  whether there are more
    unseen   of the others, the middle of those that rise like a jump, and their outputs
    """

    def __init__(self, samples: Samples, most: int) -> None:
        self.samples, self.function = samples, samples.function
        self.axis = self.function.axes[0]
        closest, self.sizes = steps(self.axis.low, self.axis.high, self.function.eps)
        self.closest = closest * self.axis.width
        found = [
            (rise, label, k, i, is_steep)
            for label, channels in samples.values.items()
            for k, y in enumerate(channels[: self.function.connected[label]])
            for i, rise, is_steep in _suspects(
                samples.x,
                np.clip(y, -LARGEST, LARGEST),
                channels[k + 1 : k + 2],
                samples.least(label, k, LEAST),
            )
        ]
        found.sort(key=lambda place: -place[0])
        self.found = [place[1:4] for place in found[:most]]
        self.are_cut = len(found) > most
        middle = (samples.x[1:] + samples.x[:-1]) / 2
        self.unseen = [(of, float(middle[i])) for _, of, _, i, is_steep in found[most:] if is_steep]
        self.least = np.array([samples.least(label, k, LEAST) for label, k, _ in self.found])

    def evaluate(self, x: Any) -> Values:
        found = self.function.at(x.ravel())
        return {label: np.clip(y, -LARGEST, LARGEST) for label, y in found.items()}

    def at(self, rows: Any, x: Any) -> Any:
        """The values of each place's channel at the points in its row."""
        values = self.evaluate(x)
        own = [self.found[n][:2] for n in rows.tolist()]
        return np.stack([_own(values, label, k, x.shape)[n] for n, (label, k) in enumerate(own)])

    def judged(self, left: Any, right: Any, unknown: list[tuple[str, float]]) -> Breaks:
        """What there is in intervals that are as narrow as can be; and places that are only known
        not to be smooth."""
        axis, sizes = self.axis, self.sizes
        centres = _distinct(left, right, axis.width, self.closest)
        around = centres[:, None] + axis.width * np.concatenate([-sizes, sizes])
        found = self.evaluate(around)
        near = sizes[-1] * axis.width
        breaks: Breaks = {}
        for label, channels in self.samples.values.items():
            n = len(channels)
            beside = found.get(label, np.full((n, around.size), np.nan))
            sides = beside.reshape(n, -1, 2, len(sizes))
            known = [
                _break(float(x), sides[:, j], self.samples.scales[label], self.function.eps)
                for j, x in enumerate(centres)
            ]
            nothing = [np.nan] * n
            known += [Break(x, [EDGE] * n, nothing, nothing) for of, x in unknown if of == label]
            inside = (
                b if axis.low + near < b.x < axis.high - near or POLE in b.kinds else _at_end(b)
                for b in sorted(known, key=lambda b: b.x)
            )
            shown = (b for b in inside if any(b.kinds))
            breaks[label] = _merged(shown, sizes[1] * axis.width)
        return breaks


def _own(values: Values, label: str, k: int, shape: tuple[int, ...]) -> Any:
    return values[label][k].reshape(shape) if label in values else np.full(shape, np.nan)


def _suspects(x: Any, y: Any, slopes: Any, least: float) -> Iterable[tuple[Any, Any, Any]]:
    """The intervals that may hold a jump, a pole or an edge of where there are values; how often
    they rise by the `least` that counts; and whether they rise much more than those beside them."""
    with np.errstate(all="ignore"):
        h, rise = np.diff(x), np.abs(np.diff(y))
        steep = np.pad(rise / h, 1, constant_values=np.inf)
        beside = np.minimum(steep[:-2], steep[2:])
        steepest = (rise / h > 1.8 * beside) & (rise / h >= np.fmin(steep[:-2], steep[2:]))
        found = steepest.copy()
        for slope in slopes:
            straight = np.diff(y) - h * (slope[:-1] + slope[1:]) / 2
            found |= np.abs(straight) > 0.3 * rise
        found &= rise > least
        rise = rise / least
    ends = np.isnan(y[:-1]) != np.isnan(y[1:])
    rise[ends] = np.inf
    places = np.flatnonzero(found | ends)
    columns = (places, rise[places], (steepest | ends)[places])
    return zip(*(column.tolist() for column in columns), strict=True)


def zoom(
    at: Callable[[Any, Any], Any],
    rows: Any,
    left: Any,
    right: Any,
    closest: float,
    least: Any,
    rounds: int = 99,
) -> tuple[Any, Any, Any]:
    """Narrows intervals to where their function changes most, or begins to have values, and leaves
    out those that change by less than the `least` of their rows. `at` gives the values of rows at
    points of shape (rows, n)."""
    for _ in range(rounds):
        if not len(rows) or (right - left).max() <= closest:
            break
        x = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, PARTS + 1)
        x[:, -1] = right
        y = at(rows, x)
        with np.errstate(all="ignore"):
            change = np.abs(np.diff(y, axis=1))
        has = ~np.isnan(y)
        change[has[:, 1:] != has[:, :-1]] = np.inf
        change[~has[:, 1:] & ~has[:, :-1]] = -1
        every, most = np.arange(len(x)), change.argmax(axis=1)
        kept = change[every, most] > least[rows]
        rows, left, right = rows[kept], x[every, most][kept], x[every, most + 1][kept]
    return rows, left, right


def _distinct(left: Any, right: Any, width: float, closest: float) -> Any:
    """The middle of each interval, or the plain number in it, without those that are the same."""
    centres = (left + right) / 2
    plain = np.round(centres / width, 9) * width
    rounded = np.round(centres, 9)
    for better in (plain, rounded):
        near = np.abs(better - centres) <= 4 * closest
        centres = np.where(near, better, centres)
    return np.unique(centres + 0.0)  # which leaves no negative zero


def _merged(breaks: Iterable[Break], near: float) -> list[Break]:
    """Places in order, of those that are nearer the one where most happens."""
    found: list[Break] = []
    for b in breaks:
        if found and b.x - found[-1].x <= near:
            found[-1] = max(found[-1], b, key=_weight)
        else:
            found.append(b)
    return found


def _weight(b: Break) -> tuple[int, list[float]]:
    """How many channels aren't smooth at a place, and how far they are from 0 and apart there."""
    with np.errstate(over="ignore", invalid="ignore"):
        left, right = np.asarray([b.left, b.right])
        sizes = np.nan_to_num(abs(left) + abs(right) + abs(right - left))
    return sum(map(bool, b.kinds)), sizes.tolist()


def _at_end(b: Break) -> Break:
    """A place at an end of the range, where there is nothing on one side. A jump ends the curve."""
    return b._replace(kinds=[EDGE if kind == JUMP else SMOOTH for kind in b.kinds])


def _break(x: float, sides: Any, scales: Any, eps: float) -> Break:
    """What the channels do at a place, by their values on its left and its right."""
    kinds = [
        kind_of(left, right, scale, eps) for (left, right), scale in zip(sides, scales, strict=True)
    ]
    return Break(x, kinds, sides[:, 0, -1].tolist(), sides[:, 1, -1].tolist())


def kind_of(left: Any, right: Any, scale: float, eps: float) -> str:
    """What a channel does where it has these values on both sides, from far to near."""
    if _grows(left, scale) or _grows(right, scale):
        return POLE
    if np.isnan(left[-1]) or np.isnan(right[-1]):
        return EDGE
    with np.errstate(over="ignore"):
        _, before, gap = np.abs(right - left)
    if not (gap > max(1e-6, 1e3 * eps) * scale and gap > 0.6 * before):
        return SMOOTH
    return POLE if LARGEST in (abs(left[-1]), abs(right[-1])) else JUMP


def _grows(y: Any, scale: float) -> bool:
    """Whether values that come closer to a place get larger, and don't approach any value."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = np.diff(np.abs(y))
    return bool(second > 1e-3 * scale and first > 0 and second > 0.7 * first)
