"""Levels: what a transform opens around the call of its function, and closes when that returns.

A reverse level is a window on the trace at hand; only where a forward level lies between does it need a trace of its
own, whose primals are then duals. A forward level boxes the arguments in `Dual`s, and keeps nothing. Where a function
asks for gradients of values, tapes and captured names must meet on one trace: tangents then go over that, by sweeps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ..ad.derivatives import merged, ones_like
from ..ad.reverse import sweep, sweep_segment
from ..ad.scalar_sweep import sweep_floats
from ..backends.backend import is_inexact, is_scalar
from ..jacobian.compressed import Sparse, batch_rows, blocks
from ..operations.narrowing import narrowed
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Leaf, Segment, Site, Trace, Traced, blank, leaf_numbers, reachable
from ..trace.windows import Window
from ..values.boxes import Dual, level_of, lowered, primal
from ..values.kinds import UNSET, Function, List, Variable, leaves, map_structure, read

level_numbers = itertools.count(1)  # of levels: what is opened later is higher, and nothing that ended is met again
IDENTITY = OPS["pos"]


class Recording:
    """One call of a function, recorded from fresh inputs on, so that cotangents can be sent back through it.

    value   what the function gave; boxed where it depends on an input, or on something that was recorded outside
    inputs  what stands for the numbers among the arguments, in order: traced; None for one that isn't differentiable
    """

    __slots__ = (
        "_passes_on", "_seen", "_taken", "before", "begin", "inputs", "limit", "own", "records", "run", "since", "switched",
        "trace", "value",
    )  # fmt: skip

    def __init__(
        self,
        run: Run,
        function: Any,
        arguments: list[Any],
        keywords: dict[str, Any],
        wrt: list[int],
        site: Site,
        apart: bool = False,
    ) -> None:
        """Calls `function`; its inputs are the arguments at the positions `wrt`. `apart`: none of these as it is outside."""
        self.run = run
        outside = run.trace, run.level
        self.own = run.level != run.trace.level  # a forward level lies between
        if self.own:
            run.level = next(level_numbers)
            run.trace = Trace(run.level, run.trace)
        trace = self.trace = run.trace
        self.before, self.limit = trace.segment, trace.limit
        self._passes_on = False  # whether an argument comes from outside as it is
        paused = None if trace.main.recording else _go_on(trace)
        trace.number += 1  # so that nothing from outside begins where this does, and begins a segment that `finish` can let go of
        begin = self.begin = trace.advance()
        self.since, self.switched = begin.first, trace.switched
        self._taken: set[int] | None = None
        self._seen = None if apart or keywords else (function, arguments, wrt)
        inputs: list[Traced | None] = []
        self.inputs = inputs
        given = arguments.copy()
        for k in wrt:
            argument = arguments[k]
            if type(argument) is Variable:
                argument = argument.box
            if type(argument) is float and not run.asks:
                number = -next(leaf_numbers)
                given[k] = fresh = argument, number, begin
                trace.fresh[number] = begin
                inputs.append(fresh)
            elif type(argument) is List or type(argument) is dict:
                given[k] = map_structure(lambda v: self._fresh(site, v), argument)
            else:
                given[k] = self._fresh(site, argument)
        run.recordings += 1
        try:
            self.value = run.call(function, given, keywords, site)
        finally:
            run.recordings -= 1
            run.trace, run.level = outside
            if paused is not None:
                _stop(trace, paused)
                self.switched += 1  # the view is gone: nothing that stays has noted a number
        if self.own:
            trace.close(trace.main)  # sweeps go through `apply`, for the levels below, and aren't recorded here
            self.records = False
        else:
            self._settle()

    @classmethod
    def of_call(
        cls, run: Run, value: Any, inputs: list[Any], begin: Segment, before: Segment | None, limit: int, switched: int
    ) -> Recording:
        """The same of a call that was made elsewhere, on the trace at hand, by floats: the `inputs` stand for them, in the
        segment that was begun for the call. The rest is what was of the trace before it."""
        self = cls.__new__(cls)
        self.run, self.trace, self.value = run, run.trace, value
        self.own = self._passes_on = False
        self.before, self.limit, self.switched = before, limit, switched
        self.begin, self.inputs, self.since = begin, inputs, begin.first
        self._taken = self._seen = None
        self._settle()
        return self

    def _settle(self) -> None:
        """Finds out whether what sweeps compute is to be recorded: whether something outside can depend on it."""
        depends = self._passes_on or self.trace.keeps_all or self._depends_on_outside()
        self.records = self.before is not None and depends and (self.trace.keeps_all or not self.run.once)

    def _fresh(self, site: Site, value: Any) -> Any:
        value = read(value)
        if type(value) is not float and not is_inexact(primal(value)):
            self.inputs.append(None)
            return value
        trace = self.trace
        if type(value) is not float and level_of(value) == trace.level:
            if self._seen is not None:
                self._taken, self._seen = _numbers_seen(*self._seen), None
            constant = isinstance(trace, KeepingTrace) and value[1] not in trace.active
            if self._taken is not None and value[1] not in self._taken and not constant:
                self._passes_on = True
                self.inputs.append(value)  # it comes into the function by this argument alone
                return value
            kept = blank(value[0])
            fresh: Any = trace.record(site.derived(IDENTITY).on((0,)), [value], kept, None, kept, value[0])
            if isinstance(trace, KeepingTrace):
                trace.active.add(fresh[1])
        else:
            fresh = value, -next(leaf_numbers), self.begin
            trace.fresh[fresh[1]] = self.begin
            if self.run.asks:  # for gradients of values inside the function, by the argument
                trace.watched.add(fresh[1])
                trace.main.watch.add(fresh[1])
                if isinstance(trace, KeepingTrace):
                    trace.active.add(fresh[1])
        self.inputs.append(fresh)
        return fresh

    def pull(self, seeds: list[tuple[Any, Any]]) -> list[Any]:
        """The cotangents of the inputs, None where unconnected, for parts of the value with their cotangents."""
        level = self.trace.level
        seeds = [(t, primal(c) if self.run.once else c) for t, c in seeds if level_of(t) == level]
        wanted = {i[1] for i in self.inputs if i is not None}
        if any(level_of(cotangent) == level for _, cotangent in seeds):  # a vector that depends on something outside
            self.records = True
        if self.records:
            self.trace.swept = True
        found = sweep(self.run, seeds, wanted, self.records or level > 0, self.trace.main, self.since)
        return [None if i is None or i[1] not in found else self.outside(found[i[1]]) for i in self.inputs]

    def batch_rows(self, target: Any, site: Site) -> list[Any]:
        """What `batch_rows` gives of the value, by each of the inputs."""
        trace = self.trace
        if level_of(target) != trace.level or not is_inexact(primal(target)):
            return [None] * len(self.inputs)
        found = batch_rows(self.run, target, self.inputs, self._sweeps_at(site), trace.main, self.since)
        return [self.outside(rows) for rows in found]

    def _sweeps_at(self, site: Site) -> Site | None:
        """The site, for sweeps that go through `apply`: what they give may be differentiated again, or has tangents or rows."""
        return site if self.records or self.trace.level or self.run.group is not None else None

    def blocks(self, target: Any, site: Site, mode: str, sparse: bool, symmetric: bool) -> list[Any]:
        """The derivatives of a part of the value by each of the inputs, as `blocks` gives them; None where unconnected."""
        trace = self.trace
        if level_of(target) != trace.level or not is_inexact(primal(target)):
            return [None] * len(self.inputs)
        mode = "reverse" if trace.level else mode  # a trace that has been closed
        found = blocks(self.run, target, self.inputs, self._sweeps_at(site), trace.main, mode, sparse, symmetric, self.since)
        return [
            block._replace(values=self.outside(block.values)) if type(block) is Sparse else self.outside(block) for block in found
        ]

    def push(self, tangents: list[Any], site: Site) -> list[Any]:
        """The tangents of the parts of the value, in order, None where unconnected, for those of the inputs, None for zero.

        By two sweeps: what the first gives is linear in the cotangents that it starts from, and the second transposes it. They
        are ones: at 0 products with what is infinite don't move.
        """
        run, trace, level = self.run, self.trace, self.trace.level
        parts = [read(v) for v in leaves(self.value)]
        if any(level_of(t) == level for t in tangents):  # a vector that depends on something outside
            self.records = True
        wanted = {i[1] for i in self.inputs if i is not None}
        moving = [k for k, v in enumerate(parts) if level_of(v) == level and is_inexact(primal(v))]
        weights = {k: trace.leaf(ones_like(run, parts[k])) for k in moving}
        numbers = {u[1] for u in weights.values()}
        paused = None if trace.main.recording else _go_on(trace)
        try:
            seeds = merged(run, site, [(parts[k], u) for k, u in weights.items()])
            pulled = sweep(run, seeds, wanted, True, trace.main, self.since, bodies=True)
            pairs = [(pulled[i[1]], t) for i, t in zip(self.inputs, tangents, strict=True) if i is not None and i[1] in pulled]
            seeds = merged(run, site, [(c, t) for c, t in pairs if t is not None and level_of(c) == level])
            found = sweep(run, seeds, numbers, self.records, trace.main, self.since)
        finally:
            if paused is not None:
                _stop(trace, paused)
        trace.swept = trace.swept or self.records
        trace.watched -= numbers
        trace.main.watch -= numbers
        tangent_of = {k: self.outside(found[u[1]]) for k, u in weights.items() if u[1] in found}
        return [tangent_of.get(k) for k in range(len(parts))]

    def pull_scalar(self, value: Traced, cotangent: float = 1.0) -> list[Any]:
        """The cotangents of the inputs for a float that is the value. Most functions fit into the segment that the call began:
        there the sweep needs no search."""
        trace, segment, inputs = self.trace, value[2], self.inputs
        if trace.level or trace.keeps_all or segment is not self.begin:
            return self.pull([(value, cotangent)])
        if not self.records and all([i is None or i[1] < self.since for i in inputs]):  # noqa: C419 - none is a record there
            floats = sweep_floats(segment, value[1], cotangent)
            if floats is not None:
                return [None if i is None else floats.get(i[1]) for i in inputs]
        wanted = {i[1] for i in inputs if i is not None}
        if self.records:
            trace.swept = True
        found = sweep_segment(self.run, segment, value, cotangent, wanted, self.records)
        return [None if i is None else found.get(i[1]) for i in inputs]

    def outside(self, value: Any) -> Any:
        """A value as it is outside the transform: without this level's box, if nothing outside is recorded in it."""
        return value if self.records else lowered(value, self.trace.level)

    def finish(self) -> None:
        """Lets go of the records, where nothing that is handed out refers to them."""
        trace = self.trace
        if self.own:
            trace.release()
            return
        for fresh in self.inputs:
            if fresh is not None and fresh[2] is self.begin and fresh[1] < 0:
                del trace.fresh[fresh[1]]
                if self.run.asks:
                    trace.watched.discard(fresh[1])
                    trace.main.watch.discard(fresh[1])
        # A window that stopped or went on has noted the number that this happened at, which mustn't come again.
        if not (self.records or trace.keeps_all) and self.switched == trace.switched:
            trace.segment, trace.limit = self.before, self.limit
            trace.number = self.since - 1

    def _depends_on_outside(self) -> bool:
        """Whether the history of the value goes back beyond the call, to a record or to a leaf; told by its segments."""
        value, since = self.value, self.since
        if type(value) is tuple and value[2] is self.begin:
            if not self.begin.earlier:
                return False
            segments = [self.begin]
        else:
            level = self.trace.level
            segments = reachable([v[2] for v in map(read, leaves(value)) if level_of(v) == level], since)
        # A leaf is nowhere on the trace; what the inputs come from is the segment that the call began.
        return any([e.first < since or type(e) is Leaf for s in segments for e in s.earlier])  # noqa: C419


