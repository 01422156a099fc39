"""Operations on numbers and bools in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops.op import Op
from ...ir.instructions import Block, Value, While
from ...ir.scalars import WHERE, on_scalars
from ...ir.types import BOOL, I64, Scalar, is_float
from ..held.branching import Branching
from ..held.kinds import Mixed
from ..held.names import NotCompiled, UnknownInt


class Scalars(Branching):
    """The lowering of elementwise ops on scalars."""

    def scalar(self, op: Op, operands: Sequence[Any]) -> Any:
        """An elementwise op on numbers."""
        if not on_scalars(op):
            raise NotCompiled(f"`{op.infix or op.name}` is not compiled")
        for k, operand in enumerate(operands):
            if isinstance(operand, Mixed):
                return self.on_either(op, operands, k)
            if not isinstance(operand, Value):
                raise NotCompiled(f"`{op.infix or op.name}` takes numbers")
        if op.name == "pow" and not any(is_float(v.type) for v in operands):
            return self.int_power(op, operands[0], self.builder.cast(operands[1], I64))
        if op is WHERE and operands[0].type != BOOL:
            if operands[0].type != I64:
                raise NotCompiled("the condition of `where` is a bool or an int")
            condition = self.builder.apply("ne", [operands[0], self.builder.constant(0)])
            operands = [condition, *operands[1:]]
        return self.builder.operation(op, operands)

    def known_int(self, held: Any) -> int:
        """The value of an int, which must be known. Raises UnknownInt."""
        if not isinstance(held, Value) or held.type != I64:
            raise NotCompiled("an int is needed here")
        known = self.builder.known.get(held)
        if type(known) is not int:
            raise UnknownInt(held)
        return known

    def int_power(self, op: Op, base: Value, exponent: Value) -> Any:
        """A power of an int: a float if the exponent is negative. The region is specialised on an
        exponent that follows from its ints alone, unless a loop counts it."""
        builder = self.builder

        def real() -> Value:
            return builder.operation(op, [self.as_float(base), exponent])

        if exponent in self.naturals and exponent not in builder.known:
            return self.product(base, exponent)
        is_counted = not self.counters.keys().isdisjoint(builder.sources(exponent))
        if not is_counted and self.can_be_known(exponent):
            if self.known_int(exponent) < 0:
                return real()
            return builder.operation(op, [base, exponent])
        zero = builder.constant(0)
        is_int = builder.apply("ge", [exponent, zero])
        whole = self.either(is_int, lambda: self.product(base, exponent), lambda: zero)
        return Mixed(is_int, whole, self.either(is_int, lambda: builder.constant(0.0), real))

    def product(self, base: Value, times: Value) -> Value:
        """The product of `times` factors `base`, an int, by squaring."""
        builder = self.builder
        one, two = builder.constant(1), builder.constant(2)
        condition, body = (Block((Value(I64), Value(I64), Value(I64))) for _ in range(2))
        results = (Value(I64), Value(I64), Value(I64))

        def with_odd(rest: Value, square: Value, found: Value) -> Value:
            is_odd = builder.apply("eq", [builder.apply("mod", [rest, two]), one])
            factor = builder.apply("where", [is_odd, square, one])
            return builder.apply("mul", [found, factor])

        with builder.inside(condition):
            condition.results = (builder.apply("gt", [condition.parameters[0], one]),)
        with builder.inside(body):
            rest, square, found = body.parameters
            half = builder.apply("floordiv", [rest, two])
            squared = builder.apply("mul", [square, square])
            body.results = (half, squared, with_odd(rest, square, found))
        builder.add(While((times, builder.cast(base, I64), one), condition, body, results))
        return with_odd(*results)

    def on_either(self, op: Op, operands: Sequence[Any], k: int) -> Any:
        """An op whose `k`th operand is an int or a float. Beside a float, and where the op makes
        floats of ints, it is computed as a float."""
        mixed = operands[k]

        def of(value: Value) -> Any:
            return self.scalar(op, [value if v is mixed else v for v in operands])

        floats = any(is_float(v.type) for v in operands if isinstance(v, Value))
        if floats or (op.integers == "float" and op is not WHERE):
            return of(self.as_float(mixed))
        return self.either(mixed.is_int, lambda: of(mixed.whole), lambda: of(mixed.real))

    def as_float(self, number: Any) -> Value:
        """A number as a float. A `Mixed` one depends on its float only where it is a float."""
        kind = self.builder.real
        if not isinstance(number, Mixed):
            return number if is_float(number.type) else self.builder.cast(number, kind)

        def whole() -> Value:
            assert isinstance(number.real.type, Scalar)
            return self.builder.cast(number.whole, number.real.type)

        found: Value = self.either(number.is_int, whole, lambda: number.real)
        return found
