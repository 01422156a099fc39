"""Random points on one path, checked together beside the point that leads it: what the methods need
of each comes from runs for all of them as lanes.

A point passes so where all that is found agrees, or doesn't apply for the reason that it doesn't at
the leader. Any other one is left to be checked by itself, and so are all where the program can't
run for them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn

from ...engine.ad.derivatives import gradients
from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, shape_of
from ...engine.execution import running
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.history import Exactly, History
from ...engine.values.kinds import Variable, leaves, read
from ...engine.values.lanes import Lanes
from .complex_step import tiny_step
from .differences import Beside
from .directions import Direction
from .lane_runs import (
    MUCH,
    ROWS,
    Kind,
    LaneRun,
    NotTogetherError,
    Way,
    beside,
    first_step,
    repeated,
    table,
    tangents,
    together,
    weighed,
)
from .point import Case, Point
from .results import AGREE, SKIPPED, Finding

Compare = Callable[[Case], list[Finding]]


class Leader(NamedTuple):
    """A point beside which others on its path are checked, and what was found there."""

    point: Point
    found: Sequence[Finding]


def at_once(leader: Point) -> int:
    """How many points there is room for in one run, beside a point like them."""
    ways = sum(len(case.directions(name)) for case in leader.cases[:1] for name in _names(leader))
    return MUCH // (leader.elements * ROWS * max(ways, 1))


def findings_together(
    leader: Leader, values: Sequence[Mapping[str, Any]], compare: Compare
) -> list[list[Finding] | None]:
    """For each of these points what `compare` finds of all outputs; None where it has to be checked
    by itself."""
    reasons = {
        (f.output, f.variable, f.method): f.reason for f in leader.found if f.verdict == SKIPPED
    }
    try:
        with running():
            rows = Rows(leader.point, values)
    except NotTogetherError:
        return [None] * len(values)
    found = [_findings(rows, k, reasons, compare) for k in range(len(values))]
    rows.release()
    return found


def _findings(
    rows: Rows, k: int, reasons: Mapping[tuple[str, str, str], str], compare: Compare
) -> list[Finding] | None:
    findings: list[Finding] = []
    try:
        for case in rows.leader.cases:
            row = Row(rows, case, k)
            if not math.isfinite(row.value):
                return None
            findings += compare(row)
    except NotTogetherError:
        return None
    for f in findings:
        if f.verdict != AGREE and (
            f.verdict != SKIPPED or reasons.get((f.output, f.variable, f.method)) != f.reason
        ):
            return None
    return findings


def _names(point: Point) -> list[str]:
    """The variables that some output has a gradient by."""
    return list(dict.fromkeys(name for case in point.cases for name in case.gradients))


class Rows:
    """Several points: the results of runs for all of them, with the points as the last axis. Raises
    NotTogetherError where the program can't run so."""

    def __init__(self, leader: Point, values: Sequence[Mapping[str, Any]]) -> None:
        self.leader, self.size = leader, len(values)
        xp = CPU.xp
        self.sources = {name: leader.answer.sources[name] for name in _names(leader)}
        if not all(type(s) is Variable for s in self.sources.values()):
            raise NotTogetherError
        self.moved = frozenset(values[0])
        # All of them, so that no gradient is the sum over the rows.
        self.columns = {s.name: repeated(s.state, self.size) for s in self.sources.values()}
        self.columns |= {
            name: xp.stack([xp.asarray(value[name]) for value in values], axis=-1)
            for name in self.moved
        }
        self.values, self.gradients = self._values_and_gradients()
        points = [Row(self, case, k) for case in leader.cases[:1] for k in range(self.size)]
        self.directions = [
            [d for name in self.sources for d in Case.directions(row, name)] for row in points
        ] or [[]]
        self.keys = [d.key for d in self.directions[0]]
        self.reaches = xp.array(
            [[row.reach(d) for d in ds] for row, ds in zip(points, self.directions, strict=False)]
        ).T
        names = [self.sources[name].name for name, _, _ in self.keys]
        self.vectors = [
            xp.stack([xp.asarray(ds[j].vector) for ds in self.directions], axis=-1)
            for j in range(len(names))
        ]
        firsts = [
            xp.array(
                [first_step(row, ds[j]) for row, ds in zip(points, self.directions, strict=True)]
            )
            for j in range(len(names))
        ]
        ways = [
            Way(name, self.columns[name], v, first)
            for name, v, first in zip(names, self.vectors, firsts, strict=True)
        ]
        self.tables = (
            beside(leader.program, leader.inputs, leader.cases, self.columns, ways) if ways else {}
        )
        self._imaginary: dict[tuple[str, int], Any] = {}

    def run(self, kind: Kind) -> LaneRun:
        point = self.leader
        return LaneRun(point.program, point.inputs, self.columns, point.answer.targets, kind)

    def _values_and_gradients(self) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
        lanes, xp = self.run("gradients"), CPU.xp
        values, found = {}, {}
        for case in self.leader.cases:
            values[case.output] = weighed(lanes.parts(case), case.weights)
            seeds = []
            for part, weight in zip(
                map(read, leaves(lanes.answer.targets[case.output])), case.weights, strict=True
            ):
                if type(part) is tuple:
                    if type(part[0]) is not Lanes:
                        # what all rows share has one gradient for all of them
                        raise NotTogetherError
                    shape, dtype = part[0].array.shape, part[0].array.dtype
                    cotangent = xp.broadcast_to(xp.asarray(weight, dtype)[..., None], shape)
                    seeds.append((part, Lanes(xp.ascontiguousarray(cotangent), lanes.group)))
            sources = [lanes.answer.sources[name] for name in case.gradients]
            slopes = together(partial(gradients, lanes.run, seeds, sources, False))
            for name, g in zip(case.gradients, slopes, strict=True):
                if g is None or lanes.answer.is_replaced(name):
                    raise NotTogetherError
                found[case.output, name] = lanes.rows(g)
        lanes.release()
        return values, found

    @cached_property
    def tangents(self) -> dict[str, Any]:
        """The tangents of the outputs, by output, along each way at each point."""
        xp, n = CPU.xp, len(self.keys)
        columns = {
            name: _flat(xp.broadcast_to(c[..., None, :], (*c.shape[:-1], n, self.size)))
            for name, c in self.columns.items()
        }
        moving = {
            name: xp.zeros((*c.shape[:-1], n, self.size), c.dtype)
            for name, c in self.columns.items()
        }
        for j, (name, _, _) in enumerate(self.keys):
            moving[self.sources[name].name][..., j, :] = self.vectors[j]
        moving = {name: _flat(column) for name, column in moving.items()}
        point = self.leader
        found = tangents(point.program, point.inputs, point.cases, columns, moving)
        return {output: values.reshape(n, self.size) for output, values in found.items()}

    @cached_property
    def kept(self) -> LaneRun:
        """The run whose trace kept every value."""
        return self.run("kept")

    def imaginary(self, case: Case, j: int) -> Any:
        """The imaginary parts that an output gets by tiny imaginary steps along a way. Raises
        NotAnalyticError."""
        if (case.output, j) not in self._imaginary:
            self._imaginary[case.output, j] = together(partial(self._replayed, case, j))
        found = self._imaginary[case.output, j]
        if isinstance(found, NotAnalyticError):
            raise found
        return found

    def _replayed(self, case: Case, j: int) -> Any:
        lanes, xp = self.kept, CPU.xp
        history = lanes.history(case.output)
        name, vector = self.keys[j][0], self.vectors[j]
        number = number_of(lanes.answer.sources[name])
        assert number is not None
        if history.complex is not None:
            raise NotTogetherError
        steps = xp.array([tiny_step(reach) for reach in self.reaches[j].tolist()])
        there = Lanes(self.columns[self.sources[name].name] + 1j * vector * steps, lanes.group)
        try:
            values = iter(history.values({number: Exactly(there)}))
        except NotAnalyticError as error:
            return error
        total = xp.zeros(self.size)
        for part, weight in zip(
            map(read, leaves(lanes.answer.targets[case.output])), case.weights, strict=True
        ):
            if type(part) is tuple:
                value = next(values)
                if type(value) is not Lanes or value.group is not lanes.group:
                    raise NotTogetherError
                total = total + weighed([xp.imag(value.array)], [weight])
        return total

    def release(self) -> None:
        if "kept" in vars(self):
            self.kept.release()


