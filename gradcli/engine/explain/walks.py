"""A sweep that remembers where each cotangent came from, so that a gradient can be explained.

`Walk` notes for every number the record that contributed most to its cotangent. Followed from a
source, these records lead to the target, and past the operation that made a gradient zero or
non-finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..ad.part_cotangents import SETITEM
from ..ad.reverse import sweep
from ..ad.sweep import Sweep, pull_on_floats
from ..backends.backend import is_complex, shape_of
from ..formulas.functions import array_partial, scalar_partial
from ..operations.rules import Interpretation
from ..trace.keeping import KeepingTrace
from ..trace.pullbacks import Passed
from ..trace.recording import Blank
from ..trace.records import Record
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..trace.windows import Window, inputs_of, operands_of
from ..values.boxes import primal
from ..values.lanes import Lanes

LARGE, MOST = 10_000, 100  # arrays that are kept for explanations: their elements, and how many


class Edge(NamedTuple):
    """The contribution of a record to the cotangent of one of its inputs; of arrays, the largest
    absolute value.

    cotangent  the cotangent of the record
    share      the contribution to the input: the cotangent times the partial
    """

    record: int
    cotangent: float
    share: float


class Walk(Sweep):
    """A sweep over the trace that keeps track of its path.

    onward  by number, the edge of the largest share; one that isn't finite counts as larger than
            any
    kept    by number, the cotangent itself, of numbers that are kept in detail
    edges   by number, all edges that lead there, of numbers that are kept in detail
    masks   by number, the elements in question, if not all: edges between others don't count
    bad     by record and input, the finite cotangent that gave a non-finite share
    dead    by record and input, the non-zero array that gave a share of zero; only of the first,
            small ones
    """

    def __init__(
        self,
        run: Run,
        wanted: set[int],
        marked: set[int] | None,
        outside: set[int],
        detailed: frozenset[int] = frozenset(),
        masks: dict[int, Any] | None = None,
    ) -> None:
        super().__init__(run, wanted, marked, outside, repairs=True)
        self.detailed, self.masks = detailed, masks
        self.onward: dict[int, Edge] = {}
        self.kept: dict[int, Any] = {}
        self.edges: dict[int, list[Edge]] = {}
        self.bad: dict[tuple[int, int], Any] = {}
        self.dead: dict[tuple[int, int], Any] = {}
        self._shares: dict[int, float] = {}  # of the record being passed, by input
        # Bounds of arrays too long to be examined at each of many writes.
        self._bounds: dict[int, float] = {}
        self._pulls: dict[int, Any] = {}

    def pull(
        self, number: int, g: Any, site: Site, in0: Any, in1: Any, a: Any, b: Any, y: Any
    ) -> None:
        if number in self.detailed:
            self._keep(number, g)
        self._shares.clear()
        size = self._pass(site, inputs_of(in0, in1), a, b, g, y, number)
        for n, share in self._shares.items():
            if self.masks is not None and not (number in self.masks and n in self.masks):
                continue
            self._note(n, Edge(number, size, share))
            if share - share != 0.0 and size - size == 0.0:
                self.bad[number, n] = g
            elif (
                share == 0.0 != size
                and 0 < getattr(g, "size", 0) <= LARGE
                and len(self.dead) < MOST
            ):
                self.dead[number, n] = g

    def _pass(
        self, site: Site, numbers: tuple[int, ...], a: Any, b: Any, g: Any, y: Any, number: int
    ) -> float:
        """Pulls a cotangent back to the inputs of one record; returns its size."""
        if type(g) is float and type(y) is float and site.inline_operands:
            pull = self._pulls.get(id(site))
            if pull is None:
                pull = self._pulls[id(site)] = pull_on_floats(self.run.backend, site, True)
            c = pull(g, y, a, b)
            for n, share in zip(numbers, c if len(numbers) > 1 else (c,), strict=True):
                self.add(n, share)
            return g
        if type(b) is tuple and self.element(site, a, b, numbers, g, number):
            return self._bounds.pop(number, 0.0) if site.op is SETITEM else self._size(number, g)
        if site.op.elementwise:
            # Otherwise their shares would be added in place, unnoticed.
            self.owned.difference_update(numbers)
            self.elementwise(Passed(number, site, operands_of(site, a, b), numbers, g, y))
        else:
            self.structural(Passed(number, site, a, numbers, g, y), b)
        return self._size(number, g)

    def _size(self, n: int, value: Any) -> float:
        """Returns the size of a cotangent for `n`, in the elements in question."""
        mask = None if self.masks is None else self.masks.get(n)
        if (
            type(value) is float
            or mask is None
            or not shape_of(mask)
            or shape_of(mask) != shape_of(value)
        ):
            return size_of(value)
        return size_of(value[mask])

    def element(
        self, site: Site, operands: Any, index: Any, numbers: tuple[int, ...], g: Any, number: int
    ) -> bool:
        if site.op is SETITEM and (number not in self._bounds or self.masks is not None):
            self._bounds[number] = self._size(number, g)
        return super().element(site, operands, index, numbers, g, number)

    def add_element(self, n: int, shape: tuple[int, ...], index: tuple[int, ...], g: float) -> None:
        super().add_element(n, shape, index, g)
        self._shares[n] = g  # the element is in question, or the record has no mask
        self._bounds[n] = max(self._bounds.get(n, 0.0), abs(g))

    def add_rest(self, n: int, g: Any, number: int) -> None:
        if n in self.cotangents:
            self.add(n, g)
            return
        self.cotangents[n] = g
        self._shares[n] = self._bounds[n] = self._bounds[number]
        self.owned.add(n)

    def add(self, n: int, c: Any, fresh: bool = False) -> None:
        """Adds a cotangent to the pending one of `n` and notes its size. Nothing is added
        in place.
        """
        if self.marked is not None and n not in self.marked:
            return
        self._shares[n] = self._shares.get(n, 0.0) + (c if type(c) is float else self._size(n, c))
        old = self.cotangents.get(n)
        if self.laned and old is not None and Lanes in (type(old), type(c)):
            self.add_lanes(n, old, c)
        else:
            self.cotangents[n] = c if old is None else old + c
        self.owned.discard(n)

    def add_part(self, n: int, parts: int, index: int, g: Any) -> None:
        self._shares[n] = size_of(g)
        super().add_part(n, parts, index, g)

    def accumulate(
        self, m: Interpretation, n: int, operand: Any, g: Any, given: tuple[Any, ...], options: Any
    ) -> None:
        super().accumulate(m, n, operand, g, given, options)
        self._shares[n] = size_of(primal(g))

    def _note(self, n: int, edge: Edge) -> None:
        known = self.onward.get(n)
        if known is None or _rank(edge) >= _rank(known):
            self.onward[n] = edge
        if n in self.detailed:
            self.edges.setdefault(n, []).append(edge)

    def _keep(self, n: int, g: Any) -> None:
        if n in self.owned and type(g) is Lanes:
            g = Lanes(g.array.copy(), g.group)
        elif n in self.owned and shape_of(g):
            g = g.copy()
        self.kept[n] = g


def _rank(edge: Edge) -> tuple[float, float]:
    return (abs(edge.share) if edge.share == edge.share else math.inf), abs(edge.cotangent)


def size_of(value: Any) -> float:
    """Returns a float as it is; of one or several arrays the largest absolute value, nan if one is
    nan.
    """
    if type(value) is float:
        return value
    if value is None:
        return 0.0
    if type(value) is list:
        sizes = [abs(size_of(part)) for part in value]
        return next((s for s in sizes if s != s), max(sizes, default=0.0))
    if type(value) is Lanes:
        value = value.array
    if shape_of(value):
        return float(abs(value).max()) if value.size else 0.0
    return abs(value) if is_complex(value) else float(value)


def walk(
    run: Run,
    seeds: list[tuple[Traced, Any]],
    wanted: set[int],
    window: Window,
    detailed: Iterable[int] = (),
    masks: dict[int, Any] | None = None,
) -> Walk | None:
    """Returns a walk from targets with their cotangents to the wanted numbers; None if they aren't
    connected.

    Sources that the window began to watch late must be asked for one by one. Raises GradcliError as
    `sweep` does.
    """
    made: list[Walk] = []

    def make(
        run: Run, wanted: set[int], marked: set[int] | None, outside: set[int], bodies: bool
    ) -> Walk:
        made.append(Walk(run, wanted, marked, outside, frozenset(detailed), masks))
        return made[-1]

    found = sweep(run, seeds, wanted, recorded=False, window=window, walk=make)
    if not made:
        return None
    made[-1].found = found
    for number in wanted & made[-1].detailed & found.keys():  # leaves, which are never passed
        made[-1].kept.setdefault(number, found[number])
    return made[-1]


def walks(
    run: Run,
    seeds: list[tuple[Traced, Any]],
    wanted: set[int],
    window: Window,
    detailed: Iterable[int],
    masks: dict[int, Any] | None = None,
) -> dict[int, Walk]:
    """Returns by source the walk that came to it: one for all, and one for each that the window
    began to watch late."""
    late = wanted & window.late.keys()
    found: dict[int, Walk] = {}
    for part in ([wanted - late] if wanted - late else []) + [{n} for n in late]:
        walked = walk(run, seeds, part, window, detailed, masks)
        if walked is not None:
            found.update(dict.fromkeys(part, walked))
    return found


# ---- partials ------------------------------------------------------------------------------------


class _Single(Walk):
    """The pullback of a single record."""

    def pulled(self, record: Record, g: Any) -> dict[int, Any]:
        self.segment = record.segment
        self._pass(record.site, record.inputs, record.a, record.b, g, record.y, record.number)
        return self.cotangents


def shares(run: Run, record: Record, g: Any) -> dict[int, Any]:
    """Returns what one record contributes to its active inputs for the cotangent `g` of its value.

    Raises GradcliError as a sweep does.
    """
    trace = record.segment.trace
    active = {n for n in record.inputs if not isinstance(trace, KeepingTrace) or n in trace.active}
    return _Single(run, set(), active, set()).pulled(record, g)


def partial_by(run: Run, record: Record, n: int) -> Any:
    """Returns the derivative of the value of a record by its input `n`.

    It is a number for a scalar by a scalar, an array of the elements' own derivatives for an
    elementwise operation, and None for any other.
    """
    operands, op = record.operands, record.site.op
    is_whole = shape_of(record.y) or type(record.y) in (list, Lanes) or type(record.y) is Blank
    if is_whole and not op.elementwise:
        return None
    positions = [k for k, m in record.traced_operands() if m == n]
    if op.elementwise and not any(type(v) is Lanes for v in (record.y, *operands)):
        if type(record.y) is float and all(type(v) in (float, int, bool) for v in operands):
            return sum(scalar_partial(op, k)(record.y, *operands) for k in positions)
        return sum(array_partial(run.backend, op, k)(record.y, *operands) * 1.0 for k in positions)
    if is_whole or any(shape_of(operands[k]) or type(operands[k]) is Lanes for k in positions):
        return None
    return primal(shares(run, record, 1.0).get(n, 0.0))
