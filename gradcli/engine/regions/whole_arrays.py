"""Builtins on whole arrays in IR, by the interpreter's own code: those that have no lowering of
their own, and those whose lowering doesn't take these operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import Span
from ...ops.op import Op
from ..ir.instructions import Value
from ..ir.structural import Refused, operands_of
from ..ir.types import BOOL, F64, ArrayType, element_of, has_floats
from .creation import Creation
from .kinds import Array, Stored
from .names import NotCompiled
from .reductions import Options
from .stored import Pending


class WholeArrays(Creation):
    """The lowering of calls of the interpreter's code."""

    def of_whole(self, op: Op, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """What a structural entry of the table gives: an array, a number, or a list of these."""
        if op.category == "making" and self.builder.real != F64:
            raise NotCompiled(f"this call of `{op.name}` is not compiled in float32", span)
        if op.signature.variadic and not op.signature.leading:
            operands = self.parts_of(operands, span)
        values = [self.in_one(held, span) for held in operands_of(op, operands)]
        chosen = {name: self.fixed(value, span) for name, value in options.items()}
        self.count(span)
        try:
            found = self.builder.structural(op, values, chosen, span)
        except Refused as reason:
            raise NotCompiled(f"`{op.name}` of these operands: {reason}", span) from None
        if not all(has_floats(self.builder.real, element_of(v.type)) for v in found):
            raise NotCompiled(f"`{op.name}` gives float64 in a run in float32", span)
        held = [
            self.few_apart(Stored(value), span) if isinstance(value.type, ArrayType) else value
            for value in found
        ]
        return held[0] if len(held) == 1 else tuple(held)

    def parts_of(self, operands: Sequence[Any], span: Span) -> tuple[Any, ...]:
        """The operands, or the items of a single one that is a list or an array."""
        single = len(operands) == 1 and isinstance(operands[0], tuple | Array | Stored)
        return tuple(self.rows(operands[0], span) if single else operands)

    def in_one(self, held: Any, span: Span) -> Value:
        """A number, or an array as one value."""
        if isinstance(held, Pending):
            return self.made(held, span)
        if not isinstance(held, Value | Stored):
            held = self.as_array(held, span)
        found = self.in_memory(held)
        value = found.value if isinstance(found, Stored) else found
        if not isinstance(value, Value) or value.type == BOOL:
            raise NotCompiled("one bool, or what is an int or a float, is no operand here", span)
        return value

    def fixed(self, held: Any, span: Span) -> Any:
        """An option, which is known."""
        if isinstance(held, tuple):
            return tuple([self.fixed(item, span) for item in held])
        if isinstance(held, Array) and len(held.shape) == 1:
            return self.fixed(held.items, span)
        if not isinstance(held, Value):
            if held is None or type(held) is str:
                return held
            raise NotCompiled("this option is not compiled", span)
        known = self.builder.known.get(held)
        return self.known_int(held, span) if known is None else known
