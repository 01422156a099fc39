"""Operations on numbers and bools in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import Span
from ...ops.op import Op
from ..ir.instructions import Value
from ..ir.types import BOOL, I64, Scalar, is_float
from ..ir.verifier import WHERE, on_scalars
from .branching import Branching
from .kinds import Mixed
from .names import NotCompiled, UnknownInt


class Scalars(Branching):
    """The lowering of elementwise ops on scalars."""

    def scalar(self, op: Op, operands: Sequence[Any], span: Span) -> Any:
        """An elementwise op on numbers."""
        if not on_scalars(op):
            raise NotCompiled(f"`{op.infix or op.name}` is not compiled", span)
        for k, operand in enumerate(operands):
            if isinstance(operand, Mixed):
                return self.on_either(op, operands, k, span)
            if not isinstance(operand, Value):
                raise NotCompiled(f"`{op.infix or op.name}` takes numbers", span)
        if op.name == "pow" and not any(is_float(v.type) for v in operands):
            operands = self.int_power(operands[0], operands[1], span)
        if op is WHERE and operands[0].type != BOOL:
            raise NotCompiled("the condition of `where` is a bool", span)
        return self.builder.operation(op, operands, span)

    def known_int(self, held: Any, span: Span) -> int:
        """An int that has to be known. Raises UnknownInt."""
        if not isinstance(held, Value) or held.type != I64:
            raise NotCompiled("an int is needed here", span)
        known = self.builder.known.get(held)
        if type(known) is not int:
            raise UnknownInt(span, held)
        return known

    def int_power(self, base: Value, exponent: Value, span: Span) -> tuple[Value, Value]:
        """The operands of a power of an int: a float if the exponent is negative."""
        known = self.known_int(self.builder.cast(exponent, I64), span)
        return (base if known >= 0 else self.as_float(base, span)), exponent

    def on_either(self, op: Op, operands: Sequence[Any], k: int, span: Span) -> Any:
        """An op on operands of which the k-th is an int or a float. Beside a float, and where the
        op makes floats of ints, it is a float."""
        mixed = operands[k]

        def of(value: Value) -> Any:
            return self.scalar(op, [value if v is mixed else v for v in operands], span)

        floats = any(is_float(v.type) for v in operands if isinstance(v, Value))
        if floats or (op.integers == "float" and op is not WHERE):
            return of(self.as_float(mixed, span))
        return self.either(mixed.is_int, lambda: of(mixed.whole), lambda: of(mixed.real), span)

    def as_float(self, number: Any, span: Span) -> Value:
        """A number as a float. One that is an int or a float depends on the float only where it is
        one."""
        kind = self.builder.real
        if not isinstance(number, Mixed):
            return number if is_float(number.type) else self.builder.cast(number, kind)

        def whole() -> Value:
            assert isinstance(number.real.type, Scalar)
            return self.builder.cast(number.whole, number.real.type)

        found: Value = self.either(number.is_int, whole, lambda: number.real, span)
        return found
