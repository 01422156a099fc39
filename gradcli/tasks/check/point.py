"""A program at one point: its runs, its gradients, and its outputs as functions of the
variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from ...diagnostics import GradcliError
from ...engine.ad.derivatives import gradients
from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.execution import Compiled, Execution, compile_program, running
from ...engine.replay.history import History
from ...engine.replay.rounding import eps_of
from ...engine.replay.value_trace import FEW_ROWS, PATIENCE, EnoughError, ValueTrace
from ...engine.trace.run import Run
from ...engine.trace.tape import Traced
from ...engine.transforms.forward_level import perturb
from ...engine.values.boxes import primal
from ...engine.values.kinds import leaves, read
from ...lang import program
from ..answer import Answer
from .differences import Beside
from .directions import FEW, Direction, Scatter, directions, random_directions, seed_of, seeds
from .lane_runs import Neighbours, tangent_of
from .program import Program

FIRST_STEPS = 1000  # statements
LONG = 1000  # operations
MANY_ROWS = 100_000


class Point:
    """A run of the program, with what it answers, and another that kept every value. Raises
    GradcliError for a program that fails.

    leader  another point on the same path, whose closed forms may be used
    moved   the variables that have other values there
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Any],
        leader: Point | None = None,
        moved: Iterable[str] = (),
    ) -> None:
        self.program, self.inputs = program, inputs
        self.leader, self.moved = leader, frozenset(moved)
        self.execution = Execution(program.compiled, inputs).execute()
        self.run = self.execution.run
        self.answer = program.answer(self.execution)
        self.rows_one_by_one = FEW_ROWS
        self.forms: Any = None  # closed forms, or why there are none
        self.beside: dict[
            str, dict[str, Any]
        ] = {}  # what was found beside a kink, by output and variable
        self._sweeps: list[tuple[list[Traced], set[int]]] = []
        self._tangents: dict[tuple[str, str, int], dict[str, float]] = {}
        self.cases = [Case(self, name) for name in self.answer.targets]

    @cached_property
    def eps(self) -> float:
        """What values are rounded to: the coarsest machine epsilon on the way to the targets."""
        if self.leader is not None:
            return self.leader.eps
        if self.program.options.dtype == "float32":
            return 2.0**-23
        steps = [step for case in self.cases for step in case.history.steps]
        return max([eps_of(v) for step in steps for v in step.operands], default=2.0**-52)

    @cached_property
    def kept(self) -> tuple[Run, Answer]:
        """The run whose trace kept every value."""
        execution, trace = self._keeping(self.program.keeping)
        execution.execute()
        self._sweeps = trace.sweeps.copy()  # what is asked of this run later on isn't the program's
        return execution.run, self.program.answer(execution, self.answer.targets)

    def _keeping(self, compiled: Compiled) -> tuple[Execution, ValueTrace]:
        execution, trace = Execution(compiled, self.inputs), ValueTrace(self.rows_one_by_one)
        execution.run.trace = trace
        execution.run.bodies = 1  # functions with a rule of their own keep what their bodies gave
        return execution, trace

    def claims(self) -> tuple[Run, Answer, list[tuple[Any, Any, program.Expect]]]:
        """Another run in which every derivative is recorded, and the two sides of the `expect A ~=
        B` that held there."""
        compiled = compile_program(self.program.options.settings, self.program.node, keeps_all=True)
        execution, _ = self._keeping(compiled)
        found: list[tuple[Any, Any, program.Expect]] = []
        execution.run.claims = found
        answer = self.program.answer(execution.execute(), self.answer.targets)
        return execution.run, answer, found

    def sweeps(self) -> tuple[Run, list[tuple[list[Traced], set[int]]]]:
        """The derivatives that the program itself asked for, and the run that did. Where there is
        nothing else to check, the first statements have to do."""
        if self.cases:
            return self.kept[0], self._sweeps
        options = self.program.options
        options = options.with_changes(max_steps=min(FIRST_STEPS, options.max_steps or FIRST_STEPS))
        compiled = compile_program(options.settings, self.program.node, keeps_all=True)
        execution, trace = self._keeping(compiled)
        trace.patience = PATIENCE
        with suppress(GradcliError, EnoughError):
            execution.execute()
        trace.patience = math.inf
        return execution.run, trace.sweeps.copy()

    def take_rows_apart(self) -> None:
        """From now on keeps what `vmap` does for each of its rows, where kinks and wrong rules can
        be seen."""
        self.rows_one_by_one = MANY_ROWS
        for known, names in ((self, ("kept",)), *((case, ("history",)) for case in self.cases)):
            for name in names:
                known.__dict__.pop(name, None)

    @property
    def work(self) -> float:
        """The work of a run, in operations on numbers."""
        return 1.0 + self._counted.work * self._more

    @property
    def elements(self) -> int:
        """How many numbers the operations of a run give together."""
        return 1 + self._counted.elements * self._more

    @property
    def _counted(self) -> ValueTrace:
        trace = self.kept[0].trace
        assert isinstance(trace, ValueTrace)
        return trace

    @property
    def _more(self) -> int:
        """Where it asks for derivatives, there is so much more to do than the trace tells."""
        return 1 if self.program.asks_for_nothing else 5

    @property
    def is_long(self) -> bool:
        """Whether the program takes so long that it isn't run for each of its variables."""
        return self.work > LONG

    @cached_property
    def is_long_in_all(self) -> bool:
        """Whether runs for all directions in which variables are moved take so long together."""
        return self.work * len(self.directions) > LONG

    @cached_property
    def directions(self) -> list[Direction]:
        """All ways in which a variable that some output has a gradient by is moved."""
        names = {name for case in self.cases for name in case.gradients}
        return [
            d
            for name in self.answer.sources
            if name in names
            for d in self.cases[0].directions(name)
        ]

    @cached_property
    def neighbours(self) -> Neighbours:
        """The outputs beside the point."""
        return Neighbours(self)

    def tangents(self, direction: Direction) -> dict[str, float]:
        """The derivatives of all outputs along a direction, by output, in forward mode by one
        run."""
        if direction.key not in self._tangents:
            self._tangents[direction.key] = self._tangents_of_a_run(direction)
        return self._tangents[direction.key]

    def _tangents_of_a_run(self, moved: Direction) -> dict[str, float]:
        name, vector = self.answer.sources[moved.variable].name, moved.vector
        execution = Execution(self.program.compiled, self.inputs)
        run = execution.run

        def direction(variable: str, state: Any) -> Any:
            if variable != name:
                return None
            if shape_of(state):
                return run.backend.xp.asarray(vector).astype(state.dtype)
            return type(state)(vector)

        perturb(run, direction, not self.program.asks_for_nothing)
        targets = self.program.answer(execution.execute(), self.answer.targets).targets
        found = {}
        for case in self.cases:
            parts = zip(leaves(targets[case.output]), case.weights, strict=True)
            terms = [
                t * weight for part, weight in parts if (t := tangent_of(run, part)) is not None
            ]
            found[case.output] = sum((float(t.sum() if shape_of(t) else t) for t in terms), 0.0)
        execution.release()
        return found

    def release(self) -> None:
        """Takes the runs apart, and lets go of all that refers back to this point, so that their
        values go at once."""
        self.execution.release()
        if "kept" in vars(self):
            self.kept[1].execution.release()
        for name in ("kept", "neighbours"):
            vars(self).pop(name, None)
        self.cases.clear()


