"""Residuals: what the pullback of a loop needs of each iteration."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..ir.instructions import (
    Affine,
    Block,
    Cast,
    Constant,
    Element,
    Instruction,
    Operation,
    Value,
)
from ..ir.types import I64, is_float
from .copying import defined

_FLOATS = ("add", "sub", "mul", "neg")
_INTS = ("add", "sub", "mul", "lt", "where")  # what places in arrays are computed by


def computed_again(
    body: Block, given: set[Value], needed: Iterable[Value], arrays: Container[Value]
) -> dict[Value, Instruction]:
    """The instructions that give needed values of an iteration from what is `given`, from values
    around the loop, and from these arrays, where that is cheaper than a stack."""
    inside = set(defined(body)) - given
    cheap: dict[Value, Instruction] = {}
    for made in body.instructions:
        if _is_simple(made, arrays) and all(v not in inside or v in cheap for v in made.operands):
            cheap[made.results[0]] = made
    wanted = {value for value in needed if value in cheap}
    for value in reversed(cheap):
        if value in wanted:
            wanted.update(v for v in cheap[value].operands if v in cheap)
    return {value: made for value, made in cheap.items() if value in wanted}


def _is_simple(made: Instruction, arrays: Container[Value]) -> bool:
    if isinstance(made, Operation):
        operand = made.operands[-1].type
        if is_float(made.result.type):
            return made.op.name in _FLOATS
        return operand == I64 and made.op.name in _INTS
    simple = isinstance(made, Cast | Constant | Affine)
    return simple or (isinstance(made, Element) and made.array in arrays)
