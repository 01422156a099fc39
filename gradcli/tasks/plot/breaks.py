"""Kinks, jumps and poles, found by evaluating: where neighbours differ by more than a smooth
function would, the function is evaluated ever closer, and its values on both sides decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .function import Values
from .sampling import Samples

MOST = 400  # places that are looked into
PARTS = 16  # that an interval is divided into, to go on with one of them
CLOSEST = 2.0**-44  # of the range: how closely a place is found
STEPS = np.array(
    [2.0**-18, 2.0**-27, 2.0**-36]
)  # of the range: where it is looked at, on each side

LARGEST = np.finfo(np.float64).max  # what stands for an infinity

SMOOTH, EDGE, JUMP, POLE = "", "edge", "jump", "pole"


class Break(NamedTuple):
    """A place, what each channel does there, and the values of each beside it."""

    x: float
    kinds: list[str]
    left: list[float]
    right: list[float]


Breaks = dict[str, list[Break]]  # by output


def find_breaks(samples: Samples) -> Breaks:
    """The places where a channel of an output isn't continuous, or the edge of where it has values;
    in order."""
    function = samples.function
    axis = function.axes[0]
    low, high = axis.low + STEPS[-1] * axis.width, axis.high - STEPS[-1] * axis.width
    places = [
        (label, k, i)
        for label, channels in samples.values.items()
        for k, y in enumerate(channels[: function.connected[label]])
        for i in _suspects(
            samples.x,
            np.clip(y, -LARGEST, LARGEST),
            channels[k + 1 : k + 2],
            samples.scales[label][k],
        )
    ][:MOST]
    if not places:
        return {label: [] for label in samples.values}

    def evaluate(x: Any) -> Values:
        found = function.at(x.ravel())
        return {label: np.clip(y, -LARGEST, LARGEST) for label, y in found.items()}

    left = np.array([samples.x[i] for _, _, i in places])
    right = np.array([samples.x[i + 1] for _, _, i in places])

    def at(x: Any) -> Any:
        values = evaluate(x)
        return np.stack(
            [_own(values, label, k, x.shape)[n] for n, (label, k, _) in enumerate(places)]
        )

    left, right = zoom(at, left, right, CLOSEST * axis.width)
    centres = _distinct(left, right, axis.width)
    around = centres[:, None] + axis.width * np.concatenate([-STEPS, STEPS])
    found = evaluate(around)
    breaks: Breaks = {}
    for label, channels in samples.values.items():
        beside = found.get(label, np.full((len(channels), around.size), np.nan))
        sides = beside.reshape(len(channels), -1, 2, len(STEPS))
        all_places = (
            _break(float(x), sides[:, j], samples.scales[label]) for j, x in enumerate(centres)
        )
        inside = (b for b in all_places if POLE in b.kinds or low < b.x < high)
        breaks[label] = _merged((b for b in inside if any(b.kinds)), axis.width)
    return breaks


def _own(values: Values, label: str, k: int, shape: tuple[int, ...]) -> Any:
    return values[label][k].reshape(shape) if label in values else np.full(shape, np.nan)


def _suspects(x: Any, y: Any, slopes: Any, scale: float) -> list[int]:
    """The intervals that may hold a jump, a pole or an edge of where there are values."""
    with np.errstate(all="ignore"):
        h, rise = np.diff(x), np.abs(np.diff(y))
        steep = np.pad(rise / h, 1, constant_values=np.inf)
        beside = np.minimum(steep[:-2], steep[2:])
        found = (rise / h > 1.8 * beside) & (rise / h >= np.fmin(steep[:-2], steep[2:]))
        for slope in slopes:
            straight = np.diff(y) - h * (slope[:-1] + slope[1:]) / 2
            found |= np.abs(straight) > 0.3 * rise
        found &= rise > 1e-4 * scale
        found |= np.isfinite(y[:-1]) != np.isfinite(y[1:])
    return [int(i) for i in np.flatnonzero(found)]


def zoom(at: Callable[[Any], Any], left: Any, right: Any, closest: float) -> tuple[Any, Any]:
    """Narrows intervals to where their function changes most, or begins to have values. `at` gives
    the values at points of shape (intervals, n)."""
    while (right - left).max() > closest:
        x = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, PARTS + 1)
        x[:, -1] = right
        y = at(x)
        with np.errstate(all="ignore"):
            change = np.abs(np.diff(y, axis=1))
        finite = np.isfinite(y)
        change[finite[:, 1:] != finite[:, :-1]] = np.inf
        change[~finite[:, 1:] & ~finite[:, :-1]] = -1
        rows, most = np.arange(len(x)), change.argmax(axis=1)
        narrower = x[rows, most], x[rows, most + 1]
        if np.array_equal(narrower[0], left) and np.array_equal(narrower[1], right):
            break
        left, right = narrower
    return left, right


def _distinct(left: Any, right: Any, width: float) -> Any:
    """The middle of each interval, or the plain number in it, without those that are the same."""
    centres = (left + right) / 2
    plain = np.round(centres / width, 9) * width
    rounded = np.round(centres, 9)
    for better in (plain, rounded):
        near = np.abs(better - centres) <= 4 * CLOSEST * width
        centres = np.where(near, better, centres)
    return np.unique(centres + 0.0)  # which leaves no negative zero


def _merged(breaks: Iterable[Break], width: float) -> list[Break]:
    """Places in order, of those that are nearly the same the one where most happens."""
    found: list[Break] = []
    for b in breaks:
        if found and b.x - found[-1].x <= STEPS[1] * width:
            found[-1] = max(found[-1], b, key=lambda b: sum(map(bool, b.kinds)))
        else:
            found.append(b)
    return found


def _break(x: float, sides: Any, scales: Any) -> Break:
    """What the channels do at a place, by their values at STEPS on its left and its right."""
    kinds = [
        kind_of(left, right, scale) for (left, right), scale in zip(sides, scales, strict=True)
    ]
    return Break(x, kinds, sides[:, 0, -1].tolist(), sides[:, 1, -1].tolist())


def kind_of(left: Any, right: Any, scale: float) -> str:
    """What a channel does where it has these values on both sides, from far to near."""
    if _grows(left, scale) or _grows(right, scale):
        return POLE
    if np.isnan(left[-1]) or np.isnan(right[-1]):
        return EDGE
    with np.errstate(over="ignore"):
        _, before, gap = np.abs(right - left)
    if not (gap > 1e-6 * scale and gap > 0.6 * before):
        return SMOOTH
    return POLE if LARGEST in (abs(left[-1]), abs(right[-1])) else JUMP


def _grows(y: Any, scale: float) -> bool:
    """Whether values that come closer to a place get larger, and don't approach any value."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = np.diff(np.abs(y))
    return bool(second > 1e-3 * scale and first > 0 and second > 0.7 * first)