class Case:
    """One output as a number: the output itself, or a weighted sum of its elements, with weights
    that hide no error. `is_alone`: it isn't one of several points that go along together."""

    is_alone = True

    def __init__(self, point: Point, output: str) -> None:
        self.point, self.output, self.moved = point, output, point.moved
        self.chain: Any = None  # its closed form, or why there is none
        self.disturbed: dict[str, list[Any]] = {}  # gradients with other rounding errors (trust.py)
        self.target = point.answer.targets[output]
        self.parts = [read(v) for v in leaves(self.target)]
        single = len(self.parts) == 1 and not shape_of(primal(self.parts[0]))
        scatter = Scatter(len(self.parts))
        self.weights = [
            1.0 if single else scatter.sizes(shape_of(primal(part))) for part in self.parts
        ]

    @cached_property
    def gradients(self) -> dict[str, Any]:
        """The gradient by each variable, in reverse mode; none where there is none."""
        run, answer = self.point.run, self.point.answer
        names = list(answer.sources)
        with running():
            seeds = [
                (p, seed_of(p, w))
                for p, w in zip(self.parts, self.weights, strict=True)
                if type(p) is tuple
            ]
            found = gradients(run, seeds, list(answer.sources.values()), recorded=False)
        return {
            name: g
            for name, g in zip(names, found, strict=True)
            if g is not None
            and not answer.is_replaced(name)
            and is_inexact(primal(read(answer.sources[name])))
        }

    def directions(self, variable: str) -> list[Direction]:
        """The ways in which a variable is moved."""
        return directions(variable, self.state(variable))

    def random_directions(self, variable: str, stream: int = 0) -> list[Direction]:
        """Random directions in which all elements of a variable move."""
        return random_directions(variable, self.state(variable), stream)

    def pairs(self, first: str, others: Sequence[str]) -> list[tuple[Direction, list[Direction]]]:
        """The ways in which a variable and others are moved together: of two each element with each
        where that is little to do."""
        if len(others) == 1:
            found = [(a, [b]) for a in self.directions(first) for b in self.directions(others[0])]
            if len(found) <= FEW and not any(
                d.where.startswith(" ") for a, (b,) in found for d in (a, b)
            ):
                return found
        moved = zip(
            *(self.random_directions(other, stream) for stream, other in enumerate(others, 1)),
            strict=False,
        )
        return [(a, list(bs)) for a, bs in zip(self.random_directions(first), moved, strict=False)]

    def along(self, direction: Direction, gradient: Any = None) -> tuple[float, float]:
        """The derivative along a direction as the gradient has it, and the sum of its terms'
        sizes."""
        g = self.gradients[direction.variable] if gradient is None else gradient
        terms = CPU.xp.real(CPU.xp.conj(self.point.run.backend.to_host(g)) * direction.vector)
        return float(terms.sum()), float(abs(terms).sum())

    def total(self, values: list[Any]) -> Any:
        """The weighted sum of the output's parts; nan where these aren't those of the point."""
        shapes, here = map(shape_of, values), map(shape_of, self.weights)
        if any(value is None for value in values) or [*shapes] != [*here]:
            return math.nan
        terms = [value * weight for value, weight in zip(values, self.weights, strict=True)]
        return sum([term.sum() if shape_of(term) else term for term in terms], 0.0)

    def state(self, variable: str) -> Any:
        """The value of a variable."""
        return primal(read(self.point.answer.sources[variable]))

    def reach(self, direction: Direction) -> float:
        """The size of the values that a direction moves, 1 for zeros."""
        value = self.state(direction.variable)
        moved = abs(value)[direction.vector != 0] if shape_of(value) else abs(value)
        largest = float(moved.max()) if shape_of(moved) else float(moved)
        return largest if largest > 0 and math.isfinite(largest) else 1.0

    @cached_property
    def value(self) -> float:
        return float(self.total([primal(p) for p in self.parts]))

    # ---- the program again -----------------------------------------------------------------------

    def rerun(self, *moves: tuple[Direction, float]) -> float:
        """The output where variables have moved, each by a step along its direction: another run of
        the program."""
        point = self.point
        inputs = dict(point.inputs)
        for direction, h in moves:
            source = point.answer.sources[direction.variable]
            inputs[source.name] = source.state + h * direction.vector
        execution = Execution(point.program.compiled, inputs)
        if point.program.asks_for_nothing:  # nothing needs to be recorded
            perturb(execution.run, lambda name, state: None, traced=False)
        answer = point.program.answer(execution.execute(), point.answer.targets)
        parts = leaves(answer.targets[self.output])
        value = float(self.total([primal(read(p)) for p in parts]))
        execution.release()
        return value

    def beside(self, direction: Direction, first: float) -> list[Beside] | None:
        """The output at all steps along a direction, of which `first` is the largest, where one run
        gives them all."""
        return self.point.neighbours.beside(self, direction, first)

    def tangent(self, direction: Direction) -> float:
        """The derivative along a direction, in forward mode."""
        return self.point.tangents(direction)[self.output]

    @property
    def leader(self) -> Case | None:
        """The output at the point that leads this one's path."""
        cases = self.point.leader.cases if self.point.leader is not None else []
        return next((case for case in cases if case.output == self.output), None)

    def apart(self) -> Case:
        """The case to go on with where it can't go along with others."""
        return self

    # ---- its history again -----------------------------------------------------------------------

    @cached_property
    def history(self) -> History:
        """The output as a function of all variables, along the path that was taken."""
        run, answer = self.point.kept
        traced = [v for v in map(read, leaves(answer.targets[self.output])) if type(v) is tuple]
        sources = {n for s in answer.sources.values() if (n := number_of(s)) is not None}
        return History(run, traced, sources)

    def carried(
        self,
        direction: Direction,
        *moves: tuple[Direction, float],
        disturb: Any = None,
        at: Any = None,
    ) -> float:
        """The derivative along a direction, in forward mode along that path, where variables have
        moved, each by a step; with `disturb` each result, or each of the site `at`, has another
        rounding error."""
        _, answer = self.point.kept
        shifts = seeds(answer, [(moved, h) for moved, h in moves if h])
        tangents = iter(
            self.history.tangents(seeds(answer, [(direction, 1.0)]), disturb, shifts, at)
        )
        parts = [
            next(tangents) if type(read(v)) is tuple else None
            for v in leaves(answer.targets[self.output])
        ]
        return float(
            sum(
                CPU.xp.sum(t * w) for t, w in zip(parts, self.weights, strict=True) if t is not None
            )
        )

    def imaginary(self, direction: Direction, step: float) -> float:
        """The imaginary part of the output along that path, where a variable is moved by an
        imaginary step."""
        return float(CPU.xp.imag(self.replay((direction, step * 1j))))

    def replay(self, *moves: tuple[Direction, Any], disturb: Any = None, watch: Any = None) -> Any:
        """The output along that path, where variables have moved, each by a step, which may be
        complex, along its direction."""
        _, answer = self.point.kept
        shifts = {}
        for direction, h in moves:
            number = number_of(answer.sources[direction.variable])
            assert number is not None
            step = (
                CPU.xp.complex128(h) if type(h) is complex and self.point.eps > 1e-10 else h
            )  # Python's would stay single
            shifts[number] = step * direction.vector
        values = iter(self.history.values(shifts, disturb, watch))
        parts = [
            next(values) if type(read(v)) is tuple else primal(read(v))
            for v in leaves(answer.targets[self.output])
        ]
        return self.total(parts)
