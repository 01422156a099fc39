"""Whole expressions on rows as one operation, once they turn out to be hot.

Many rows are arrays that don't fit into the cache. `100 * (b - a**2)**2` as four operations takes them through memory four
times, and four times more on the way back; as one compound op (`compound.py`) it goes through them piece by piece
(`chunks.py`), with one record, and what it computes in between never leaves the cache.
"""

from __future__ import annotations

from typing import Any

from ..ops.formula import Formula
from .backends import broadcast_shapes, shape_of
from .boxes import UNBOXED, level_of, primal
from .compound import EXPRESSION, compound
from .fused_source import Plan
from .lanes import Lanes
from .run import Run
from .tape import Site
from .values import read

MANY = 2**10  # elements of the largest operand
HOT = 8  # evaluations on so many; writing the functions takes as long as some tens of them


class FusedRows:
    """The operation of an expression's plan."""

    __slots__ = ("_count", "_plan", "_site")

    def __init__(self, plan: Plan) -> None:
        self._plan, self._count = plan, 0
        self._site: Site | None = None

    def site(self, run: Run, values: list[Any]) -> Site | None:
        """The operation's site for leaves that are floats and arrays of them, of many rows, once there were enough of them; None
        where the operations go one by one."""
        if run.trace.keeps_all or not self._fits(run, values):
            return None
        self._count += 1
        if self._count < HOT:
            return None
        if self._site is None:
            ops = self._plan.ops
            if any(all(kind == "number" for kind, _ in op.operands) for op in ops):  # of ints, perhaps
                self._count = -(10**9)
                return None
            self._site = Site(compound(EXPRESSION, _formula(self._plan), len(self._plan.leaves)), ops[-1].site.span)
        return self._site

    def _fits(self, run: Run, values: list[Any]) -> bool:
        """Whether the values are floats and float64 arrays that go together, many of them with the rows that run."""
        shapes, largest = [], 0
        for value in values:
            value = read(value)
            inner = primal(value)
            if type(inner) is float:
                continue
            array = inner.array if type(inner) is Lanes else inner
            if type(inner) is Lanes and inner.group is run.group:
                largest = max(largest, array.size)
            elif type(inner) is Lanes or not shape_of(array):
                return False
            if (level_of(value) != UNBOXED and type(value) is not tuple) or array.dtype.char != "d":
                return False
            shapes.append(inner.shape)
        return largest >= MANY and (shapes.count(shapes[0]) == len(shapes) or broadcast_shapes(shapes) is not None)


def _formula(plan: Plan) -> Formula:
    operands = [Formula("operand", k) for k in range(len(plan.leaves))]
    results: list[Formula] = []
    for op in plan.ops:
        arguments = [
            Formula("number", value) if kind == "number" else (operands if kind == "leaf" else results)[value]
            for kind, value in op.operands
        ]
        results.append(Formula(op.site.op.name, None, tuple(arguments)))
    return results[-1]
