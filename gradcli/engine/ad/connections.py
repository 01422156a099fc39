"""Connections between sources and targets for rows that took different paths.

A gradient is none, not zero, in the rows where the target doesn't depend on the source, and rows
may have got the source from different values. Sets of rows are the bits of an int, so a walk over
the records costs little, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from ...ops import OPS
from ..operations.rows.separation import SeparationError, separate_by_index, separate_group
from ..trace.records import Record, newest_first, path, record_in
from ..trace.run import Run
from ..trace.tape import Segment, Traced, reachable
from ..values.lanes import Group, Lanes, common

MERGE, PICK, PLACE = OPS["merge_rows"], OPS["pick_rows"], OPS["place_rows"]


def separate_by_origin(run: Run, targets: Sequence[Traced], sources: Iterable[Any]) -> None:
    """Separates rows where a source was merged from several values, and a target also depends on
    one of these values directly. A single row has only one value there, and its gradient counts
    both paths."""
    if run.group is None or not run.group.outermost().divided:
        return
    for source in sources:
        if type(source) is not tuple or source[1] < 0:
            continue
        _, number, segment = source
        record = record_in(segment, number)
        if record.site.op is MERGE and _reaches_past(targets, source):
            options = record.options
            if len(options["groups"]) > 1:
                separate_by_index(run, options["group"], options["indices"])
            separate_group(run, options["group"])  # the other rows lack the value


def _reaches_past(targets: Sequence[Traced], source: Traced) -> bool:
    """Whether a target depends on a value that was merged into the source along a path that doesn't
    go through the source."""
    needed, origins = {target[1] for target in targets}, {source[1]}
    segments = reachable([target[2] for target in targets] + [source[2]], 0)
    for segment, number in newest_first(segments):
        if not origins:
            return False
        if number in origins:
            if number in needed and number != source[1]:
                return True
            origins.remove(number)
            record = record_in(segment, number)
            if record.site.op in (MERGE, PICK):
                origins.update(record.inputs)
        elif number in needed:
            needed.update(record_in(segment, number).inputs)
    return not origins.isdisjoint(needed)  # the rest are leaves


def connected_sources(
    run: Run,
    targets: Sequence[Traced],
    wanted: set[int],
    segments: list[Segment],
    marked: set[int] | None,
) -> set[int]:
    """The sources in `wanted` that are connected in the rows that run. Separates the rows where a
    source is connected only in some of them."""
    if run.group is None or not run.group.outermost().divided:
        return wanted
    connections = _Connections(run, run.group)
    found = connections.found
    for value, number, _ in targets:
        found[number] = connections.rows_of(value)
    for record in reversed(path(segments, marked, set(found))[0]):
        connections.pass_back(record)
    sources = wanted & found.keys()
    made = connections.made(targets, {n for n in sources if n >= 0})
    rows = {number: found[number] & made.get(number, connections.all) for number in sources}
    for some in rows.values():
        if some not in (0, connections.all):
            raise SeparationError(run.group, run.backend.xp.asarray(connections.labels(some)))
    return wanted - {number for number, some in rows.items() if not some}


class _Connections:
    """For each number, the rows of `group` in which its value is connected to the targets."""

    def __init__(self, run: Run, group: Group) -> None:
        self.run, self.group = run, group
        self.all = (1 << group.size) - 1
        self.found: dict[int, int] = {}
        self._bits: dict[int, tuple[Group, int]] = {}

    def pass_back(self, record: Record) -> None:
        """Passes the rows of a record's result on to its inputs."""
        rows, found = self.found.get(record.number, 0) & self.rows_of(record.y), self.found
        for number, read in self.reads(record):
            found[number] = found.get(number, 0) | (rows & read)

    def reads(self, record: Record) -> Iterator[tuple[int, int]]:
        """The inputs of a record by number, each with the rows in which the result depends on
        it."""
        for k, number in enumerate(record.inputs):
            if record.site.op is MERGE:
                yield number, self.bits(record.options["groups"][record.site.operands[k]])
            else:
                yield (
                    number,
                    self.bits(record.options["of"]) if record.site.op is PLACE else self.all,
                )

    def made(self, targets: Sequence[Traced], sources: set[int]) -> dict[int, int]:
        """The rows in which each of these sources depends on something recorded itself; in other
        rows it may be a literal."""
        if not sources:
            return {}
        made: dict[int, int] = {}
        for record in path(reachable([segment for _, _, segment in targets], 0), None, sources)[0]:
            made[record.number] = reduce(
                or_, [made.get(number, self.all) & rows for number, rows in self.reads(record)]
            )
        return made

    def rows_of(self, value: Any) -> int:
        """The rows that have this value."""
        for part in value if type(value) is list else (value,):
            if type(part) is Lanes:
                return self.bits(part.group)
        return self.all

    def bits(self, group: Group) -> int:
        """The rows of a group as bits."""
        whole = common(self.group, group)
        if whole is None or whole is group:
            return self.all
        known = self._bits.get(id(group))
        if known is None:
            backend = self.run.backend
            rows = backend.xp.zeros(whole.size, bool)
            rows[group.way_to(whole)] = True
            rows = rows if whole is self.group else rows[self.group.way_to(whole)]
            packed = backend.to_host(backend.xp.packbits(rows, bitorder="little")).tobytes()
            known = self._bits[id(group)] = group, int.from_bytes(packed, "little")
        return known[1]

    def labels(self, rows: int) -> Any:
        """An array with 1 for each of these rows and 0 for the others."""
        import numpy as np  # which a formula of numbers must not pay for

        packed = np.frombuffer(rows.to_bytes((self.group.size + 7) // 8, "little"), np.uint8)
        return np.unpackbits(packed, bitorder="little")[: self.group.size].astype(np.int64)
