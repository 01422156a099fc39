"""Sums and means of expressions over the elements of each row, fused into one operation: `sum(100 *
(x[1:] - x[:-1]**2)**2)` on many rows.

As separate operations, each part of `x`, each term and each partial would be an array with all
rows. Fused, the terms are added as they are computed, and so is the gradient by `x`, which is then
known before a sweep asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...lang import program
from ...ops import OPS
from ...ops.formula import Formula
from ...ops.op import Op
from ...ops.rules import ratio
from ..analysis.inlined_derivatives import NotInlinedError
from ..backends.backend import broadcast_shapes, shape_of
from ..compilation.compiler import Closure, Compiler
from ..compilation.indexing import written_index
from ..formulas.differentiation import ZERO, differentiate, pushed
from ..kernels.sum_functions import sum_function
from ..trace.blanks import WithPartials
from ..trace.recording import record
from ..trace.run import Run
from ..values.boxes import UNBOXED, level_of, primal
from ..values.kinds import read
from ..values.lanes import Lanes, narrow, with_rows
from .fused_rows import FusedRows, common_trace
from .plan import MISS, Leaf, Plan
from .planning import collect

SUM, MEAN = OPS["sum"], OPS["mean"]

Index = tuple[Any, ...] | None  # the part of a name that is read, by ints and slices; None for all
Parts = Sequence[tuple[int, Index]]  # the numbers of names, each with a part of it


def sums_on_rows(c: Compiler, node: program.Apply, cold: Closure) -> Closure:
    """The closure of `sum(expression)` or `mean(expression)`, which for rows is one operation if
    the expression reads only names, parts of them by constant ints and slices, and numbers;
    otherwise `cold`."""
    operand = node.operands[0]
    if node.options or operand is None or c.slow:
        return cold
    bases: list[Leaf] = []

    def part(read: program.Expression) -> Any:
        index = written_index(read.items) if isinstance(read, program.Index) else None
        if index is None or not isinstance(read, program.Index):
            raise NotInlinedError
        inner = Plan([], bases)
        kind, base = collect(read.object, inner, None, {}, None, 0)
        if kind != "leaf" or inner.ops:
            raise NotInlinedError
        return base, index

    found = Plan([], [])
    with suppress(NotInlinedError):
        kind, _ = collect(operand, found, part, {}, None, 0)
        if kind == "op" and found.ops[-1].site.op.integers != "bool":
            rows = _RowSum(found, bases, node)
            return lambda frame: (
                cold(frame) if frame[0].group is None or (y := rows.sum(frame)) is MISS else y
            )
    return cold


class _RowSum(FusedRows):
    """The sum of an expression fused into one operation on many rows."""

    __slots__ = ("_bases", "_is_mean", "_parts")

    def __init__(self, plan: Plan, bases: list[Leaf], node: program.Apply) -> None:
        super().__init__(plan)
        self._bases, self._is_mean = bases, node.op is MEAN
        self._parts: Parts = [
            leaf.value if leaf.kind == "closure" else (_place(bases, leaf), None)
            for leaf in plan.leaves
        ]

    def sum(self, frame: list[Any]) -> Any:
        """The sum, for names that are floats, arrays and lanes of floats, once it is hot; MISS
        where its operations must run one by one."""
        run, group = frame[0], frame[0].group
        if run.trace.keeps_all:
            return MISS
        values = [read(leaf.of(frame)) for leaf in self._bases]
        primals = [primal(v) for v in values]
        if not all([type(p) is not Lanes or group.within(p.group) for p in primals]):  # noqa: C419
            return MISS
        primals = [narrow(p, group) for p in primals]
        terms = [_part(primals[base], index) for base, index in self._parts]
        shape = self._shape(run, [values[base] for base, _ in self._parts], terms)
        if not shape or (site := self._known(run, shape)) is None:
            return MISS
        active = tuple([k for k, v in enumerate(values) if level_of(v) != UNBOXED])
        trace = common_trace([values[k] for k in active]) if active else run.trace
        if trace is None or trace.keeps_constants:
            return MISS
        active = active if trace.segment is not None else ()
        in_lanes = all([type(primals[k]) is Lanes for k in active])  # noqa: C419
        if active and not ((run.once or run.recordings == 1) and in_lanes):
            return MISS
        whole = (*shape, group.size)
        backend = run.backend
        inner = [with_rows(term, group) for term in terms]
        by = [k for k, (base, _) in enumerate(self._parts) if base in active]
        # Ordered by first elements, so that a function may add the terms one by one.
        by.sort(
            key=lambda k: _first(self._parts[k][1], primals[self._parts[k][0]].shape), reverse=True
        )
        terms_of_one = math.prod(shape) if self._is_mean else 1
        wholes = tuple([shape_of(v) == whole for v in inner])
        function = sum_function(backend, self._key, wholes, tuple(by), terms_of_one)
        if function is None:
            return MISS
        if needed := sum([primals[k].array.size for k in active]):
            run.verify_allocation(8 * needed, f"gradients of {needed} numbers", site.span)
        totals = [backend.empty((*primals[k].shape, group.size)) for k in active]
        places = []
        for k in by:
            base, index = self._parts[k]
            total = active.index(base)
            places.append((total, totals[total] if index is None else totals[total][index]))
        y = Lanes(function(whole, inner, places, totals), group)
        if not active:
            return y
        kept = Lanes(WithPartials((group.size,), y.dtype, totals), group)
        return record(trace, site, values, primals, {}, y, active, kept)

    def _is_hot(self, run: Run, elements: int) -> bool:
        # A fused sum adds in another order. For rows of data that order mustn't depend on how many
        # rows run together.
        return run.parts_rows or super()._is_hot(run, elements)

    def _op(self, formula: Formula) -> Op:
        return _sum_op(formula, self._parts, self._is_mean)


def _place(bases: list[Leaf], leaf: Leaf) -> int:
    if leaf not in bases:
        bases.append(leaf)
    return bases.index(leaf)


def _part(value: Any, index: Index) -> Any:
    """A part of a name's value; None where there is no such part, which the interpreter reports."""
    if index is None:
        return value
    is_lanes = type(value) is Lanes
    array = value.array if is_lanes else value
    if not hasattr(array, "strides") or len(index) > value.ndim:
        return None
    with suppress(IndexError):
        return Lanes(array[index], value.group) if is_lanes else array[index]
    return None


