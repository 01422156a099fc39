"""Whole expressions on large arrays, and on many rows, as one operation, once they turn out to be hot.

Such arrays don't fit into the cache. `100 * (b - a**2)**2` as four operations takes them through memory four times, and four
times more on the way back; as one compound op (`compound.py`) it goes through them piece by piece (`row_functions.py`), with
one record, and what it computes in between never leaves the cache. Where the way back will only multiply by the partials,
these are computed with the value, with which they have most in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ops import OPS
from ..ops.formula import Formula
from ..ops.op import Op
from .apply import apply, record
from .backends import CPU, broadcast_shapes, shape_of
from .boxes import UNBOXED, level_of, primal
from .compound import EXPRESSION, compound, substitute
from .formulas import forward_formula, scalar_function
from .fused_source import MISS, Plan
from .lanes import Lanes, narrow, with_rows
from .row_functions import Key, key_of, value_function
from .run import Run
from .tape import Site, Trace, WithPartials
from .values import Variable, read, show_shape

MANY = 2**10  # elements of the largest operand
HOT = 2**16  # of their elements in all evaluations so far; writing the functions takes about as long
FEW = 3  # operations; fewer quick ones are as quick one by one, where they write over what they read
# What takes no longer than to read and write an array of results.
QUICK = frozenset(("add", "sub", "mul", "neg", "abs", "square", "maximum", "minimum", "relu", "operand", "number"))


class FusedArrays:
    """The operation of an expression's plan."""

    __slots__ = ("_compares", "_count", "_is_quick", "_key", "_plan", "_site")

    def __init__(self, plan: Plan) -> None:
        self._plan, self._count = plan, 0
        self._compares = plan.ops[-1].site.op.integers == "bool"
        self._site: Site | None = None
        self._key: Key = ()
        self._is_quick = False  # whether partials are better computed once more than kept

    def evaluate(self, run: Run, values: list[Any]) -> Any:
        """The expression's value for leaves that are floats and arrays of them, large ones or of many rows, once there were
        enough of them; MISS where the operations go one by one."""
        group = run.group
        if run.trace.keeps_all or (group is None and (run.backend is not CPU or not any(map(_is_large, values)))):
            return MISS
        values = [read(v) for v in values]
        primals = [primal(v) for v in values]
        if group is not None and not all([type(p) is not Lanes or group.within(p.group) for p in primals]):  # noqa: C419
            return MISS
        shape = self._shape(run, values, primals)
        if shape is None or (group is None and shape not in map(shape_of, primals)):
            return MISS
        site = self._known(run)
        if site is None or (group is None and self._is_quick and len(self._plan.ops) < FEW):
            return MISS
        return self._value(run, site, values, primals if group is None else [narrow(p, group) for p in primals], shape)

    def _known(self, run: Run) -> Site | None:
        """The operation that does the same, if there is one; it is made when it is first asked for."""
        if self._site is None:
            formula = _formula(self._plan, run.real)
            if formula is None:
                self._count = -(2**62)
                return None
            self._key = key_of(formula)
            self._is_quick = all(node.kind in QUICK for node in formula)
            self._site = Site(self._op(formula), self._plan.ops[-1].site.span)
        return self._site

    def _op(self, formula: Formula) -> Op:
        return compound(EXPRESSION, formula, len(self._plan.leaves))

    def _value(self, run: Run, site: Site, values: list[Any], primals: list[Any], shape: tuple[int, ...]) -> Any:
        backend, group = run.backend, run.group
        active = () if self._compares else tuple([k for k, v in enumerate(values) if level_of(v) != UNBOXED])
        trace = common_trace([values[k] for k in active]) if active else run.trace
        if trace is None or trace.keeps_constants:
            return MISS if self._compares or group is None else apply(run, site, tuple(values))
        whole = shape if group is None else (*shape, group.size)
        run.verify_allocation(8 * math.prod(whole), f"an array of shape {show_shape(whole)}", site.span)
        inner = primals if group is None else [with_rows(p, group) for p in primals]
        wholes = tuple([shape_of(v) == whole for v in inner])
        recorded = bool(active) and trace.segment is not None
        # Sweeps inside a sweep that is recorded go through `apply`, which has no use for partials.
        keeps = recorded and (run.once or run.recordings == 1) and not (group is None and self._is_quick)
        by = active if keeps else ()
        y, *partials = value_function(backend, self._key, wholes, by)(whole, *inner)
        value = y if group is None else Lanes(y, group)
        if not recorded:
            return value
        kept: Any = WithPartials(whole, y.dtype, partials) if by else None
        return record(trace, site, values, primals, {}, value, active, kept if group is None or not by else Lanes(kept, group))

    def _shape(self, run: Run, values: list[Any], primals: list[Any]) -> tuple[int, ...] | None:
        """The shape of what the expression gives, of each row if there are any; None where its operands are anything but floats
        and arrays of them, of the run's type, that go together, with the rows that run, or too few so far."""
        kind = "d" if run.settings.dtype == "float64" else "f"
        if kind == "f" and run.group is not None:
            return None
        shapes, largest = [], 0
        for value, inner in zip(values, primals, strict=True):
            array = inner.array if type(inner) is Lanes else inner
            if type(array) is not float and getattr(getattr(array, "dtype", None), "char", "") != kind:
                return None
            if not (self._compares or type(value) is tuple or level_of(value) == UNBOXED):
                return None
            if type(inner) is Lanes or shape_of(array):
                shapes.append(inner.shape)
                largest = max(largest, array.size if type(inner) is Lanes or run.group is None else 0)
            elif (type(array) is float) != (kind == "d"):
                return None
        if not self._is_hot(run, largest):
            return None
        return shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast_shapes(shapes)

    def _is_hot(self, run: Run, elements: int) -> bool:
        """Whether so many more elements are to be computed by functions; for rows of data whatever ran before, on which what
        they give mustn't depend."""
        if elements < MANY:
            return False
        self._count += elements
        return run.parts_rows or self._count >= HOT


def _is_large(value: Any) -> bool:
    value = value.box if type(value) is Variable else value
    value = value[0] if type(value) is tuple else value
    return hasattr(value, "strides") and value.size >= MANY


def common_trace(boxed: list[Any]) -> Trace | None:
    """The trace that all of these values are on, with nothing boxed in them."""
    traces = [v[2].trace if type(v) is tuple and level_of(v[0]) == UNBOXED else None for v in boxed]
    return traces[0] if all([trace is traces[0] for trace in traces]) else None  # noqa: C419


def _formula(plan: Plan, real: Callable[[float], Any]) -> Formula | None:
    """The plan as one formula, with floats that are rounded as `real` does it; None where it computes with ints alone, which
    are exact."""
    operands = [Formula("operand", k) for k in range(len(plan.leaves))]
    results: list[Formula] = []
    for op in plan.ops:
        arguments = [
            Formula("number", value) if kind == "number" else (operands if kind == "leaf" else results)[value]
            for kind, value in op.operands
        ]
        entry = op.site.op
        if all(a.kind == "number" for a in arguments):
            numbers = [a.value for a in arguments]
            if entry.integers == "bool" or (entry.integers == "keep" and entry.name != "neg" and float not in map(type, numbers)):
                return None
            value = -numbers[0] if entry.name == "neg" else float(real(scalar_function(entry)(*map(float, map(real, numbers)))))
            results.append(Formula("number", value))
        elif OPS.get(entry.name) is entry:
            results.append(Formula(entry.name, None, tuple(arguments)))
        else:  # what a call was read as
            results.append(substitute(forward_formula(entry), dict(enumerate(arguments))))
    return results[-1] if results[-1].arguments else None
