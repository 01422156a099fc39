"""The records of the trace, one by one, and those between sources and a target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...diagnostics import CallSite
from ...ops import OPS
from ..values.boxes import primal
from ..values.lanes import Group, Lanes
from .tape import Segment, Site
from .windows import STRIDE, inputs_of, operands_of

FOLD = OPS["fold_rows"]


class Record(NamedTuple):
    """A record of the trace: see Note [Records] in tape.py."""

    number: int
    site: Site
    in0: Any
    in1: int | None
    a: Any
    b: Any
    y: Any
    segment: Segment

    @property
    def inputs(self) -> tuple[int, ...]:
        return inputs_of(self.in0, self.in1)

    @property
    def operands(self) -> tuple[Any, ...]:
        """The primals of all operands, active or not; a `Blank` for one that wasn't kept."""
        operands: tuple[Any, ...] = operands_of(self.site, self.a, self.b)
        return operands

    @property
    def options(self) -> Any:
        """The options; an index is kept as it is."""
        if self.site.inline_operands or self.site.op.elementwise:
            return {}
        return {"index": self.b} if type(self.b) is tuple else self.b

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """The calls that led to it, the innermost first."""
        return self.segment.calls_to(self.number)

    def traced_operands(self) -> Iterator[tuple[int, int]]:
        """The operands that are on the trace: index and number."""
        return zip(self.site.operands, self.inputs, strict=True)


def record_in(segment: Segment, number: int) -> Record:
    """The record of a segment that has this number."""
    k = (number - segment.first) * STRIDE
    return tuple.__new__(Record, (number, *segment.records[k : k + STRIDE], segment))


def newest_first(segments: list[Segment]) -> Iterator[tuple[Segment, int]]:
    """The numbers of all records in segments, which come newest first, too."""
    for segment in segments:
        for number in range(segment.first + len(segment) - 1, segment.first - 1, -1):
            yield segment, number


def groups_of(records: list[Record]) -> set[Group]:
    """The groups of rows that values of the records have (`lanes.py`), and those whose rows become
    an axis: of what all rows share, no value has them."""
    found: set[Group] = set()
    for _, site, _, _, a, b, y, _ in records:
        if type(y) is float:
            continue
        if site.op is FOLD:
            found.add(b["group"])
        operands = (a, b) if site.inline_operands else a
        if Lanes in map(type, operands) or type(y) is Lanes or type(y) is list:
            values = (*operands, *(y if type(y) is list else (y,)))
            found.update([v.group for v in values if type(v) is Lanes])
    return found


def path(
    segments: list[Segment], marked: set[int] | None, targets: set[int]
) -> tuple[list[Record], set[int]]:
    """The records that the targets depend on, and that depend on a source (`marked`; None: all do),
    in execution order; and the numbers of the targets and of all that these records read."""
    needed = set(targets)
    found: list[Record] = []
    for segment in segments:
        records = segment.records
        number = segment.first + len(segment)
        for k in range(len(records) - STRIDE, -1, -STRIDE):
            number -= 1
            if number in needed and (marked is None or number in marked):
                # without a call of Python's
                record = tuple.__new__(Record, (number, *records[k : k + STRIDE], segment))
                if segment.trace.level:
                    record = record._replace(
                        **{name: _unboxed(getattr(record, name)) for name in ("a", "b", "y")}
                    )
                found.append(record)
                if record.in1 is not None:
                    needed.add(record.in0)
                    needed.add(record.in1)
                else:
                    needed.update(record.inputs)
    found.reverse()
    return found, needed


def _unboxed(value: Any) -> Any:
    """What a record keeps of primals that are duals, or traced at a lower level."""
    if type(value) is tuple and not _is_traced(value):
        return tuple([primal(v) for v in value])
    return [primal(v) for v in value] if type(value) is list else primal(value)


def _is_traced(value: tuple[Any, ...]) -> bool:
    return len(value) == 3 and isinstance(value[2], Segment)
