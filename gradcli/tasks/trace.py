"""`trace`: what a run recorded, operation by operation, with cotangents after a sweep.

The program runs once with a trace that keeps everything, active or not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..diagnostics import Diagnostic, GradcliError, Span, shortened
from ..engine.backends.backend import shape_of
from ..engine.execution import Execution, running
from ..engine.explain.ancestry import Ancestry
from ..engine.explain.reasons import number_on
from ..engine.explain.walks import partial_by, walks
from ..engine.trace.keeping import Iteration, KeepingTrace
from ..engine.trace.records import Record
from ..engine.trace.unregistered import UnregisteredError
from ..engine.values.boxes import primal
from ..engine.values.kinds import is_number, leaves, read, show, show_shape
from ..lang import program
from .answer import Answer, verify_inputs, verify_used
from .chains import Chains
from .evaluation import Options
from .second_runs import keeping_execution
from .traced import Entry, Loop, Operation, Source, Traced, shown


@dataclass(slots=True)
# ---- loops, folded: which records are of which iteration, and which are shown --------------------


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


# ---- operations ----------------------------------------------------------------------------------


def trace(
    node: program.Program, inputs: Mapping[str, Any], options: Options, unfold: bool = False
) -> Traced:
    """Runs a program and lists what it recorded: with `of` or `wrt` only what lies between these.
    Loops show their last iteration; with `unfold` all of them.

    A run-time error is a diagnostic of the answer, which then holds what came before it. Raises
    GradcliError for inputs and names that the program doesn't have.
    """
    verify_inputs(node, inputs, options.ignore_extra)
    traced = Traced(node.source.name)
    execution = keeping_execution(node, inputs, options)
    answer = None
    with running():
        try:
            execution.execute()
            if not options.ignore_extra:
                verify_used(execution, execution.variables)
            answer = Answer(execution, options)
        except GradcliError as error:
            if all(d.code.startswith("E0") for d in error.diagnostics):
                raise
            traced.diagnostics += error.diagnostics
        _Tracer(execution, answer, options).fill(traced, unfold)
    execution.release()
    return traced


class _Tracer:
    """The records of one run."""

    def __init__(self, execution: Execution, answer: Answer | None, options: Options) -> None:
        self.run, self.options = execution.run, options
        trace = self.run.trace
        assert isinstance(trace, KeepingTrace)
        self.trace = trace
        self.ancestry = Ancestry(trace)
        self.chains = Chains(self.run, self.ancestry, execution.program, 0)
        self.execution, self.answer = execution, answer
        variables = self.run.declared if answer is None else answer.variables
        self.variables = {v.number: (path, v) for path, v in variables.items() if v.number}
        self.leaves = {n: -k - 1 for k, n in enumerate(self.variables)}
        self.cotangents: dict[int, Any] = {}
        self.earlier: dict[int, int] = {}

    def fill(self, traced: Traced, unfold: bool) -> None:
        """Lists the records, and what they come from."""
        numbers = [
            segment.first + k for segment in self.trace.segments for k in range(len(segment))
        ]
        targets, sources = self._targets(), self._sources()
        traced.targets = targets
        if self.options.of:
            behind = self._behind(n for found in targets.values() for n in found)
            numbers = [n for n in numbers if n in behind]
        if self.options.wrt:
            before = self._before(numbers, sources)
            numbers = [n for n in numbers if n in before]
        items: Sequence[Item] = numbers
        if not unfold:
            items = fold(numbers, self.trace.iterations, self.trace.number)
        if self.answer is not None:
            traced.diagnostics += self._sweep(sources, numbers)
        traced.entries = tuple(map(self._entry, items))
        needed = {n for operation in shown(traced.entries) for n in operation.inputs}
        traced.earlier = {n: self.earlier[n] for n in needed & self.earlier.keys()}
        read = {n for number in numbers for n in self.ancestry.inputs(number)}
        traced.sources = [
            Source(
                self._number(number),
                path,
                v.span,
                self.chains.brief(v.state),
                self._cotangent(number),
            )
            for number, (path, v) in self.variables.items()
            if number in read or not (self.options.of or self.options.wrt)
        ]
        traced.operations = len(numbers)
        traced.size = sum(_bytes(self.ancestry.trace.at(n).y) for n in numbers)

    # ---- between ---------------------------------------------------------------------------------

    def _targets(self) -> dict[str, list[int]]:
        """The numbers of what cotangents are of, by name."""
        if self.answer is None:
            return {}
        return {
            name: [n for v in leaves(target) if (n := number_on(read(v))) is not None]
            for name, target in self.answer.targets.items()
        }

    def _sources(self) -> set[int]:
        found = [] if self.answer is None else list(self.answer.sources.values())
        return {n for source in found if (n := number_on(source)) is not None}

    def _behind(self, targets: Iterable[int]) -> set[int]:
        """All that targets were computed from."""
        pending = list(targets)
        found = set(pending)
        while pending:
            n = pending.pop()
            for m in self.ancestry.inputs(n) if n >= 0 else ():
                if m not in found:
                    found.add(m)
                    pending.append(m)
        return found

    def _before(self, numbers: Iterable[int], sources: set[int]) -> set[int]:
        """All that is computed from sources, and these themselves."""
        found = set(sources)
        for n in numbers:
            if not found.isdisjoint(self.ancestry.inputs(n)):
                found.add(n)
        return found

    def _sweep(self, sources: set[int], numbers: Iterable[int]) -> list[Diagnostic]:
        """Fills in the cotangents of all numbers, by a sweep from the targets to the sources."""
        assert self.answer is not None
        try:
            seeds = [s for t in self.answer.targets.values() for s in self.execution.seeds(t)]
            window = self.trace.main
            for walk in walks(self.run, seeds, sources, window, {*numbers, *sources}).values():
                self.cotangents.update(walk.kept)
        except UnregisteredError:
            return []  # an opaque function: there is no cotangent before it
        except GradcliError as error:
            return error.diagnostics
        return []

    def _cotangent(self, number: int) -> Any:
        return self.chains.brief(self.cotangents.get(number))

    # ---- entries ---------------------------------------------------------------------------------

    def _entry(self, item: Item) -> Entry:
        if not isinstance(item, Fold):
            return self._operation(self.ancestry.trace.at(item))
        numbers = [n for iteration in item.iterations for n in inside(iteration)]
        last = next(i for i in reversed(item.iterations) if i)
        self.earlier.update(stand_ins(item, self._place))
        return Loop(
            item.span,
            shortened(item.span.text.partition("{")[0].strip()),
            len(item.iterations),
            len(numbers),
            sum(_bytes(self.ancestry.trace.at(n).y) for n in numbers),
            tuple(map(self._entry, last)),
        )

    def _place(self, number: int) -> object:
        """What is the same for the same operation of two iterations."""
        record = self.ancestry.trace.at(number)
        return record.site.op, record.site.of, record.site.span, record.calls

    def _operation(self, record: Record) -> Operation:
        site, y, inputs = record.site, record.y, tuple(dict.fromkeys(record.inputs))
        active = record.number in self.trace.active
        return Operation(
            record.number,
            site.op.name,
            site.of.name if site.of else "",
            self._operands(record),
            tuple(map(self._number, inputs)),
            site.span,
            record.calls,
            self.chains.text(site.span),
            self.chains.brief(y),
            None if type(y) is list else tuple(shape_of(primal(y)) or getattr(y, "shape", ())),
            _bytes(y),
            tuple(self._partial(record, n) if active else None for n in inputs),
            self._cotangent(record.number),
            active,
        )

    def _operands(self, record: Record) -> tuple[int | str, ...]:
        traced, found = dict(record.traced_operands()), list[int | str]()
        for k, operand in enumerate(record.operands):
            if k in traced:
                found.append(self._number(traced[k]))
            elif shape := shape_of(primal(operand)):
                found.append(f"array {show_shape(shape)}")
            else:
                found.append(shortened(" ".join(show(operand).split())))
        return tuple(found)

    def _number(self, n: int) -> int:
        """The number of a record; of a leaf one that is the same in every run."""
        return n if n >= 0 else self.leaves.setdefault(n, -len(self.leaves) - 1)

    def _partial(self, record: Record, n: int) -> Any:
        if n >= 0 and n not in self.trace.active:
            return None
        try:
            partial = partial_by(self.run, record, n)
        except GradcliError:  # an opaque function, or a rule that fails: the sweep says so
            return None
        return self.chains.brief(partial * 1.0) if is_number(partial) else None


def _bytes(y: Any) -> int:
    """The bytes of a result: 8 for a number."""
    if type(y) is list:
        return sum(map(_bytes, y))
    value = getattr(primal(y), "array", primal(y))
    return int(getattr(value, "nbytes", 8))
