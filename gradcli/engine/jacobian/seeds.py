"""Sweeps from many seeds: all together as lanes, or one after another where that is faster.

A lane is a cotangent of the target, which a sweep carries backward, or a tangent of the sources,
which it carries forward. Lanes pay off where operations are on arrays, or where there are many
lanes; on floats single sweeps are faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

from ...ops import OPS
from ...ops.op import Op
from ..ad.derivatives import traced_ones
from ..ad.forward import carry
from ..ad.reverse import Between, pulled, sweep
from ..ad.targets import merge_seeds, ones_like, zeros_like
from ..backends.backend import count, dtype_name, shape_of
from ..lanes.mapping import open_rows
from ..operations.apply import apply
from ..trace.pullbacks import Pullback
from ..trace.records import Record
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..values.boxes import level_of, primal
from ..values.kinds import read
from ..values.lanes import Group, Lanes, spread

CONCATENATE, FOLD, STACK = OPS["concatenate"], OPS["fold_rows"], OPS["stack"]
# Elements of the largest value, in all lanes of a sweep: more don't fit into the cache.
TOGETHER = 2**17
# The time of an operation in a sweep, in microseconds: on floats, on arrays, on lanes.
FLOAT, ARRAY, LANES = 0.5, 8.0, 15.0
ELEMENT = 0.001  # and that of each element that lanes have
# Operations that all sweeps between two values count as at most, after a run: where they take long,
# so does compiling.
MOST_WORK = 2**9

Ask: TypeAlias = "Callable[[list[Any]], list[Any]]"  # runs a sweep from seeds


class Sweeps:
    """Sweeps between a target and sources, by number; recorded where a site is given.

    way      the path of a backward sweep
    records  the records that lie between, in execution order
    groups   the groups of rows that values of the records have
    since    set if only records from that number on depend on the sources
    """

    def __init__(
        self,
        run: Run,
        target: Traced,
        sources: dict[int, Any],
        way: Between,
        records: list[Record],
        groups: set[Group],
        site: Site | None,
        since: int | None,
    ) -> None:
        self.run = run
        self.target = target
        self.sources = sources
        self.way = way
        self.records = records
        self.groups, self.site, self.since = groups, site, since

    def gradient(self) -> list[Any]:
        """Returns the gradients of the target, a number, by each source; None where unconnected."""
        return self._back([ones_like(self.run, self.target)])

    def all(self, back: bool, colour: Any, sweeps: int) -> list[Any]:
        """Returns the results of all sweeps, stacked along a first axis.

        Backward there is one by each source, None where unconnected; forward, one for the target.
        The seed of sweep k is 1 where the colour is k, at elements of the target or of the sources,
        and 0 elsewhere.
        """
        run, xp, sources = self.run, self.run.backend.xp, list(self.sources.values())
        begins, ends = ([self.target], sources) if back else (sources, [self.target])
        several = self._together(sweeps)
        if self.site is None:
            run.work += min(int(self.cost(sweeps) / 2), MOST_WORK)
        found = []
        with self._asking(back) as ask:
            for k in range(0, sweeps, several):
                n = min(several, sweeps - k)
                if several == 1:
                    found.append(ask(_parts(run, xp.asarray(colour) == k, begins)))
                else:
                    found.append(self.on_lanes(ask, self._seeds(colour, k, n, begins), n))
        if len(found) == 1 and several > 1:
            return found[0]
        op = STACK if several == 1 else CONCATENATE
        return [
            None if all(part is None for part in parts) else self._joined(op, parts, like)
            for parts, like in zip(zip(*found, strict=True), ends, strict=True)
        ]

    def cost(self, sweeps: int) -> float:
        """About how long so many sweeps take, in microseconds."""
        several = self._together(sweeps)
        if several <= 1:
            return self._alone(sweeps)
        return self._on_lanes(sweeps, several) + ELEMENT * sweeps * self._sizes[2]

    def _alone(self, sweeps: int) -> float:
        """How long they take one after another."""
        floats, n = self._sizes[0], len(self.records)
        return sweeps * (FLOAT * floats + ARRAY * (n - floats))

    def _on_lanes(self, sweeps: int, several: int) -> float:
        """How long they take `several` at a time, but for elements."""
        return LANES * len(self.records) * math.ceil(sweeps / several)

    @cached_property
    def _sizes(self) -> tuple[int, int, int]:
        """How many of the records are of floats, and how many elements the largest value has, and
        those of all records together."""
        floats, together = 0, 0
        largest = max(
            [count(shape_of(primal(read(v)))) for v in (self.target, *self.sources.values())]
        )
        for record in self.records:
            if type(record.y) is float:
                floats += 1
            else:
                size = getattr(record.y, "size", 1)
                largest, together = max(largest, size), together + size
        return floats, largest, floats + together

    def _together(self, sweeps: int) -> int:
        """Returns how many sweeps run as lanes together; 1 where it is faster to run them one after
        another.
        """
        if sweeps <= 1 or self.run.rules or self.run.traces()[-1].keeps_constants:
            return 1  # a rule may treat each differently, and closed forms have no lanes
        if any(isinstance(record.options, Pullback) for record in self.records):
            return 1  # regions have no lanes
        within = self.run.group
        # Values in rows that aren't parents of the lanes.
        if self.groups and (within is None or not all(map(within.within, self.groups))):
            return 1
        several = min(max(TOGETHER // max(self._sizes[1], 1), 1), sweeps)
        return several if self._on_lanes(sweeps, several) < self._alone(sweeps) else 1

    def _seeds(self, colour: Any, first: int, n: int, begins: list[Any]) -> list[Any]:
        """Returns the seeds of `n` sweeps from `first` on, for each value that they begin with,
        along its last axis.
        """
        xp, found, start = self.run.backend.xp, [], 0
        seeds = xp.asarray(colour) == xp.arange(first, first + n)[:, None]
        for like in [primal(read(v)) for v in begins]:
            size = count(shape_of(like))
            part = (
                seeds[:, start : start + size].astype(dtype_name(like)).reshape(n, *shape_of(like))
            )
            # A view: in memory each lane stays contiguous.
            found.append(part.transpose(*range(1, part.ndim), 0))
            start += size
        return found

    def on_lanes(self, ask: Ask, seeds: list[Any], n: int) -> list[Any]:
        """Runs sweeps with each seed as a lane; their results are stacked along a first axis."""
        run, xp, outside = self.run, self.run.backend.xp, self.run.group
        group = run.group = open_rows(run, n)  # every outer row has all lanes
        try:
            found = ask(
                [
                    Lanes(part if outside is None else xp.tile(part, outside.size), group)
                    for part in seeds
                ]
            )
        finally:
            run.group = outside
        if self.site is None:
            return [None if part is None else _folded(xp, part, group) for part in found]
        fold = {"axis": 0, "group": group}
        return [
            None if part is None else apply(run, self.site.in_derivative(FOLD), (part,), fold)
            for part in found
        ]

    # ---- one sweep -------------------------------------------------------------------------------

    @contextmanager
    def _asking(self, back: bool) -> Iterator[Ask]:
        """Yields a function that runs one sweep.

        A recorded forward sweep is a backward sweep over another one: a cotangent of the sources is
        linear in the target's.
        """
        run = self.run
        if back or self.site is None:
            yield self._back if back else self._forward
            return
        site, level = self.site, run.trace.level
        with traced_ones(run, self.target) as (u, view):
            cotangents = pulled(run, [(self.target, u)], set(self.sources), True, self.way)

            def ask(tangents: list[Any]) -> list[Any]:
                pairs = zip(map(cotangents.get, self.sources), tangents, strict=True)
                linear: list[Any] = [
                    (g, t) for g, t in pairs if t is not None and level_of(g) == level
                ]
                return [
                    sweep(run, merge_seeds(run, site, linear), {u[1]}, True, view, self.since).get(
                        u[1]
                    )
                ]

            yield ask

    def _back(self, cotangents: list[Any]) -> list[Any]:
        recorded = self.site is not None
        self.run.trace.swept = self.run.trace.swept or recorded
        found = pulled(
            self.run, [(self.target, cotangents[0])], set(self.sources), recorded, self.way
        )
        return [found.get(n) for n in self.sources]

    def _forward(self, tangents: list[Any]) -> list[Any]:
        given = dict(zip(self.sources, tangents, strict=True))
        return [carry(self.run, self.records, given, self.target[1], self.way.outside)]

    # ---- results ---------------------------------------------------------------------------------

    def _joined(self, op: Op, parts: tuple[Any, ...], like: Any) -> Any:
        """The results of the sweeps, along a first axis. A sweep that reached nothing gives zeros
        with the shape of `like`.
        """
        filled = tuple([zeros_like(self.run, like) if part is None else part for part in parts])
        if self.site is None:
            xp = self.run.backend.xp
            return xp.stack(filled) if op is STACK else xp.concatenate(filled)
        return apply(self.run, self.site.in_derivative(op), filled, {"axis": 0})


def _folded(xp: Any, value: Any, group: Group) -> Any:
    """Returns the rows of a group that has no parent as a first axis."""
    whole = type(value) is Lanes and value.group is group and value.array.shape[-1] == group.size
    array = value.array if whole else spread(xp, value, group).array
    last = array.ndim - 1
    return xp.ascontiguousarray(array.transpose(last, *range(last)))


def _parts(run: Run, seed: Any, begins: list[Any]) -> list[Any]:
    """Splits a seed into parts with the shape and dtype of each value; None where a part is 0."""
    first = 0
    values: list[Any] = []
    for like in map(primal, map(read, begins)):
        part = seed[first : first + count(shape_of(like))]
        if not part.any():
            values.append(None)
        elif shape_of(like):
            values.append(part.astype(like.dtype).reshape(like.shape))
        else:
            values.append(ones_like(run, like))
        first += len(part)
    return values
