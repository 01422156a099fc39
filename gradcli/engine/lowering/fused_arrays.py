"""Hot expressions on arrays, fused into one operation.

`100 * (b - a**2)**2` as four operations is four calls, records and steps of a sweep, and large
arrays pass through memory four times, and four times more in reverse mode. As one compound op
(`compound.py`) it is one record. Arrays that don't fit into the cache are computed in chunks
(`row_functions.py`). Where the pullback only multiplies by the partials, these are computed
together with the value, with which they share subexpressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..backends.backend import CPU, broadcast_shapes, count
from ..backends.tiers import policy
from ..formulas.reading import rule_reads
from ..kernels import native
from ..kernels.row_functions import value_function
from ..kernels.small_arrays import SMALL, small_value
from ..operations.apply import ELEMENTS
from ..operations.overwriting import can_donate
from ..operations.structural import LARGE
from ..trace.blanks import WithPartials
from ..trace.recording import record
from ..trace.run import Run
from ..trace.tape import Trace
from ..values.kinds import Variable, show_shape
from .fused_operation import FusedOperation
from .plan import MISS, Plan

CALL = 2**11  # the least number of elements that an evaluation counts for, as calls take time, too
MANY = 64  # kinds of operands for which an expression keeps functions; growing arrays have more
# Operations: fewer than these, if quick and on large arrays, gain only from native code.
FEW = 3
# Nodes that take no longer than reading and writing an array of results.
QUICK = frozenset(
    ("add", "sub", "mul", "neg", "abs", "square", "maximum", "minimum", "relu", "operand", "number")
)

Kinds = tuple[Any, ...]  # of each operand, whether it is traced, and its shape; None for a float


class _Function(NamedTuple):
    """The functions of an expression for operands of some kinds: the value alone, or with the
    partials by the traced operands `active`. The value has this shape, and may be written over the
    operands `spare`."""

    shape: tuple[int, ...]
    active: tuple[int, ...]
    value: Callable[..., Any]
    with_partials: Callable[..., list[Any]] | None
    spare: list[int]


class FusedArrays(FusedOperation):
    """An expression fused into one operation on arrays."""

    __slots__ = ("_count", "_functions", "_heat", "_is_passing")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._count, self._heat = 0, policy().heat
        # Whether fusion saves no pass over memory: two quick operations, none of which writes over
        # an operand.
        takes_over = any(leaf.is_new for leaf in plan.leaves)
        self._is_passing = (
            len(plan.ops) < FEW
            and not takes_over
            and all(op.site.op.name in QUICK for op in plan.ops)
        )
        self._functions: dict[Kinds, _Function | None] = {}

    def evaluate(self, run: Run, values: list[Any]) -> Any:
        """The value of the expression for leaves that are floats and arrays of the run's dtype,
        once it is hot; MISS where its operations must run one by one."""
        kinds: list[Any] = []
        primals: list[Any] = []
        boxes: list[Any] = []
        trace: Trace | None = None
        largest = 0
        for value in values:
            if type(value) is Variable:
                value = value.box
            boxes.append(value)
            p, is_traced = value, type(value) is tuple
            if is_traced:
                p = value[0]
                if trace is not None and value[2].trace is not trace:
                    return MISS
                trace = value[2].trace
            if type(p) is float:
                kinds.append((is_traced, None))
            elif hasattr(p, "strides"):
                kinds.append((is_traced, p.shape, p.dtype.char))
                largest = p.size if p.size > largest and p.shape else largest
            else:
                return MISS
            primals.append(p)
        if not largest or run.backend is not CPU:
            return MISS
        trace = trace or run.trace
        if trace.keeps_constants or (trace.keeps_all and trace.segment is not None):
            return MISS
        key = tuple(kinds)
        if key in self._functions:
            function = self._functions[key]
        else:
            self._count += largest + CALL
            if self._count < (
                self._heat.operations
                if self._is_passing and largest > SMALL
                else self._heat.elements
            ):
                return MISS
            if len(self._functions) >= MANY:
                self._functions.clear()
            function = self._functions[key] = self._function(run, key)
        if function is None:
            return MISS
        return self._value(run, trace, function, boxes, primals)

    def _value(
        self, run: Run, trace: Trace, function: _Function, values: list[Any], primals: list[Any]
    ) -> Any:
        """The value by a function, and its record where an operand is traced."""
        shape, active, value, with_partials, spare = function
        site = self._site
        assert site is not None
        run.work += count(shape) * len(self._plan.ops) // ELEMENTS
        if (size := count(shape)) >= LARGE:
            run.verify_allocation(8 * size, f"an array of shape {show_shape(shape)}", site.span)
        out = None
        for k in spare:
            if trace.room <= 0 and can_donate(site.op, k, values[k], primals[k], active):
                out = primals[k]
        if not active or trace.segment is None:
            return value(shape, *primals, out=out)
        # A recorded sweep goes through `apply`, which doesn't use partials.
        if with_partials is None or not (run.once or run.recordings == 1):
            y, kept = value(shape, *primals, out=out), None
        else:
            y, *partials = with_partials(shape, *primals)
            kept = WithPartials(shape, y.dtype, partials)
        return record(trace, site, values, primals, {}, y, active, kept)

    def _function(self, run: Run, kinds: Kinds) -> _Function | None:
        """The functions for operands of these kinds; None where the operations must run one by
        one."""
        char = "d" if run.settings.dtype == "float64" else "f"
        for _, shape, *chars in kinds:
            if chars != [char] if shape is not None else char != "d":
                return None
        shapes = [shape for _, shape, *_ in kinds if shape]
        shape = broadcast_shapes(shapes)
        if shape is None or shape not in shapes or (site := self._known(run, shape)) is None:
            return None
        formula = site.op.forward(None, *range(len(kinds)))  # type: ignore[misc] # which it is, for any operands
        is_quick, is_small = all(node.kind in QUICK for node in formula), count(shape) <= SMALL
        if self._is_passing and not is_small and not native.is_there():
            return None
        wholes = tuple([given[1] == shape for given in kinds])
        active = () if self._compares else tuple([k for k, given in enumerate(kinds) if given[0]])
        if is_small:
            return _Function(shape, active, small_value(site.op), None, [])
        value = value_function(CPU, self._key, wholes)
        by_itself = not active or is_quick or "result" in rule_reads(site.op, active)
        both = None if by_itself else value_function(CPU, self._key, wholes, active)
        spare = [k for k, leaf in enumerate(self._plan.leaves) if leaf.is_new and wholes[k]]
        return _Function(
            shape, active, lambda *given, out=None: value(*given, out=out)[0], both, spare
        )