def _go_on(trace: Trace) -> Window:
    """Records on inside `pause`: a view of the main tape stands in for it. Returns the main tape, for `_stop`."""
    main = trace.main
    trace.main = main.view()
    trace.open(trace.main)
    return main


def _stop(trace: Trace, main: Window) -> None:
    view, trace.main = trace.main, main
    trace.close(view)


def _numbers_seen(function: Any, arguments: list[Any], wrt: list[int]) -> set[int] | None:
    """The numbers of the traced values that a function of the program captured, is given beside the arguments at `wrt`, or
    is given twice; None where it gets what may hold others: functions, lists, modules."""
    if type(function) is not Function:
        return None
    chosen = [v[1] for k in wrt for v in map(read, leaves(arguments[k])) if type(v) is tuple]
    numbers = set() if len(set(chosen)) == len(chosen) else set(chosen)
    arguments = [argument for k, argument in enumerate(arguments) if k not in wrt]
    for value in (*[cell[0] for cell in function.cells], *function.defaults, *arguments):
        if type(value) is Variable:
            numbers.add(value.number)
        elif type(value) is tuple:
            numbers.add(value[1])
        elif not (
            is_scalar(value)
            or hasattr(value, "dtype")
            or value is UNSET
            or (type(value) is Function and value.captures_nothing())
        ):
            return None
    return numbers


