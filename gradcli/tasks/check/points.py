"""Random points of the domains, checked together: what the methods need of each comes from runs for
all of them as lanes.

A point passes so where all that is found agrees, or doesn't apply for the reason that it doesn't at
the declared point. Any other one is left to be checked by itself, and so are all where the program
can't run for them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from typing import Any, NoReturn

from ...engine.ad.derivatives import gradients
from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, shape_of
from ...engine.execution import running
from ...engine.replay.continuation import NotAnalyticError
from ...engine.replay.steps import Exactly
from ...engine.values.kinds import Variable, leaves, read
from ...engine.values.lanes import Lanes
from .closed_form import forms_of
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


def findings_together(
    declared: Point, values: Sequence[Mapping[str, Any]], found: Sequence[Finding], compare: Compare
) -> Iterator[list[Finding] | None]:
    """For each of the points, in order, what `compare` finds of all outputs; None where it has to
    be checked by itself. `found` is what was found at the declared point."""
    ways = sum(
        len(case.directions(name)) for case in declared.cases[:1] for name in _names(declared)
    )
    per_run = int(MUCH / (200 * declared.work * ROWS * max(ways, 1)))
    reasons = {(f.output, f.variable, f.method): f.reason for f in found if f.verdict == SKIPPED}
    for k in range(0, len(values), max(per_run, 1)):
        some = values[k : k + max(per_run, 1)]
        rows = None
        with running(), suppress(NotTogetherError):
            rows = Rows(declared, some) if len(some) > 1 else None
        for j in range(len(some)):
            yield _findings(rows, j, reasons, compare) if rows is not None else None
        if rows is not None:
            rows.release()


def _findings(
    rows: Rows, k: int, reasons: dict[tuple[str, str, str], str], compare: Compare
) -> list[Finding] | None:
    findings: list[Finding] = []
    try:
        for case in rows.declared.cases:
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

    def __init__(self, declared: Point, values: Sequence[Mapping[str, Any]]) -> None:
        self.declared, self.size = declared, len(values)
        xp = CPU.xp
        self.sources = {name: declared.answer.sources[name] for name in _names(declared)}
        if not all(type(s) is Variable for s in self.sources.values()):
            raise NotTogetherError
        self.given, self.moved = values, set(values[0])
        # All of them, so that no gradient is the sum over the rows.
        self.columns = {s.name: repeated(s.state, self.size) for s in self.sources.values()}
        self.columns |= {
            name: xp.stack([xp.asarray(value[name]) for value in values], axis=-1)
            for name in self.moved
        }
        self.values, self.gradients = self._values_and_gradients()
        points = [Row(self, case, k) for case in declared.cases[:1] for k in range(self.size)]
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
            beside(declared.program, declared.inputs, declared.cases, self.columns, ways)
            if ways
            else {}
        )
        self._imaginary: dict[tuple[str, int], Any] = {}
        self._points: dict[int, Point] = {}
        self._paths: dict[Any, Point] = {}
        self._origins: dict[tuple[Any, str], Case] = {}

    def run(self, kind: Kind) -> LaneRun:
        point = self.declared
        return LaneRun(point.program, point.inputs, self.columns, point.answer.targets, kind)

    def _values_and_gradients(self) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
        lanes, xp = self.run("gradients"), CPU.xp
        values, found = {}, {}
        for case in self.declared.cases:
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
        point = self.declared
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

    def origin(self, case: Case, k: int) -> Case:
        """The output on the path of a point, whose closed forms are those of all points on it.
        Raises SkippedError."""
        forms = forms_of(self.declared)
        if self.is_straight(forms):
            return case
        point = self._at(k)
        outcomes = tuple([(span, holds) for _, span, holds in forms_of(point).trace.outcomes])
        point = self._paths.setdefault(outcomes, point)
        if (outcomes, case.output) not in self._origins:
            there = self._origins[outcomes, case.output] = copy(case)
            there.point, there.chain = point, None
        return self._origins[outcomes, case.output]

    def is_straight(self, forms: Any) -> bool:
        """Whether closed forms hold at all points, on whatever path they are."""
        return not (forms.notes or forms.trace.outcomes)

    def _at(self, k: int) -> Point:
        """The declared point with the values of another one, for its closed forms."""
        if k not in self._points:
            point = self._points[k] = copy(self.declared)
            point.inputs, point.forms = {**point.inputs, **self.given[k]}, None
        return self._points[k]

    def release(self) -> None:
        if "kept" in vars(self):
            self.kept.release()


class Row(Case):
    """One output at one of several points."""

    def __init__(self, rows: Rows, case: Case, k: int) -> None:
        self.point, self.output, self.weights = case.point, case.output, case.weights
        self.rows, self.declared, self.k = rows, case, k

    @cached_property
    def gradients(self) -> dict[str, Any]:
        return {
            name: self.rows.gradients[self.output, name][..., self.k]
            for name in self.declared.gradients
        }

    def state(self, variable: str) -> Any:
        value = self.rows.columns[self.rows.sources[variable].name][..., self.k]
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
        return found or self._apart()

    def tangent(self, direction: Direction) -> float:
        return float(self.rows.tangents[self.output][self._way(direction), self.k])

    def imaginary(self, direction: Direction, step: float) -> float:
        return float(self.rows.imaginary(self.declared, self._way(direction))[self.k])

    def _way(self, direction: Direction) -> int:
        return self.rows.keys.index(direction.key)

    @property
    def origin(self) -> Case:
        return self.rows.origin(self.declared, self.k)

    def symbols(self, forms: Any) -> Mapping[Any, Any]:
        sources = self.rows.sources
        if forms.notes or not self.rows.moved <= {source.name for source in sources.values()}:
            self._apart()  # the forms have numbers of one point in them
        point = dict(forms.point)
        for name in sources:
            symbols, value = forms.symbols[name], self.state(name)
            point.update(
                zip(symbols.flat, value.flat, strict=True)
                if shape_of(value)
                else [(symbols, value)]
            )
        return point

    def rerun(self, *moves: Any) -> float:
        self._apart()

    def replay(self, *moves: Any, disturb: Any = None, watch: Any = None) -> Any:
        self._apart()

    def _apart(self) -> NoReturn:
        raise NotTogetherError


def _flat(array: Any) -> Any:
    """Joins the last two axes."""
    return CPU.xp.ascontiguousarray(array).reshape(*array.shape[:-2], -1)
