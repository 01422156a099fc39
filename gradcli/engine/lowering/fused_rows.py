"""Hot expressions on many rows, fused into one operation.

Many rows don't fit into the cache. `100 * (b - a**2)**2` as four operations passes them through
memory four times, and four times more in reverse mode. As one compound op (`compound.py`) it is one
record, and is computed in chunks (`row_functions.py`), so that intermediate results stay in the
cache. Where the pullback only multiplies by the partials, these are computed together with the
value, with which they share subexpressions.
"""

from __future__ import annotations

import math
from typing import Any

from ..backends.backend import broadcast_shapes, shape_of
from ..backends.tiers import policy
from ..kernels.row_functions import value_function
from ..operations.apply import apply
from ..trace.blanks import WithPartials
from ..trace.recording import record
from ..trace.run import Run
from ..trace.tape import Site, Trace
from ..values.boxes import UNBOXED, level_of, primal
from ..values.kinds import read, show_shape
from ..values.lanes import Group, Lanes, narrow, with_rows
from .fused_operation import FusedOperation
from .plan import MISS, Plan


class FusedRows(FusedOperation):
    """An expression fused into one operation on many rows."""

    __slots__ = ("_count", "_heat")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._count, self._heat = 0, policy().heat

    def evaluate(self, run: Run, values: list[Any]) -> Any:
        """The value of the expression for leaves that are floats, arrays and lanes of floats, once
        it is hot; MISS where its operations must run one by one."""
        if run.trace.keeps_all:
            return MISS
        values = [read(v) for v in values]
        primals = [primal(v) for v in values]
        group = run.group
        assert group is not None
        if not all([type(p) is not Lanes or group.within(p.group) for p in primals]):  # noqa: C419
            return MISS
        shape = self._shape(run, values, primals)
        if shape is None:
            return MISS
        site = self._known(run, shape)
        if site is None:
            return MISS
        return self._value(run, site, group, values, [narrow(p, group) for p in primals], shape)

    def _value(
        self,
        run: Run,
        site: Site,
        group: Group,
        values: list[Any],
        primals: list[Any],
        shape: tuple[int, ...],
    ) -> Any:
        """The value by a generated function, and its record where an operand is traced."""
        backend = run.backend
        active = (
            ()
            if self._compares
            else tuple([k for k, v in enumerate(values) if level_of(v) != UNBOXED])
        )
        trace = common_trace([values[k] for k in active]) if active else run.trace
        if trace is None or trace.keeps_constants:
            return MISS if self._compares else apply(run, site, tuple(values))
        whole = (*shape, group.size)
        run.verify_allocation(
            8 * math.prod(whole), f"an array of shape {show_shape(whole)}", site.span
        )
        inner = [with_rows(p, group) for p in primals]
        wholes = tuple([shape_of(v) == whole for v in inner])
        recorded = bool(active) and trace.segment is not None
        # A recorded sweep goes through `apply`, which doesn't use partials.
        by = active if recorded and (run.once or run.recordings == 1) else ()
        y, *partials = value_function(backend, self._key, wholes, by)(whole, *inner)
        if shape_of(y) != whole:  # the formula simplified to a number
            y = backend.xp.full(whole, y)
        if site.op.category == "derivatives" and not backend.is_finite(
            y
        ):  # products may have to be strict
            return apply(run, site, tuple(values))
        value = Lanes(y, group)
        if not recorded:
            return value
        kept = Lanes(WithPartials(whole, y.dtype, partials), group) if by else None
        return record(trace, site, values, primals, {}, value, active, kept)

    def _shape(self, run: Run, values: list[Any], primals: list[Any]) -> tuple[int, ...] | None:
        """The shape of the value in each row; None where the operands are not floats and float64
        arrays whose shapes broadcast, or the expression isn't hot yet."""
        shapes, largest = [], 0
        for value, inner in zip(values, primals, strict=True):
            if type(inner) is float:
                continue
            array = inner.array if type(inner) is Lanes else inner
            if type(inner) is Lanes:
                if inner.ints is not None:
                    return None
                largest = max(largest, array.size)
            elif not shape_of(array):
                return None
            if (
                array.dtype.char != "d"
                or run.settings.dtype != "float64"
                or not (self._compares or type(value) is tuple or level_of(value) == UNBOXED)
            ):
                return None
            shapes.append(inner.shape)
        if not self._is_hot(run, largest):
            return None
        return shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast_shapes(shapes)

    def _is_hot(self, run: Run, elements: int) -> bool:
        """Whether the expression is hot after so many more elements. For rows of data
        (`parts_rows`) that doesn't depend on what ran before, as their results mustn't."""
        if elements < self._heat.least_elements:
            return False
        self._count += elements
        return run.parts_rows or self._count >= self._heat.elements


def common_trace(boxed: list[Any]) -> Trace | None:
    """The trace that all of these values are on; None if they are on several, or have boxes of
    lower levels."""
    traces = [v[2].trace if type(v) is tuple and level_of(v[0]) == UNBOXED else None for v in boxed]
    return traces[0] if all([trace is traces[0] for trace in traces]) else None  # noqa: C419
