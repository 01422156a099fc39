"""Forward mode over the trace: tangents along recorded operations, without running them again.

A record keeps what its derivative rules read, and those of forward mode read no more than those of
reverse mode. So the tangents of sources can be carried along the records to a target, in execution
order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops import OPS
from ..backends.backend import is_complex
from ..operations.apply import apply
from ..operations.rows.on_lanes import differ_between_rows
from ..trace.pullbacks import Linearized
from ..trace.records import Record
from ..trace.run import Run
from ..values.lanes import Lanes, spread
from .forward import tangent

ADD, PART = OPS["add"], OPS["part"]


def carry(
    run: Run, records: list[Record], tangents: dict[int, Any], target: int, ends: set[int]
) -> Any:
    """The tangent of a target, for tangents of sources by number; None if it doesn't depend on
    them.

    `records` lead from the sources to the target, in execution order; those in `ends` have only the
    tangents that are given for them. A tangent is freed once no later record reads it.
    """
    uses = Counter(n for record in records for n in record.inputs)
    uses[target] += 1
    of = {n: t for n, t in tangents.items() if n < 0}
    for record in records:
        found = None
        if record.number not in ends:
            along = [of.get(n) for n in record.inputs]
            if any(t is not None for t in along):
                found = _push(run, record, along)
            for n in record.inputs:
                uses[n] -= 1
                if not uses[n]:
                    of.pop(n, None)
        own = tangents.get(record.number)
        if own is not None:
            found = (
                own if found is None else apply(run, record.site.in_derivative(ADD), (found, own))
            )
        if found is not None:
            of[record.number] = found
    return of.get(target)


def _push(run: Run, record: Record, along: list[Any]) -> Any:
    """The tangent of a record's result from those of its active operands; some may be None."""
    site, y, operands = record.site, record.y, record.operands
    op = site.op
    if op is PART:
        return along[0][record.options["index"]]
    if isinstance(record.options, Linearized):
        return record.options.push(run, site, along)
    tangents: list[Any] = [None] * len(operands)
    differs = not op.elementwise and differ_between_rows(record.options) and type(y) is Lanes
    for k, t in zip(site.operands, along, strict=True):
        if t is not None and op.real_only and is_complex(operands[k]):
            run.fail(
                "E317", f"`{op.name}` of a complex number has no gradient registered", site.span
            )
        # Rows with indices of their own read from the tangent of what they share, too.
        tangents[k] = spread(run.backend.xp, t, y.group) if differs and t is not None else t
    active = tuple([k for k, t in enumerate(tangents) if t is not None])
    return tangent(run, site, active, operands, tangents, y, record.options)
