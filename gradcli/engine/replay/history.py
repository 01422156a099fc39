"""A value as a function of its sources, along the path that a run took.

A `History` has the records that lead from the sources to the targets, and evaluates them again.
Evaluated on other numbers it gives differences, on complex ones the complex step, and with every
result disturbed by a rounding error it shows which digits can be trusted.

Values that gradients don't flow through (detached, paused, made an int, or put into a state) stay
as they were, so this is the very function that a gradient belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple

from ...diagnostics import CallSite
from ...ops import OPS
from ...ops.op import Op, OpError
from ..ad.own_rules import Held, OwnCall, opaque_error
from ..backends.backend import CPU, is_complex, is_inexact
from ..formulas.functions import scalar_function
from ..operations.apply import apply, without_writing
from ..operations.elementwise import elementwise
from ..operations.structural import refuse, structural
from ..trace.records import Record, newest_first, record_in
from ..trace.run import Run
from ..trace.tape import Segment, Site, Traced, reachable
from ..values.boxes import Dual, primal
from ..values.kinds import List
from ..values.lanes import Lanes
from .continuation import continued
from .rounding import Disturb, rounded
from .value_trace import ValueTrace

# ---- steps: records that are evaluated again on other operands -----------------------------------


class Exactly(NamedTuple):
    """The value of a source at another point, where adding a difference to it would round."""

    value: Any


class Step(NamedTuple):
    """A record that depends on a source. `refs` are the positions and the numbers of the operands
    that do.

    `body` has the values that the body of a function returned, where the step is a call of a
    function with its own derivative rule; `function` computes an elementwise step on floats, or one
    that reads or changes an element, without asking what its operands are."""

    number: int
    site: Site
    operands: tuple[Any, ...]
    options: Any
    refs: tuple[tuple[int, int], ...]
    body: list[Any] | None
    segment: Segment
    function: Callable[..., float] | None = None

    @property
    def calls(self) -> tuple[CallSite, ...]:
        return self.segment.calls_to(self.number)

    @property
    def call_options(self) -> Mapping[str, Any]:
        """The options as the operation takes them: an index by its name, and nothing is written in
        place."""
        options = self.options
        return {"index": options} if type(options) is tuple else without_writing(options)

    def body_parts(self, value: Callable[[int, Any], Any]) -> list[Any]:
        """What the body returned, with the values of now: `value(number, saved)` gives them."""
        assert self.body is not None
        return [value(v.number, v.primal) if type(v) is Held else v for v in self.body]


def compute(run: Run, step: Step, operands: list[Any], continues: bool = False) -> Any:
    """The result of a step for other operands; a list if it has several results. With `continues`,
    complex operands are real numbers with infinitesimal imaginary parts."""
    site, options = step.site, step.call_options
    if site.op.name == "part":
        return operands[0][options["index"]] if type(operands[0]) is list else operands[0]
    if continues and any(map(is_complex, operands)):
        return continued(run, site, operands, options)
    if site.op.elementwise:
        return elementwise(run, site, operands)
    return structural(run, site, operands, options)


def needed(targets: Sequence[Traced]) -> list[Record]:
    """The records in the history of the targets, newest first. Those in the bodies of functions
    with their own derivative rule are included."""
    numbers = {target[1] for target in targets}
    found = []
    for segment, number in newest_first(reachable([target[2] for target in targets], 0)):
        if number not in numbers:
            continue
        record = record_in(segment, number)
        numbers.update(record.inputs)
        if type(record.b) is OwnCall and record.b.body is not None:
            numbers.update([part.number for part in record.b.body if type(part) is Held])
        found.append(record)
    return found


# ---- all steps -----------------------------------------------------------------------------------


GETITEM = OPS["getitem"]
ON_ELEMENTS = (GETITEM, OPS["setitem"], OPS["index_add"])
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
CUTS = ("detach", "stop_gradient")


class History:
    """The steps from `sources`, numbers on the trace of `run`, to `targets`, in execution order."""

    def __init__(self, run: Run, targets: Iterable[Traced], sources: Iterable[int]) -> None:
        self.run = run
        self.targets = list(targets)
        self.sources = frozenset(sources)
        trace = run.trace
        assert isinstance(trace, ValueTrace)
        self.trace = trace
        self.moving = set(self.sources)  # the numbers of what changes when a source moves
        self.steps: list[Step] = []
        # The first operation on complex numbers, or with a complex result.
        self.complex: Site | None = None
        # The comparisons between elements, which decide what `where` and its kin select.
        self.comparisons: list[Step] = []
        # The other operations that make ints or bools of values, such as `int64` and `argmax`.
        self.casts: list[Step] = []
        # The calls of functions that have their own derivative rule.
        self.own_rules: list[Step] = []
        # The first operation that depends on a source and that gradients don't flow through.
        self.cut: Site | None = None
        reached = set(self.sources)
        for record in reversed(needed(self.targets)):
            if reached.isdisjoint(record.inputs):
                continue
            reached.add(record.number)
            if record.number in trace.active:
                self._add_step(record)
            else:
                self._add_end(record)

    def _add_end(self, record: Record) -> None:
        """Adds a record that depends on a source, and that gradients don't flow through."""
        site, number = record.site, record.number
        if number in self.trace.paused or site.op.name in CUTS:
            self.cut = self.cut or site
        exact = not (is_inexact(record.y) or type(record.b) is OwnCall)
        if exact and not self.moving.isdisjoint(record.inputs):
            steps = self.comparisons if site.op.name in COMPARISONS else self.casts
            steps.append(self._step(record))

    def _add_step(self, record: Record) -> None:
        """Adds a record that gradients flow through, if it moves with a source."""
        site, y, inputs = record.site, record.y, record.inputs
        step = self._step(record)
        if type(record.b) is OwnCall and record.b.body is not None:
            step = step._replace(refs=(), body=record.b.body)
            self.own_rules.append(step)
            inputs = tuple([part.number for part in record.b.body if type(part) is Held])
        if self.moving.isdisjoint(inputs):
            return
        self.moving.add(record.number)
        if self.complex is None and (is_complex(y) or site.takes_complex):
            self.complex = site
        if type(y) is float and site.op.elementwise and not any(map(is_complex, step.operands)):
            operands = tuple(map(float, step.operands))
            step = step._replace(operands=operands, function=scalar_function(site.op))
        elif site.op in ON_ELEMENTS:
            function = _on_element(site.op, step.operands, step.options, y)
            step = step._replace(function=function)
        self.steps.append(step)

    def _step(self, record: Record) -> Step:
        """The step of a record, computed by the operation itself."""
        site = record.site
        refs = tuple([(k, n) for k, n in record.traced_operands() if n in self.moving])
        options = {} if site.inline_operands else record.b
        return Step(record.number, site, record.operands, options, refs, None, record.segment)

    @property
    def has_rows(self) -> bool:
        """Whether some steps are on lanes."""
        return any(type(v) is Lanes for step in self.steps for v in step.operands)

    def values(
        self,
        shifts: Mapping[int, Any],
        disturb: Disturb | None = None,
        watch: Callable[[Step, Any, list[Any]], None] | None = None,
    ) -> list[Any]:
        """The targets at another point: each source in `shifts` is moved by its shift, which may be
        complex, or is `Exactly` a value.

        `disturb` is applied to each result; `watch` is called with each step, its result and its
        operands. Raises GradcliError where an operation can't be computed there, or has no
        continuation to complex numbers.
        """
        known: dict[int, Any] = {}
        given = [shift.value if type(shift) is Exactly else shift for shift in shifts.values()]
        goes_complex = any(map(is_complex, given))
        continues = self.complex is None and goes_complex

        def moved(number: int, saved: Any) -> Any:
            if number in known:
                return known[number]
            shift = shifts.get(number)
            return (
                saved if shift is None else shift.value if type(shift) is Exactly else saved + shift
            )

        for step in self.steps:
            if step.body is not None:
                parts = step.body_parts(moved)
                y = parts[0] if step.options.outputs == 0 else parts
                operands: list[Any] = []
            else:
                operands = list(step.operands)
                for k, n in step.refs:
                    operands[k] = known[n] if n in known else moved(n, operands[k])
                if step.function is None or goes_complex:
                    y = compute(self.run, step, operands, continues)
                else:
                    try:
                        y = step.function(*operands)
                    except OpError as error:  # of a function that another package registered
                        refuse(self.run, step.site, error)
                if disturb is not None:
                    evaluate = partial(compute, self.run, step, continues=continues)
                    y = rounded(step.site.op, evaluate, operands, y, disturb)
            if step.number in shifts:  # an intermediate value that is a source, too
                y = y + shifts[step.number]
            known[step.number] = y
            if watch is not None:
                watch(step, y, operands)
        return [moved(target[1], target[0]) for target in self.targets]

    def tangents(
        self,
        vectors: Mapping[int, Any],
        disturb: Disturb | None = None,
        shifts: Mapping[int, Any] = {},
        at: Site | None = None,
    ) -> list[Any]:
        """The tangents of the targets where sources move along these vectors, by the rules of
        forward mode; None for a target that doesn't depend on them. `disturb` is applied to each
        result and its tangent, with `at` to those of that site alone; sources in `shifts` are moved
        by their shifts first. Raises GradcliError where an operation has no rule."""
        run = Run(self.run.dispatch, self.run.settings, {})
        level = run.level = 1
        known: dict[int, Any] = {}

        def moved(number: int, saved: Any) -> Any:
            if number in known:
                return known[number]
            value = saved + shifts[number] if number in shifts else saved
            vector = vectors.get(number)
            return value if vector is None else Dual(value, vector, level)

        for step in self.steps:
            if step.body is not None:
                if step.options.function.opaque:
                    raise opaque_error(step.options.function, step.calls)
                parts = step.body_parts(moved)
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
            options = step.call_options

            def evaluate(values: list[Any], site: Site = step.site, options: Any = options) -> Any:
                return apply(run, site, tuple(values), options)

            y = evaluate(operands)
            if disturb is not None and at in (None, step.site):
                y = rounded(step.site.op, evaluate, operands, y, disturb)
            known[step.number] = y
        values = [moved(target[1], target[0]) for target in self.targets]
        return [primal(v.tangent) if type(v) is Dual else None for v in values]


def _on_element(op: Op, operands: Sequence[Any], options: Any, y: Any) -> Callable[..., Any] | None:
    """The function that reads or changes one element of an array of float64 on the host; None for
    other indices and arrays."""
    index = options if type(options) is tuple else options["index"]
    is_one = type(index) is tuple and all(type(k) is int for k in index)
    if not is_one or not _is_double(operands[0]) or len(index) != operands[0].ndim:
        return None
    if op is GETITEM:
        return methodcaller("item", *index)
    compute: Any = op.compute
    return partial(compute, CPU.xp, index=index) if _is_double(y) else None


def _is_double(value: Any) -> bool:
    """Whether a value is an array of float64 on the host."""
    return type(value) is CPU.ndarray and value.dtype.char == "d"
