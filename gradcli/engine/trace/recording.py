"""How an operation becomes a record of the trace: what this keeps of operands and results, which is
shape and dtype where no rule reads the value, and how it is laid out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...ops import OPS
from ..backends.backend import is_inexact, shape_of
from ..formulas.differentiation import rule_reads
from ..values.boxes import primal
from ..values.kinds import List
from ..values.lanes import Lanes
from .tape import Site, Trace


def blank(value: Any) -> Any:
    """Reduces a value that no rule reads to what a record keeps of it: of an array its shape and
    dtype, a scalar as it is."""
    if type(value) is Lanes:
        return Lanes(Blank(value.array.shape, value.dtype), value.group)
    return Blank(value.shape, value.dtype) if getattr(value, "shape", ()) else value


class Blank:
    """An operand whose value no rule will read: its shape and dtype only."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


# ---- records -------------------------------------------------------------------------------------


PART = OPS["part"]


def record(
    trace: Trace,
    site: Site,
    values: list[Any],
    primals: list[Any],
    options: Mapping[str, Any],
    y: Any,
    active: tuple[int, ...],
) -> Any:
    """The result `y` of an op, traced where gradients can pass through it. `primals` are the
    operands without the trace's box, `active` the indices of those that have one."""
    op = site.op
    if not (op.differentiable or trace.keeps_all) or trace.segment is None:
        return List(y) if type(y) is list else y
    if type(y) is list:
        return record_parts(trace, site, values, primals, options, y, active)
    if not (is_inexact(primal(y)) or trace.keeps_all):
        return y
    inputs = [values[k] for k in active]
    site = site.on(active)
    keeps = trace.room > 0
    if trace.keeps_all and not (op.differentiable and is_inexact(y)):
        reads: frozenset[int | str] = frozenset()
    else:
        reads = site.reads if site.reads is not None else reads_of(site, len(primals))
    saved = primals if keeps else [p if k in reads else blank(p) for k, p in enumerate(primals)]
    kept = y if keeps or "result" in reads else blank(y)
    if site.inline_operands:
        if not shape_of(y) and type(primal(primals[0])) is complex and type(primal(y)) is float:
            site = site.on_complex()
        return trace.record(site, inputs, saved[0], saved[1] if len(saved) > 1 else None, kept, y)
    return trace.record(site, inputs, tuple(saved), options, kept, y)


def reads_of(site: Site, n: int) -> frozenset[int | str]:
    """Which operands' values the rule at the site reads, by index, and "result" if it reads the
    result's."""
    op = site.op
    if op.elementwise:
        site.reads = rule_reads(op, site.operands)
        return site.reads
    result = frozenset(("result",)) if "result" in op.saves else frozenset()
    # their number may differ from time to time, so nothing is kept on the site
    if op.signature.variadic:
        return result.union(range(n) if op.signature.variadic in op.saves else ())
    names = [p.name for p in op.signature.operands]
    site.reads = result.union(k for k, name in enumerate(names) if name in op.saves)
    return site.reads


def record_parts(
    trace: Trace,
    site: Site,
    values: list[Any],
    primals: list[Any],
    options: Any,
    y: list[Any],
    active: tuple[int, ...],
) -> Any:
    """Records an op with several results: one record for their list, and one for each part of
    it."""
    reads = reads_of(site.on(active), len(primals))
    keeps = trace.room > 0
    saved = tuple(
        primals if keeps else [p if k in reads else blank(p) for k, p in enumerate(primals)]
    )
    inputs = [values[k] for k in active]
    kept = y if keeps or "result" in reads else [blank(part) for part in y]
    whole = trace.record(site.on(active), inputs, saved, options, kept, y)
    part_site = site.in_derivative(PART).on((0,))
    part_site.of = site.of
    n = len(y)
    return List(
        [
            trace.record(part_site, [whole], (n,), {"index": k}, kept[k], part)
            if is_inexact(primal(part))
            else part
            for k, part in enumerate(y)
        ]
    )
