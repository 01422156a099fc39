"""Which elements of its parameters each element of a region's results depends on, in straight
code."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops import OPS
from ..ir.instructions import Cast, Check, Constant, Element, Operation, Region, Value
from ..ir.scalars import differentiated
from ..ir.types import ArrayType, elements_of, is_float
from .scalar_replacement import in_scalars

BESIDE, STRICT_MUL = OPS["beside"], OPS["strict_mul"]
ElementReads = dict[tuple[int, int], list[tuple[int, int]]]
_STRAIGHT = (Constant, Cast, Operation, Element, Check)


def element_reads(region: Region) -> ElementReads | None:
    """For each result and each parameter, by their positions, the pairs of elements of which the
    first depends on the second. None where a region has branches, loops, calls, or more than few
    elements: there it isn't known."""
    block = in_scalars(region).block
    values = (*block.parameters, *block.results)
    is_straight = all(isinstance(made, _STRAIGHT) for made in block.instructions)
    if not is_straight or any(isinstance(value.type, ArrayType) for value in values):
        return None
    parameters, results = map(_elements, (region.block.parameters, region.block.results))
    depends: dict[Value, set[tuple[int, int]]] = {
        value: {place} for value, place in zip(block.parameters, parameters, strict=True)
    }
    zeros = set()
    for made in block.instructions:
        if isinstance(made, Constant) and made.value == 0.0:
            zeros.add(made.result)
        is_zero = isinstance(made, Operation) and made.op is STRICT_MUL and zeros & {*made.operands}
        if isinstance(made, Operation | Cast) and is_float(made.result.type) and not is_zero:
            depends[made.result] = set().union(*[depends.get(v, ()) for v in _moving(made)])
    found = ElementReads()
    for value, (r, own) in zip(block.results, results, strict=True):
        for k, element in sorted(depends.get(value, ())):
            found.setdefault((r, k), []).append((own, element))
    return found


def _moving(made: Operation | Cast) -> list[Value]:
    """The operands on whose values the result depends in a way that has derivatives."""
    if isinstance(made, Cast):
        return [made.operand]
    if made.op is BESIDE:  # the second operand says only that an element is connected
        return [made.operands[0]]
    return [made.operands[k] for k in differentiated(made)] if made.op.differentiable else []


def _elements(values: Sequence[Value]) -> list[tuple[int, int]]:
    """The elements of some values, in order: the position of the value, and the place in it."""
    return [(k, j) for k, value in enumerate(values) for j in range(elements_of(value.type))]
