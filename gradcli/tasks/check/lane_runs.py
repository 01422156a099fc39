"""Runs of a program for many rows at once, with other values of its variables in each: as lanes,
where the rows can go on together. Where they can't, a check runs the program for each by itself.

`Neighbours` has what a program gives beside a point: all steps of all directions come from one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from ...diagnostics import GradcliError
from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, shape_of
from ...engine.execution import Execution
from ...engine.operations.rows.separation import SeparationError
from ...engine.replay.history import History
from ...engine.replay.value_trace import ValueTrace
from ...engine.trace.run import Run
from ...engine.transforms.forward_level import perturb
from ...engine.values.boxes import level_of, lowered, primal
from ...engine.values.kinds import Variable, leaves, read
from ...engine.values.lanes import Group, Lanes, UnrelatedError
from ..answer import Answer
from .differences import LEVELS, SHRINK, Beside
from .directions import Direction
from .program import Program

ROWS = 2 * LEVELS + 1  # that a table of differences takes: the point itself, and two a level
MUCH = 2**23  # elements that the operations of one run may give together
FIRST_STEP = 0.05  # times the reach of a variable
SMALLEST = 1e-2  # that a variable is taken to be, for the first step
MATCH = 2.0**-40  # the relative distance of a row from the program alone that rounding explains


class NotTogetherError(Exception):
    """The rows can't be run together: what happens is to be found out one by one."""


class Place(Protocol):
    """A point, as runs beside it see it (`point.py`)."""

    program: Program
    inputs: Mapping[str, Any]
    answer: Answer
    cases: list[Any]

    @property
    def eps(self) -> float: ...

    @property
    def directions(self) -> list[Direction]: ...

    @property
    def work(self) -> float: ...


class Output(Protocol):
    """An output as a number, as runs for many rows see it: a `Case`."""

    output: str
    weights: list[Any]

    @property
    def point(self) -> Place: ...

    @property
    def value(self) -> float: ...

    def reach(self, direction: Direction) -> float: ...


Kind = Literal["values", "gradients", "tangents", "kept"]


class LaneRun:
    """A run of a program for many rows. `columns` are values by declared name, with the rows as
    their last axis. `kind` is what the run is for: its values alone, gradients, a history with
    every value, or tangents, which variables begin with as `direction` says: `(name, group) ->
    lanes or None`. Raises NotTogetherError."""

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Any],
        columns: Mapping[str, Any],
        targets: Iterable[str],
        kind: Kind = "values",
        direction: Callable[[str, Group], Any] | None = None,
    ) -> None:
        self.size = next(iter(columns.values())).shape[-1]
        group = self.group = Group(self.size)
        self.execution = Execution(
            program.keeping if kind == "kept" else program.compiled,
            {**inputs, **{n: Lanes(c, group) for n, c in columns.items()}},
        )
        run = self.run = self.execution.run
        run.group, run.parts_rows = group, True
        if kind == "kept":
            run.trace, run.bodies = ValueTrace(), 1
        elif direction is not None:
            perturb(run, lambda name, state: direction(name, group), not program.asks_for_nothing)
        elif kind == "values" and program.asks_for_nothing:
            perturb(run, lambda name, state: None, traced=False)

        def go() -> Answer:
            return program.answer(self.execution.execute(), targets)

        self.answer: Answer = together(go)
        self._histories: dict[str, History] = {}

    def history(self, output: str) -> History:
        """An output as a function of the variables, where the run kept everything."""
        if output not in self._histories:
            traced = [v for v in map(read, leaves(self.answer.targets[output])) if type(v) is tuple]
            numbers = {n for s in self.answer.sources.values() if (n := number_of(s)) is not None}
            self._histories[output] = History(self.run, traced, numbers)
        return self._histories[output]

    def parts(self, case: Output) -> list[Any]:
        """The parts of an output with the rows last, real numbers. Raises NotTogetherError where
        there are others."""
        parts = [self.rows(read(part)) for part in leaves(self.answer.targets[case.output])]
        if [part.shape[:-1] for part in parts] != [shape_of(weight) for weight in case.weights]:
            raise NotTogetherError
        return parts

    def rows(self, value: Any) -> Any:
        """The real numbers of a value with the rows last. Raises NotTogetherError where they are no
        real ones."""
        value = primal(value)
        if type(value) is Lanes and value.group is not self.group:
            raise NotTogetherError
        array = value.array if type(value) is Lanes else CPU.xp.asarray(value)[..., None]
        if array.dtype.kind != "f":
            raise NotTogetherError
        return CPU.xp.broadcast_to(array, (*array.shape[:-1], self.size))

    def release(self) -> None:
        self.execution.release()


def together(go: Callable[[], Any]) -> Any:
    """What `go` gives. Raises NotTogetherError where rows stand in each other's way, or one of them
    fails."""
    try:
        return go()
    except (SeparationError, UnrelatedError, MemoryError):
        raise NotTogetherError from None
    except GradcliError as error:
        if error.diagnostics[0].code == "E404":
            raise  # the time is that of all that is checked
        raise NotTogetherError from None


def weighed(parts: Sequence[Any], weights: Sequence[Any]) -> Any:
    """The weighted sum of an output's parts in each row, added up in the order in which it is for a
    row alone."""
    xp = CPU.xp
    total: Any = 0.0
    for part, weight in zip(parts, weights, strict=True):
        terms = part * (weight[..., None] if shape_of(weight) else weight)
        flat = xp.ascontiguousarray(xp.moveaxis(terms, -1, 0))
        total = total + flat.reshape(len(flat), math.prod(flat.shape[1:])).sum(axis=1)
    return total


