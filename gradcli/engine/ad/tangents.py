"""Forward mode over the trace: tangents along recorded operations, without running them again.

A record keeps what its derivative rules read, and those of forward mode read no more than those of
reverse mode. So the tangents of sources can be carried along the records to a target, in execution
order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops import OPS
from ..backends.backend import dtype_name, is_complex, shape_of
from ..formulas.functions import array_push, scalar_push
from ..operations.apply import apply
from ..operations.rows.on_lanes import differ_between_rows
from ..operations.rules import Interpretation
from ..trace.pullbacks import Linearized
from ..trace.records import Record
from ..trace.run import Run
from ..values.lanes import Lanes, deepest, spread, with_rows
from .forward import by_rule, fitted, verify_rule

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
    if not op.elementwise:
        return _push_structural(run, record, along)
    pairs = [(k, t) for k, t in zip(site.operands, along, strict=True) if t is not None]
    for k, _ in pairs:
        if op.real_only and is_complex(operands[k]):
            run.fail(
                "E317", f"`{op.name}` of a complex number has no gradient registered", site.span
            )
    if any(type(t) is Lanes for _, t in pairs) or type(y) is Lanes:
        return _on_lanes(run, record, pairs)
    if type(y) is float and not site.takes_complex and all(type(t) is float for _, t in pairs):
        return scalar_push(op, tuple([k for k, _ in pairs]))(y, *operands, *[t for _, t in pairs])
    push = array_push(run.backend, op, tuple([k for k, _ in pairs]))
    return fitted(run, push([t for _, t in pairs], y, *operands), y)


def _on_lanes(run: Run, record: Record, pairs: list[tuple[int, Any]]) -> Lanes:
    """The tangent of an elementwise operation on lanes."""
    xp, y = run.backend.xp, record.y
    group = deepest((y, *record.operands, *[t for _, t in pairs]))
    assert group is not None
    result, *operands = [with_rows(v, group) for v in (y, *record.operands)]
    push = array_push(run.backend, record.site.op, tuple([k for k, _ in pairs]))
    # a rule may give one number for all
    total = xp.asarray(push([with_rows(t, group) for _, t in pairs], result, *operands))
    whole = (*shape_of(y), group.size)
    total = total.real if is_complex(total) and not is_complex(y) else total
    total = total if total.shape == whole else xp.broadcast_to(total, whole)
    return Lanes(
        total if dtype_name(total) == dtype_name(y) else total.astype(dtype_name(y)), group
    )


def _push_structural(run: Run, record: Record, along: list[Any]) -> Any:
    """The tangent of a structural operation. Raises GradcliError (E317) where it has no rule."""
    site, operands = record.site, record.operands
    verify_rule(run, site, site.operands)
    y, differs = record.y, differ_between_rows(record.options)
    tangents: list[Any] = [None] * len(operands)
    for k, t in zip(site.operands, along, strict=True):
        # Rows with indices of their own read from the tangent of what they share, too.
        is_read = differs and t is not None and type(y) is Lanes
        tangents[k] = spread(run.backend.xp, t, y.group) if is_read else t
    laned = any(type(v) is Lanes for v in (*along, *operands, record.y))
    m = Interpretation(run, site, recorded=False, laned=laned)
    return by_rule(run, site, m, tangents, record.y, operands, record.options)