class Row(Case):
    """One output at one of several points."""

    is_alone = False

    def __init__(self, rows: Rows, case: Case, k: int) -> None:
        self.point, self.output, self.weights = case.point, case.output, case.weights
        self.rows, self.k, self.moved = rows, k, rows.moved
        self._leader = case

    @property
    def leader(self) -> Case:
        return self._leader

    @cached_property
    def gradients(self) -> dict[str, Any]:
        return {
            name: self.rows.gradients[self.output, name][..., self.k]
            for name in self.leader.gradients
        }

    @property
    def history(self) -> History:
        return self.leader.history

    def state(self, variable: str) -> Any:
        name = self.point.answer.sources[variable].name
        if name not in self.rows.columns:
            return self.leader.state(variable)
        value = self.rows.columns[name][..., self.k]
        return value.item() if not shape_of(value) and value.dtype.char == "d" else value

    @cached_property
    def value(self) -> float:
        return float(self.rows.values[self.output][self.k])

    def directions(self, variable: str) -> list[Direction]:
        return [d for d in self.rows.directions[self.k] if d.variable == variable]

    def beside(self, direction: Direction, first: float) -> list[Beside]:
        found = table(
            self,
            self.rows.tables[self.output][self._way(direction), self.k].tolist(),
            direction,
            first,
        )
        return found or self.apart()

    def tangent(self, direction: Direction) -> float:
        return float(self.rows.tangents[self.output][self._way(direction), self.k])

    def carried(
        self,
        direction: Direction,
        *moves: tuple[Direction, float],
        disturb: Any = None,
        at: Any = None,
    ) -> float:
        return self.apart() if moves or disturb is not None else self.tangent(direction)

    def imaginary(self, direction: Direction, step: float) -> float:
        return float(self.rows.imaginary(self.leader, self._way(direction))[self.k])

    def _way(self, direction: Direction) -> int:
        return self.rows.keys.index(direction.key)

    def rerun(self, *moves: Any) -> float:
        self.apart()

    def replay(self, *moves: Any, disturb: Any = None, watch: Any = None) -> Any:
        self.apart()

    def apart(self) -> NoReturn:
        raise NotTogetherError


def _flat(array: Any) -> Any:
    """Joins the last two axes."""
    return CPU.xp.ascontiguousarray(array).reshape(*array.shape[:-2], -1)