class Way(NamedTuple):
    """How a variable is moved at each of some points: by its name in the program, its state there,
    a vector, and the largest step; all with the points last."""

    name: str
    state: Any
    vector: Any
    first: Any


def beside(
    program: Program,
    inputs: Mapping[str, Any],
    cases: Sequence[Output],
    bases: Mapping[str, Any],
    ways: Sequence[Way],
) -> dict[str, Any]:
    """By output, its value at each of some points, and at all steps from there along each way:
    first none, then level by level up and down; of shape (ways, points, ROWS), from one run.
    `bases` are the values by name that differ between the points, with the points last. Raises
    NotTogetherError."""
    xp = CPU.xp
    first = xp.stack([way.first for way in ways])
    sizes = first[..., None] / SHRINK ** xp.arange(LEVELS)
    steps = xp.concatenate(
        [xp.zeros((*first.shape, 1)), xp.stack([sizes, -sizes], axis=-1).reshape(*first.shape, -1)],
        axis=-1,
    )
    columns = {}
    for name, base in {**{way.name: way.state for way in ways}, **bases}.items():
        whole = xp.broadcast_to(base[..., None, :, None], (*base.shape[:-1], *steps.shape)).copy()
        for k, way in enumerate(ways):
            if way.name == name:
                whole[..., k, :, :] += way.vector[..., None] * steps[k]
        columns[name] = whole.reshape(*base.shape[:-1], steps.size)
    run = LaneRun(program, inputs, columns, [case.output for case in cases])
    found = {
        case.output: weighed(run.parts(case), case.weights).reshape(steps.shape) for case in cases
    }
    run.release()
    return found


def tangents(
    program: Program,
    inputs: Mapping[str, Any],
    cases: Sequence[Output],
    columns: Mapping[str, Any],
    moving: Mapping[str, Any],
) -> dict[str, Any]:
    """By output, its derivatives in forward mode, where variables begin with the tangents `moving`;
    all with the rows last, which are of one run. Raises NotTogetherError."""
    targets = [case.output for case in cases]
    lanes = LaneRun(
        program,
        inputs,
        columns,
        targets,
        "tangents",
        lambda n, group: Lanes(moving[n], group) if n in moving else None,
    )
    found = {}
    for case in cases:
        found[case.output] = CPU.xp.zeros(lanes.size)
        for part, weight in zip(
            leaves(lanes.answer.targets[case.output]), case.weights, strict=True
        ):
            if (tangent := tangent_of(lanes.run, part)) is not None:
                found[case.output] += weighed([lanes.rows(tangent)], [weight])
    lanes.release()
    return found


def tangent_of(run: Run, part: Any) -> Any:
    """The tangent of a value in forward mode; None where it has none."""
    value = read(part)
    if run.trace.level:
        value = lowered(value, run.trace.level)
    return primal(value.tangent) if level_of(value) == run.direction_level else None


def repeated(state: Any, size: int) -> Any:
    """A state with so many rows as its last axis."""
    array = CPU.xp.asarray(state)
    return CPU.xp.ascontiguousarray(CPU.xp.broadcast_to(array[..., None], (*array.shape, size)))


def table(
    case: Output, found: Sequence[float], direction: Direction, first: float
) -> list[Beside] | None:
    """The levels in a row of what `beside` gives; None where they aren't those of the steps from
    `first` on, or of another function than the program alone."""
    value, *rest = found
    is_right = (
        abs(value - case.value) <= MATCH * (case.point.eps / 2.0**-52) * abs(case.value) + 1e-300
    )
    if not is_right or first != first_step(case, direction):
        return None
    return [Beside(first / SHRINK**k, *rest[2 * k : 2 * k + 2]) for k in range(LEVELS)]


class Neighbours:
    """What a program gives beside a point, along each direction in which a variable is moved."""

    def __init__(self, point: Place) -> None:
        self.point = point

    def beside(self, case: Output, direction: Direction, first: float) -> list[Beside] | None:
        """The output at all steps, of which `first` is the largest; None where the program has to
        run for each by itself."""
        found = self._found.get(direction.key)
        if found is None:
            return None
        return table(case, found[case.output], direction, first)

    @cached_property
    def _found(self) -> dict[tuple[str, str, int], dict[str, list[float]]]:
        point = self.point
        pairs = [
            (d, self._way(s, d))
            for d in point.directions
            if type(s := point.answer.sources[d.variable]) is Variable
        ]
        found: dict[tuple[str, str, int], dict[str, list[float]]] = {}
        per_run = int(
            MUCH / (200 * point.work * ROWS)
        )  # `work` counts 200 elements as one operation
        for k in range(0, len(pairs), max(per_run, 1)) if per_run else ():
            some = pairs[k : k + per_run]
            try:
                values = beside(
                    point.program, point.inputs, point.cases, {}, [way for _, way in some]
                )
            except NotTogetherError:
                break
            for j, (direction, _) in enumerate(some):
                found[direction.key] = {output: v[j, 0].tolist() for output, v in values.items()}
        return found

    def _way(self, source: Variable, direction: Direction) -> Way:
        xp = CPU.xp
        state, vector = xp.asarray(source.state)[..., None], xp.asarray(direction.vector)[..., None]
        return Way(
            source.name, state, vector, xp.array([first_step(self.point.cases[0], direction)])
        )


def first_step(case: Output, direction: Direction, smallest: float = SMALLEST) -> float:
    """The largest step along a direction."""
    first = FIRST_STEP * max(case.reach(direction), smallest)
    return float(CPU.xp.float32(first)) if case.point.eps > 1e-10 else first
