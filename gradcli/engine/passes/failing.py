"""Whether code may step back, for other reasons than want of memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.instructions import (
    Block,
    Call,
    Cast,
    Check,
    Constant,
    Instruction,
    Operation,
    Structural,
    Value,
    every,
)
from ..ir.scalars import WHERE
from ..ir.types import I64, is_float
from .calls import Regions

_SURE = ("add", "sub")  # on ints, if one is a small constant: what is counted stays small
_SMALL = 2**31


def may_fail(block: Block, regions: Regions, above: Sequence[str] = ()) -> bool:
    """Whether a block, or a region that it calls, may step back for the interpreter to decide: for
    an error, such as an index out of range, or another way to compute. `above` are the names of the
    regions being looked at, which call this one. Calls that end are assumed not to be too deep."""
    made_by = {value: made for made in every(block) for value in made.results}

    def is_small(value: Value) -> bool:
        made = made_by.get(value)
        return isinstance(made, Constant) and abs(made.value) < _SMALL

    def is_of_depth(made: Check) -> bool:
        asked = made_by.get(made.condition)
        return isinstance(asked, Operation) and asked.operands[0] in block.parameters[:1]

    def may(made: Instruction) -> bool:
        if isinstance(made, Call):
            if made.region in above or not regions.has(made.region):
                return True
            called = regions.of(made.region).block
            return may_fail(called, regions, (*above, made.region))
        if isinstance(made, Cast):
            return made.result.type == I64 and is_float(made.operand.type)
        if isinstance(made, Operation) and made.result.type == I64 and made.op is not WHERE:
            return made.op.name not in _SURE or not any(map(is_small, made.operands))
        return isinstance(made, Structural) or (isinstance(made, Check) and not is_of_depth(made))

    return any(map(may, every(block)))
