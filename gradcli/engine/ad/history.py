"""A value as a function of its sources, along the path that a run took: the records that lead from
the ones to the other, evaluated again. On other numbers that gives differences, on complex ones the
complex step, with every result disturbed by a rounding error the digits that can be trusted.

What gradients don't flow through (what was detached, paused, made an int, put into a state) stays
as it was, so this is the very function that a gradient is the gradient of.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from ...diagnostics import CallSite, Span
from ..backends.backend import CPU, shape_of
from ..operations.apply import apply
from ..operations.elementwise import elementwise
from ..operations.fast_path import apply_fast, on_floats
from ..operations.structural import structural
from ..trace.keeping import KeepingTrace, carries
from ..trace.run import Run
from ..trace.tape import STRIDE, Segment, Site, Trace, Traced, reachable
from ..trace.windows import inputs_of
from ..values.boxes import Dual, primal
from ..values.kinds import List
from ..values.lanes import Lanes
from .continuation import continued
from .own_rules import Held, OwnCall, opaque_error

MAX_CONDITIONS = 20_000  # that a trace keeps; each holds the history of what it was decided by
FEW_ROWS = 64  # of `vmap`, whose operations are kept for each row
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
CUTS = ("detach", "stop_gradient")
MAX_SWEEPS, SWEEPS_A_PLACE = 40, 2
PATIENCE = 60  # sweeps in a row of which none was to be noted
ROUNDING = 2.0**-52
NUMBER = 1.0 + 1 / 200  # what an operation on one takes: 200 elements count as one operation


class EnoughError(Exception):
    """A run that is for its sweeps alone has had those that are noted."""


class ValueTrace(KeepingTrace):
    """The second keeping policy for a program that is evaluated again. Memory follows the values,
    as usual, but for those that conditions were decided by.

    updated  the variables that have had more than one state
    work     what the run took, in operations on numbers
    passed   the operations that weren't recorded, because only a state was made of them
    sweeps   the derivatives that the program asked for: targets, and what by; some of each place
    patience how many more sweeps there may be until one is noted, before the run is ended; none for
             one that isn't for them
    """

    __slots__ = ("_told", "passed", "patience", "rows_one_by_one", "sweeps", "updated", "work")
    keeps_states = False
    sees_plain = False  # what isn't finite is not asked of this trace

    def __init__(self, rows_one_by_one: int = FEW_ROWS) -> None:
        super().__init__()
        self.rows_one_by_one = rows_one_by_one
        self.segments = []
        self.updated: set[int] = set()
        self.work, self.passed = 0.0, 0
        self.patience = math.inf
        self.room = 2**62
        self.sweeps: list[tuple[list[Traced], set[int]]] = []
        self._told: Counter[Any] = Counter()

    def advance(self) -> Segment:
        segment = super().advance()
        self.segments.clear()  # reasons are not asked of this trace
        return segment

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        self.work += NUMBER if type(y) is float else 1.0 + getattr(y, "size", 1) / 200
        # As KeepingTrace does, which sees to a room and to pauses that most programs don't need.
        if not self.main.recording or len(self.windows) > 1:
            return super().record(site, inputs, a, b, kept, y)
        traced = Trace.record(self, site, inputs, a, b, kept, y)
        active = self.active
        for i in inputs:
            if i[1] in active:
                if carries(site.op, y):
                    active.add(traced[1])
                break
        return traced

    def decide(self, condition: Traced, span: Span) -> bool | None:
        if len(self.conditions) < MAX_CONDITIONS:
            super().decide(condition, span)
        return None

    def asked(self, targets: list[Traced], wanted: set[int]) -> None:
        self.patience -= 1
        if self.patience < 0:
            raise EnoughError
        if (
            len(self.sweeps) >= MAX_SWEEPS
            or self.level
            or any(type(t[0]) is Lanes for t in targets)
        ):
            return
        number, segment = targets[0][1:]
        place = segment.records[(number - segment.first) * STRIDE] if number >= 0 else None
        self._told[place] += 1
        if place is not None and self._told[place] <= SWEEPS_A_PLACE:
            self.sweeps.append((targets, wanted))
            self.patience = max(self.patience, PATIENCE)  # what is infinite stays so

    def pass_over(self, operations: int, value: Any) -> None:
        self.passed += operations
        self.work += operations * (1.0 + getattr(value, "size", 1) / 200)

    def left(self, number: int, value: Any, span: Span, how: str) -> None:
        self.updated.add(number)


class Exactly(NamedTuple):
    """A value to be taken as it is, where adding a difference would round."""

    value: Any


class Step(NamedTuple):
    """A record that depends on a source: `refs` are its operands that do, by position, with the
    numbers that they have.

    `body` has the values that a function's body returned where the step is a call with a rule of
    its own."""

    number: int
    site: Site
    operands: tuple[Any, ...]
    options: Any
    refs: tuple[tuple[int, int], ...]
    body: list[Any] | None
    segment: Segment

    @property
    def calls(self) -> tuple[CallSite, ...]:
        return self.segment.calls_to(self.number)


class History:
    """The steps from `sources`, numbers on the trace of `run`, to `targets`, in execution order."""

    def __init__(self, run: Run, targets: Iterable[Traced], sources: Iterable[int]) -> None:
        self.run = run
        self.targets = list(targets)
        self.sources = frozenset(sources)
        trace = run.trace
        assert isinstance(trace, ValueTrace)
        found = needed(self.targets)
        moving, reached = set(self.sources), set(self.sources)
        self.steps: list[Step] = []
        self.complex: Site | None = (
            None  # the first operation that is of complex numbers, or gives some
        )
        self.comparisons: list[Step] = []  # what chooses between elements; `refs` are as in a step
        self.own_rules: list[
            Step
        ] = []  # the calls of functions that have a derivative rule of their own
        self.cut: Site | None = (
            # the first that a gradient doesn't flow through, though what it gives depends on a
            # source
            None
        )
        for number, segment, flat in reversed(found):
            site, in0, in1, a, b, y = flat
            inputs = inputs_of(in0, in1)
            if reached.isdisjoint(inputs):
                continue
            reached.add(number)
            if number not in trace.active:
                if number in trace.paused or site.op.name in CUTS:
                    self.cut = self.cut or site
                if site.op.name in COMPARISONS and not moving.isdisjoint(inputs):
                    refs = tuple(
                        [(k, n) for k, n in zip(site.operands, inputs, strict=True) if n in moving]
                    )
                    operands = (a, b) if site.narrow and type(a) is not tuple else a
                    self.comparisons.append(Step(number, site, operands, {}, refs, None, segment))
                continue
            body = b.body if type(b) is OwnCall else None
            if body is not None:
                self.own_rules.append(Step(number, site, a, b, (), body, segment))
                inputs = tuple([part.number for part in body if type(part) is Held])
            if moving.isdisjoint(inputs):
                continue
            moving.add(number)
            operands = (a, b)[: len(site.op.signature.operands)] if site.narrow else a
            refs = (
                ()
                if body is not None
                else tuple(
                    [(k, n) for k, n in zip(site.operands, inputs, strict=True) if n in moving]
                )
            )
            if self.complex is None and (_is_complex(y) or site.takes_complex):
                self.complex = site
            self.steps.append(
                Step(number, site, operands, {} if site.narrow else b, refs, body, segment)
            )
        self.moving = moving

    @property
    def has_rows(self) -> bool:
        """Whether some of the steps are of many rows at once."""
        return any(type(v) is Lanes for step in self.steps for v in step.operands)

    @cached_property
    def _of_floats(self) -> list[bool]:
        """Which steps give floats of floats and ints."""
        kinds = [
            {type(v) for v in step.operands} if step.body is None else set() for step in self.steps
        ]
        pairs = zip(self.steps, kinds, strict=True)
        return [
            step.site.op.passes_floats and float in given and given <= _NUMBERS
            for step, given in pairs
        ]

    def values(
        self,
        shifts: Mapping[int, Any],
        disturb: Callable[[Any], Any] | None = None,
        watch: Callable[[Step, Any, list[Any]], None] | None = None,
    ) -> list[Any]:
        """The targets where each source in `shifts` is moved by so much, which may be complex, or
        is `Exactly` a value.

        `disturb` is applied to each result; `watch` sees each step with its result and operands.
        Raises GradcliError where an operation can't be done there, or has no continuation to
        complex numbers.
        """
        known: dict[int, Any] = {}
        given = [shift.value if type(shift) is Exactly else shift for shift in shifts.values()]
        goes_complex = any(map(_is_complex, given))
        continues = self.complex is None and goes_complex
        of_floats = repeat(False) if goes_complex or Lanes in map(type, given) else self._of_floats

        def moved(number: int, saved: Any) -> Any:
            if number in known:
                return known[number]
            shift = shifts.get(number)
            return (
                saved if shift is None else shift.value if type(shift) is Exactly else saved + shift
            )

        for step, is_of_floats in zip(self.steps, of_floats, strict=False):
            if step.body is not None:
                parts = [
                    moved(part.number, part.primal) if type(part) is Held else part
                    for part in step.body
                ]
                y = parts[0] if step.options.outputs == 0 else parts
                operands: list[Any] = []
            else:
                operands = list(step.operands)
                for k, n in step.refs:
                    operands[k] = known[n] if n in known else moved(n, operands[k])
                y = on_floats(self.run, step.site, operands) if is_of_floats else None
                if y is None:
                    y = compute(self.run, step, operands, continues)
                if disturb is not None:
                    y = disturb(y)
            if step.number in shifts:  # an intermediate value that is a source, too
                y = y + shifts[step.number]
            known[step.number] = y
            if watch is not None:
                watch(step, y, operands)
        return [moved(target[1], target[0]) for target in self.targets]

    def tangents(
        self,
        vectors: Mapping[int, Any],
        disturb: Callable[[Any], Any] | None = None,
        shifts: Mapping[int, Any] = {},
    ) -> list[Any]:
        """The tangents of the targets where sources move along these vectors, by the rules of
        forward mode; None for what doesn't move. `disturb` is applied to each result, and to its
        tangent; sources that move begin where they are moved to by `shifts`. Raises GradcliError
        where an operation has none."""
        run = Run(self.run.dispatch, self.run.settings, {})
        level = run.level = 1
        known: dict[int, Any] = {}

        def moved(number: int, saved: Any) -> Any:
            if number in known:
                return known[number]
            vector = vectors.get(number)
            if vector is None:
                return saved
            return Dual(saved + shifts[number] if number in shifts else saved, vector, level)

        for step in self.steps:
            if step.body is not None:
                if step.options.function.opaque:
                    raise opaque_error(step.options.function, step.calls)
                parts = [
                    moved(part.number, part.primal) if type(part) is Held else part
                    for part in step.body
                ]
                known[step.number] = parts[0] if step.options.outputs == 0 else List(parts)
                continue
            operands = list(step.operands)
            for k, n in step.refs:
                operands[k] = moved(n, operands[k])
            if step.site.op.name == "part":
                known[step.number] = (
                    operands[0].items[step.options["index"]]
                    if type(operands[0]) is List
                    else operands[0]
                )
                continue
            options = {"index": step.options} if type(step.options) is tuple else step.options
            y = apply(
                run,
                step.site,
                tuple(operands),
                {**options, "inplace": False} if "inplace" in options else options,
            )
            known[step.number] = y if disturb is None else _disturbed(y, disturb)
        values = [moved(target[1], target[0]) for target in self.targets]
        return [primal(v.tangent) if type(v) is Dual else None for v in values]


def compute(run: Run, step: Step, operands: list[Any], continues: bool = False) -> Any:
    """The result of a step for other operands; a list for several results. `continues`: of real
    numbers with infinitesimal imaginary parts, where they are complex."""
    site, options = step.site, step.options
    if site.op.passes_floats and (y := apply_fast(run, site, operands, {}, False)) is not None:
        return y
    if site.op.name == "part":
        return operands[0][options["index"]] if type(operands[0]) is list else operands[0]
    if type(options) is tuple:  # element reads and writes keep their index as it is
        options = {"index": options}
    elif options.get("inplace"):
        options = {**options, "inplace": False}
    if continues and any(map(_is_complex, operands)):
        return continued(run, site, operands, options)
    if site.op.elementwise:
        return elementwise(run, site, operands)
    return structural(run, site, operands, options)


def _disturbed(value: Any, disturb: Callable[[Any], Any]) -> Any:
    """A result of forward mode with its numbers and their tangents disturbed."""
    if type(value) is List:
        return List([_disturbed(item, disturb) for item in value.items])
    if type(value) is Dual:
        return Dual(disturb(value.primal), disturb(value.tangent), value.level)
    return disturb(value)


_NUMBERS = frozenset((float, int))


def _is_complex(value: Any) -> bool:
    return type(value) is complex or getattr(getattr(value, "dtype", None), "kind", "") == "c"


def needed(targets: Sequence[Traced]) -> list[tuple[int, Segment, list[Any]]]:
    """The records that the targets have in their history, bodies of functions with rules of their
    own included, newest first."""
    numbers = {target[1] for target in targets}
    found = []
    for segment in reachable([target[2] for target in targets], 0):
        records = segment.records
        for k in range(len(segment) - 1, -1, -1):
            number = segment.first + k
            if number not in numbers:
                continue
            flat = records[k * STRIDE : (k + 1) * STRIDE]
            numbers.update(inputs_of(flat[1], flat[2]))
            if type(flat[4]) is OwnCall and flat[4].body is not None:
                numbers.update([part.number for part in flat[4].body if type(part) is Held])
            found.append((number, segment, flat))
    return found


def rounding(seed: int, eps: float = ROUNDING) -> Callable[[Any], Any]:
    """A disturbance by a rounding error: each number up or down by about a unit in its last place,
    as one of this precision."""
    xp = CPU.xp
    random = xp.random.default_rng(seed)

    def disturb(value: Any) -> Any:
        if type(value) is list:
            return [disturb(part) for part in value]
        if type(value) is Lanes:
            return Lanes(disturb(value.array), value.group)
        kind = getattr(
            getattr(value, "dtype", None),
            "kind",
            "f" if type(value) is float else "c" if type(value) is complex else "",
        )
        if kind not in ("f", "c"):
            return value
        shape = shape_of(value)
        up = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        if kind == "f":
            return value * (up if shape else float(up))
        across = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        return value.real * up + 1j * (value.imag * across)

    return disturb