def _first(index: Index, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of the first element of a part."""
    return tuple(
        [
            i.indices(n)[0] if type(i) is slice else i % n
            for i, n in zip(index or (), shape, strict=False)
        ]
    )


# ---- its rule, where no partials were kept -------------------------------------------------------


def _sum_op(formula: Formula, parts: Parts, is_mean: bool) -> Op:
    """The op that sums a formula of parts of its operands, or takes its mean."""
    n = len(parts)
    shares: list[Formula] = []  # of the terms in the cotangent, which is the operand after them

    def share(j: int) -> Formula:
        if not shares:
            shares.extend(differentiate(formula, n, Formula("operand", n)))
        return shares[j]

    def terms(m: Any, xs: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
        given = [
            xs[base] if index is None else m.getitem(xs[base], index=index) for base, index in parts
        ]
        shape = broadcast_shapes([v.shape for v in given])
        assert shape is not None
        return given, shape

    def vjp(m: Any, g: Any, y: Any, k: int, *xs: Any) -> Any:
        given, shape = terms(m, xs)
        g = g * ratio(1.0, math.prod(shape)) if is_mean else g
        operands = [*given, m.broadcast_to(g, shape=shape)]
        total: Any = None
        for j, (base, index) in enumerate(parts):
            if base != k or share(j) is ZERO:
                continue
            c = m.sum_to(_value(m, share(j), operands), shape=given[j].shape)
            if index is None:
                total = c if total is None else total + c  # a zero keeps its sign
            else:
                total = m.broadcast_to(0.0, shape=xs[k].shape) if total is None else total
                total = m.index_add(total, c, index=index)
        return m.broadcast_to(0.0, shape=xs[k].shape) if total is None else total

    def jvp(m: Any, t: Sequence[Any], y: Any, *xs: Any) -> Any:
        given, shape = terms(m, xs)
        moving = [j for j, (base, _) in enumerate(parts) if t[base] is not None]
        tangents = [
            t[base] if index is None else m.getitem(t[base], index=index)
            for base, index in (parts[j] for j in moving)
        ]
        places = {j: Formula("operand", n + position) for position, j in enumerate(moving)}
        total = _value(m, pushed(formula, places), [*given, *tangents])
        return (m.mean if is_mean else m.sum)(m.broadcast_to(total, shape=shape))

    return Op(
        f"{'mean' if is_mean else 'sum'} of an expression",
        "*xs",
        "The sum or mean of an expression as one operation.",
        category="arithmetic",
        internal=True,
        engine=True,
        vjp=vjp,
        jvp=jvp,
        saves=("xs",),
    )


def _value(m: Any, formula: Formula, operands: Sequence[Any]) -> Any:
    """A formula in the language of rules, applied to operands."""
    return formula.evaluate(operands, None, lambda name, values: getattr(m, name)(*values))
