"""Operations on numbers and bools in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import Span
from ...ops.op import Op
from ..ir.instructions import Block, Check, For, Value
from ..ir.scalars import WHERE, on_scalars
from ..ir.types import BOOL, I64, Scalar, is_float
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
            return self.int_power(op, operands[0], self.builder.cast(operands[1], I64), span)
        if op is WHERE and operands[0].type != BOOL:
            raise NotCompiled("the condition of `where` is a bool", span)
        return self.builder.operation(op, operands, span)

    def known_int(self, held: Any, span: Span) -> int:
        """The value of an int, which must be known. Raises UnknownInt."""
        if not isinstance(held, Value) or held.type != I64:
            raise NotCompiled("an int is needed here", span)
        known = self.builder.known.get(held)
        if type(known) is not int:
            raise UnknownInt(span, held)
        return known

    def int_power(self, op: Op, base: Value, exponent: Value, span: Span) -> Any:
        """A power of an int: a float if the exponent is negative. The exponent must be known, or be
        counted by a loop."""
        builder = self.builder

        def real() -> Value:
            return builder.operation(op, [self.as_float(base, span), exponent], span)

        if exponent in self.naturals and exponent not in builder.known:
            return self.product(base, exponent, span)
        if self.counters.keys().isdisjoint(builder.sources(exponent)):
            if self.known_int(exponent, span) < 0:
                return real()
            return builder.operation(op, [base, exponent], span)
        zero = builder.constant(0)
        is_int = builder.apply("ge", [exponent, zero], span)
        whole = self.either(is_int, lambda: self.product(base, exponent, span), lambda: zero, span)
        return Mixed(is_int, whole, self.either(is_int, lambda: builder.constant(0.0), real, span))

    def product(self, base: Value, times: Value, span: Span) -> Value:
        """The product of `times` factors `base`, an int. More than 63 factors are left to the
        interpreter."""
        builder = self.builder
        builder.add(Check(builder.apply("lt", [times, builder.constant(64)])))
        index, before, result = Value(I64), Value(I64), Value(I64)
        factor, one = builder.cast(base, I64), builder.constant(1)
        with builder.inside(Block((index, before))) as block:
            block.results = (builder.apply("mul", [before, factor], span),)
        builder.add(For(times, (one,), block, (result,)))
        return result

    def on_either(self, op: Op, operands: Sequence[Any], k: int, span: Span) -> Any:
        """An op whose `k`th operand is an int or a float. Beside a float, and where the op makes
        floats of ints, it is computed as a float."""
        mixed = operands[k]

        def of(value: Value) -> Any:
            return self.scalar(op, [value if v is mixed else v for v in operands], span)

        floats = any(is_float(v.type) for v in operands if isinstance(v, Value))
        if floats or (op.integers == "float" and op is not WHERE):
            return of(self.as_float(mixed, span))
        return self.either(mixed.is_int, lambda: of(mixed.whole), lambda: of(mixed.real), span)

    def as_float(self, number: Any, span: Span) -> Value:
        """A number as a float. A `Mixed` one depends on its float only where it is a float."""
        kind = self.builder.real
        if not isinstance(number, Mixed):
            return number if is_float(number.type) else self.builder.cast(number, kind)

        def whole() -> Value:
            assert isinstance(number.real.type, Scalar)
            return self.builder.cast(number.whole, number.real.type)

        found: Value = self.either(number.is_int, whole, lambda: number.real, span)
        return found
