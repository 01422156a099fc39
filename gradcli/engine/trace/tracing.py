"""The trace as text, one record a line: what `--show trace` prints."""

from __future__ import annotations

from collections.abc import Iterator

from ..backends.backend import shape_of
from ..values.kinds import show, show_shape
from .blanks import Blank
from .tape import Segment, Trace
from .windows import STRIDE, inputs_of


def dump(trace: Trace) -> str:
    """Every record that the current segment can still reach, in execution order: number, op,
    inputs, value, place."""
    segments: list[Segment] = []
    pending = [trace.segment] if trace.segment is not None else []
    while pending:
        segment = pending.pop()
        if segment not in segments:
            segments.append(segment)
            pending.extend(segment.earlier)
    lines: list[str] = []
    for segment in sorted(segments, key=lambda s: s.first):
        lines.extend(_lines(segment))
    return "\n".join(lines)


def _lines(segment: Segment) -> Iterator[str]:
    for k in range(len(segment)):
        site, in0, in1, _, _, y = segment.records[k * STRIDE : (k + 1) * STRIDE]
        numbers = inputs_of(in0, in1)
        inputs = ", ".join(f"v{-n}" if n < 0 else f"%{n}" for n in numbers)
        shape = shape_of(y) or (y.shape if type(y) is Blank else ())
        value = (
            f"shape {show_shape(shape)}"
            if shape
            else f"{len(y)} results"
            if type(y) is list
            else show(y)
        )
        name = f"{site.op.name}" + (f" (in the derivative of {site.of.name})" if site.of else "")
        yield f"%{segment.first + k:<5} {name}({inputs}) = {value}    {site.span}"
