"""One recorded call of a function: the reverse level that `grad` and its relatives open.

A reverse level is a window on the current trace. Only where a forward level lies between does it
need a trace of its own, whose primals are then duals.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from ...ops import OPS
from ..ad.reverse import sweep
from ..ad.targets import merge_seeds, ones_like
from ..backends.backend import is_inexact
from ..trace.keeping import KeepingTrace
from ..trace.recording import blank
from ..trace.run import Run
from ..trace.tape import Leaf, Site, Trace, Traced, leaf_numbers, reachable
from ..trace.windows import Window
from ..values.boxes import level_of, lowered, primal
from ..values.kinds import List, Variable, leaves, map_structure, read
from ..values.sparse import Sparse

# Numbers of levels: a later level has a higher number, and no number is used twice.
level_numbers = itertools.count(1)
IDENTITY = OPS["pos"]


class DifferentiatedCall(NamedTuple):
    """A call of a function that is differentiated by the arguments at the positions `wrt`."""

    run: Run
    function: Any
    arguments: list[Any]
    keywords: dict[str, Any]
    wrt: list[int]
    site: Site


class Recording:
    """One call of a function, recorded from fresh inputs on, so that cotangents can be pulled back
    through it.

    value   the function's result; traced where it depends on an input, or on something recorded
            outside
    inputs  the traced inputs that replace the numbers among the arguments, in order; None for one
            that isn't differentiable
    """

    __slots__ = (
        "before", "begin", "inputs", "limit", "own", "records", "run", "since", "switched", "trace",
        "value",
    )  # fmt: skip

    def __init__(self, call: DifferentiatedCall) -> None:
        """Makes a call with fresh inputs in place of the arguments that it is differentiated by."""
        run, function, arguments, keywords, wrt, site = call
        self.run = run
        outside = run.trace, run.level
        self.own = run.level != run.trace.level  # a forward level lies between
        if self.own:
            run.level = next(level_numbers)
            run.trace = Trace(run.level, run.trace)
        trace = self.trace = run.trace
        self.before, self.limit = trace.segment, trace.limit
        paused = None if trace.main.recording else _go_on(trace)
        # Nothing from outside begins here, so that `finish` can release the segment.
        trace.number += 1
        begin = self.begin = trace.advance()
        self.since, self.switched = begin.first, trace.switched
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
        trace.recordings += 1
        try:
            self.value = run.call(function, given, keywords, site)
        finally:
            trace.recordings -= 1
            run.trace, run.level = outside
            if paused is not None:
                _stop(trace, paused)
                self.switched += 1  # the view is gone, and nobody else noted a number
        if self.own:
            # Sweeps go through `apply`, for the levels below, and aren't recorded here.
            trace.close(trace.main)
            self.records = False
        else:
            self._settle()

    def _settle(self) -> None:
        """Decides whether the sweeps over this call are recorded: whether their results can depend
        on something outside.
        """
        depends = self.trace.keeps_all or self._depends_on_outside()
        self.records = (
            self.before is not None and depends and (self.trace.keeps_all or not self.run.once)
        )

    def _fresh(self, site: Site, value: Any) -> Any:
        value = read(value)
        if type(value) is not float and not is_inexact(primal(value)):
            self.inputs.append(None)
            return value
        trace = self.trace
        if type(value) is not float and level_of(value) == trace.level:
            kept = value[0] if trace.room > 0 else blank(value[0])
            fresh: Any = trace.record(
                site.in_derivative(IDENTITY).on((0,)), [value], kept, None, kept, value[0]
            )
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
        """Returns the cotangents of the inputs, None where unconnected, for parts of the value with
        their cotangents.
        """
        level = self.trace.level
        seeds = [(t, primal(c) if self.run.once else c) for t, c in seeds if level_of(t) == level]
        wanted = {i[1] for i in self.inputs if i is not None}
        # The vector depends on something outside.
        if any(level_of(cotangent) == level for _, cotangent in seeds):
            self.records = True
        if self.records:
            self.trace.swept = True
        found = sweep(
            self.run, seeds, wanted, self.records or level > 0, self.trace.main, self.since
        )
        return [
            None if i is None or i[1] not in found else self.outside(found[i[1]])
            for i in self.inputs
        ]

    def batch_rows(self, target: Any, site: Site) -> list[Any]:
        """Returns the `batch_rows` of the value by each of the inputs."""
        trace = self.trace
        if level_of(target) != trace.level or not is_inexact(primal(target)):
            return [None] * len(self.inputs)
        from ..jacobian.compressed import batch_rows  # not at every start

        found = batch_rows(
            self.run, target, self.inputs, self._sweeps_at(site), trace.main, self.since
        )
        return [self.outside(rows) for rows in found]

    def _sweeps_at(self, site: Site) -> Site | None:
        """Returns the site if sweeps must go through `apply`: if results may be differentiated
        again, or have tangents or rows.
        """
        return site if self.records or self.trace.level or self.run.group is not None else None

    def blocks(
        self, target: Any, site: Site, mode: str, sparse: bool, symmetric: bool
    ) -> list[Any]:
        """Returns the derivatives of a part of the value by each of the inputs, as `blocks` does;
        None where unconnected.
        """
        trace = self.trace
        if level_of(target) != trace.level or not is_inexact(primal(target)):
            return [None] * len(self.inputs)
        mode = "reverse" if trace.level else mode  # a trace that has been closed
        from ..jacobian.compressed import blocks

        found = blocks(
            self.run,
            target,
            self.inputs,
            self._sweeps_at(site),
            trace.main,
            mode,
            sparse,
            symmetric,
            self.since,
        )
        return [
            block._replace(values=self.outside(block.values))
            if type(block) is Sparse
            else self.outside(block)
            for block in found
        ]

    def push(self, tangents: list[Any], site: Site) -> list[Any]:
        """Returns the tangents of the parts of the value, in order, for those of the inputs.

        A tangent of the value is None where unconnected; a tangent of an input is None for zero.
        This takes two sweeps: the first is linear in the cotangents that it begins with, and the
        second transposes it. Those cotangents are ones, because at 0 a product with infinity would
        give nan.
        """
        run, trace, level = self.run, self.trace, self.trace.level
        parts = [read(v) for v in leaves(self.value)]
        # The vector depends on something outside.
        if any(level_of(t) == level for t in tangents):
            self.records = True
        wanted = {i[1] for i in self.inputs if i is not None}
        moving = [k for k, v in enumerate(parts) if level_of(v) == level and is_inexact(primal(v))]
        weights = {k: trace.leaf(ones_like(run, parts[k])) for k in moving}
        numbers = {u[1] for u in weights.values()}
        paused = None if trace.main.recording else _go_on(trace)
        try:
            seeds = merge_seeds(run, site, [(parts[k], u) for k, u in weights.items()])
            pulled = sweep(run, seeds, wanted, True, trace.main, self.since, bodies=True)
            pairs = [
                (pulled[i[1]], t)
                for i, t in zip(self.inputs, tangents, strict=True)
                if i is not None and i[1] in pulled
            ]
            seeds = merge_seeds(
                run, site, [(c, t) for c, t in pairs if t is not None and level_of(c) == level]
            )
            recorded = self.records or level > 0
            found = sweep(run, seeds, numbers, recorded, trace.main, self.since)
        finally:
            if paused is not None:
                _stop(trace, paused)
        trace.swept = trace.swept or self.records
        trace.watched -= numbers
        trace.main.watch -= numbers
        tangent_of = {k: self.outside(found[u[1]]) for k, u in weights.items() if u[1] in found}
        return [tangent_of.get(k) for k in range(len(parts))]

    def outside(self, value: Any) -> Any:
        """Returns a value as it is outside the transform: without this level's box, unless it is
        recorded there.
        """
        return value if self.records else lowered(value, self.trace.level)

    def finish(self) -> None:
        """Releases the records, unless something that was handed out refers to them."""
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
        # A window that was paused or resumed noted the number at which that happened: it mustn't be
        # reused.
        if not (self.records or trace.keeps_all) and self.switched == trace.switched:
            trace.segment, trace.limit = self.before, self.limit
            trace.number = self.since - 1

    def _depends_on_outside(self) -> bool:
        """Returns whether the value depends on a record or leaf from before the call, judged by its
        segments.
        """
        value, since = self.value, self.since
        if type(value) is tuple and value[2] is self.begin:
            if not self.begin.earlier:
                return False
            segments = [self.begin]
        else:
            level = self.trace.level
            segments = reachable(
                [v[2] for v in map(read, leaves(value)) if level_of(v) == level], since
            )
        # A leaf is not on the trace; the inputs belong to the segment that the call began.
        return any([e.first < since or type(e) is Leaf for s in segments for e in s.earlier])  # noqa: C419


def _go_on(trace: Trace) -> Window:
    """Resumes recording inside `pause`: a view of the main tape replaces it.

    Returns the main tape, for `_stop`.
    """
    main = trace.main
    trace.main = main.view()
    trace.open(trace.main)
    return main


def _stop(trace: Trace, main: Window) -> None:
    view, trace.main = trace.main, main
    trace.close(view)
