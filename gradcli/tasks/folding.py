"""Loops of a trace, folded: which records are of which iteration, and which are shown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..diagnostics import Span
from ..engine.trace.keeping import Iteration


@dataclass(slots=True)
class Fold:
    """A loop that ran once: what is in each of its iterations."""

    span: Span
    iterations: list[list[Item]] = field(default_factory=list)


Item: TypeAlias = int | Fold


def fold(numbers: Sequence[int], iterations: Sequence[Iteration], end: int) -> list[Item]:
    """The numbers of records, in order, with those in iterations as loops. `end` is the number
    after the last record. A loop without any of them is left out."""
    return _fold(numbers, 0, end, iterations, 0, len(iterations))


def _fold(
    numbers: Sequence[int], begin: int, end: int, iterations: Sequence[Iteration], k: int, last: int
) -> list[Item]:
    """The records from `begin` to `end`, with the iterations from the index `k` to `last`."""
    items: list[Item] = []
    loop: tuple[Fold, object] | None = None
    while k < last:
        iteration = iterations[k]
        stop = end if iteration.end is None else iteration.end
        after = last if iteration.after is None else iteration.after
        if loop is None or loop[0].span != iteration.loop or loop[1] is not iteration.calls:
            items += _between(numbers, begin, iteration.begin)
            loop = Fold(iteration.loop), iteration.calls
            items.append(loop[0])
            begin = iteration.begin
        # What a `while` did to decide is of the iteration that it decided on.
        condition = _between(numbers, begin, iteration.begin)
        body = _fold(numbers, iteration.begin, stop, iterations, k + 1, after)
        loop[0].iterations.append([*condition, *body])
        begin, k = stop, after
    items += _between(numbers, begin, end)
    return [i for i in items if not isinstance(i, Fold) or any(i.iterations)]


def _between(numbers: Sequence[int], begin: int, end: int) -> Sequence[int]:
    return numbers[bisect_left(numbers, begin) : bisect_left(numbers, end)]


def inside(items: Sequence[Item]) -> list[int]:
    """All numbers in items and their loops."""
    found: list[int] = []
    for item in items:
        if isinstance(item, Fold):
            for iteration in item.iterations:
                found += inside(iteration)
        else:
            found.append(item)
    return found


def stand_ins(folded: Fold, key: Callable[[int], object]) -> dict[int, int]:
    """For each number in a loop that isn't in its last iteration with any, the number there of the
    same operation, if there is one. `key` tells what is the same."""
    *others, last = [inside(iteration) for iteration in folded.iterations if inside(iteration)]
    places = {key(n): n for n in last}
    return {n: places[key(n)] for other in others for n in other if key(n) in places}