def perturb(run: Run, direction: Callable[[str, Any], Any], traced: bool) -> None:
    """Opens a forward level for a whole run, which hasn't begun: `direction` gives the tangents of variables by name and
    state. `traced`: the program itself asks for derivatives, for which it needs a trace above that level."""
    run.direction = direction
    run.level = run.direction_level = next(level_numbers)
    if traced:
        run.level = next(level_numbers)
        run.trace = Trace(run.level, run.trace)


def along(
    run: Run,
    function: Any,
    arguments: list[Any],
    keywords: dict[str, Any],
    wrt: list[int],
    tangents: list[Any],
    site: Site,
) -> tuple[Any, Any]:
    """One call of a function, and how its value changes along tangents.

    `tangents` holds one for each number in the arguments at the positions `wrt`, in order; None for one that isn't
    perturbed. Returns the value and its tangent, of the same structure, with None where the value has none.
    """
    if run.asks:
        return _along_the_trace(run, function, arguments, keywords, wrt, tangents, site)
    outside = run.level
    level = run.level = next(level_numbers)
    rest = iter(tangents)

    def perturbed(value: Any) -> Any:
        tangent = next(rest)
        value = read(value)
        # A tangent has the rows that run, so its primal must: who takes rows of a dual takes them of both.
        return value if tangent is None else Dual(narrowed(run, site, value, run.group), tangent, level)

    arguments = arguments.copy()
    for k in wrt:
        argument = arguments[k]
        arguments[k] = perturbed(argument) if type(argument) is float else map_structure(perturbed, argument)
    try:
        value = run.call(function, arguments, keywords, site)
    finally:
        run.level = outside
    return parted(value, level)


def parted(value: Any, level: int) -> tuple[Any, Any]:
    """A value, and its tangent at a level, of the same structure, with None where it has none."""
    if type(value) is Dual and value.level == level:
        return value.primal, value.tangent
    tangent = map_structure(lambda v: v.tangent if level_of(v := read(v)) == level else None, value)
    return map_structure(lambda v: lowered(read(v), level), value), tangent


def _along_the_trace(
    run: Run,
    function: Any,
    arguments: list[Any],
    keywords: dict[str, Any],
    wrt: list[int],
    tangents: list[Any],
    site: Site,
) -> tuple[Any, Any]:
    """The same without a level, by sweeps over what the call records."""
    run.bodies += 1
    try:
        recording = Recording(run, function, arguments, keywords, wrt, site, apart=True)
    finally:
        run.bodies -= 1
    found = iter(recording.push(tangents, site))
    value = map_structure(lambda v: recording.outside(read(v)), recording.value)
    recording.finish()
    return value, map_structure(lambda v: next(found), value)
