"""Arrays and ranges in IR, which are made from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....diagnostics import Span
from ...ir.instructions import Check, Value
from ...ir.numbers import Numbers
from ...ir.scalars import RESTATED
from ...ir.types import BOOL, I64, ArrayType, Scalar
from ..held.kinds import Array, Stored, is_many
from ..held.names import NotCompiled
from ..held.ranges import Ints, Range, difference
from ..values.stored import Pending
from .moving import Moving
from .reductions import Options


class Creation(Moving):
    """The lowering of builtins that make arrays, and of `range`."""

    def filled(self, value: Value, shape: Any, span: Span) -> Array | Stored | Pending:
        sizes = shape if type(shape) is tuple else (shape,)
        known = tuple([self.known_int(size, span) for size in sizes])
        count = prod([max(size, 0) for size in known])
        if count == 0 or not known:
            raise NotCompiled("an array of no elements is not compiled", span)
        assert isinstance(value.type, Scalar)
        if not is_many(known):
            return self.array(known, [value] * count, span)
        if value in self.builder.known:
            return Stored(self.builder.filled(ArrayType(value.type, known), value))
        return Pending(known, value.type, lambda _: value, lambda _: value)

    def full(
        self, operands: Sequence[Any], options: Options, span: Span
    ) -> Array | Stored | Pending:
        if not isinstance(operands[0], Value):
            raise NotCompiled("`full` is compiled only for numbers", span)
        return self.filled(operands[0], options["shape"], span)

    def like(self, held: Any, number: int, span: Span) -> Array | Stored:
        """An array of one number, of the shape and type of another."""
        if isinstance(held, Stored) and held.type.element != BOOL:
            value = self.as_type(self.builder.constant(number), held.type.element, span)
            return Stored(self.builder.filled(held.type.in_form(listed=False), value))
        array = self.some_array(held, span, whole=True)
        value = self.builder.number(number if array.type == I64 else float(number), array.type)
        if array.type == BOOL:
            raise NotCompiled("an array of bools like another is not compiled", span)
        return Array(array.shape, (value,) * len(array.items), array.type)

    def eye(self, operands: Sequence[Any], options: Options, span: Span) -> Array | Pending:
        """The identity of a known size."""
        self.only(options, ["n"], span)
        n, builder = self.known_int(options["n"], span), self.builder
        if n <= 0:
            raise NotCompiled("an array of no elements is not compiled", span)
        one, zero = builder.constant(1.0), builder.constant(0.0)
        if is_many((n, n)):

            def at(indices: Sequence[Value]) -> Value:
                return builder.apply("where", [builder.apply("eq", indices, span), one, zero], span)

            return Pending((n, n), builder.real, at, operations=1)
        items = tuple([zero if k % (n + 1) else one for k in range(n * n)])
        return Array((n, n), items, builder.real)

    def arange(self, operands: Sequence[Any], options: Options, span: Span) -> Array | Pending:
        """The ints of a range, all of them known."""
        given = [options[name] for name in ("start", "stop", "step") if name in options]
        known = [self.known_int(value, span) for value in given if value is not None]
        if "stop" not in options and "step" in options:
            raise NotCompiled("this call of `arange` is not compiled", span)
        return self.counted(range(*known) if known[2:] != [0] else range(0), span)

    def counted(self, numbers: range, span: Span) -> Array | Pending:
        """Known ints as an array."""
        if not numbers:
            raise NotCompiled("an array of no elements is not compiled", span)
        shape = (len(numbers),)
        if not is_many(shape):
            return Array(shape, tuple([self.builder.constant(k) for k in numbers]), I64)

        def at(place: Value) -> Value:
            return self.builder.place([place], [numbers.step], numbers.start)

        return Pending(shape, I64, lambda indices: at(indices[0]), at)

    def linspace(self, operands: Sequence[Any], options: Options, span: Span) -> Array | Pending:
        """Numbers between two others, in NumPy's way: the first one plus steps. The derivatives are
        those of a weighted mean of the two."""
        self.only(options, ["num"], span)
        n = self.known_int(options["num"], span) if "num" in options else 50
        if n < 1 or not all(isinstance(held, Value) for held in operands):
            raise NotCompiled("this call of `linspace` is not compiled", span)
        builder = self.builder
        start, stop = [self.as_float(held, span) for held in operands]
        if start.type != self.builder.real or stop.type != self.builder.real:
            raise NotCompiled("other floats than the run's are not compiled in `linspace`", span)
        between = builder.constant(max(n - 1, 1))
        zero = builder.zero(builder.real)
        one = builder.constant(1.0)
        moves = {start, stop} - builder.known.keys()

        m = Numbers(builder, span)

        @m.formula
        def line(a: Any, b: Any, k: Any) -> Any:
            """The `k`th of the numbers from `a` to `b`."""
            distance = b - a
            step = distance / between
            is_flat = step == zero
            part = k / between * distance
            found = m.where(is_flat, part, k * step) + a
            is_last = k == n - 1
            return found if n == 1 else m.where(is_last, b, found)

        def at(k: Value) -> Value:
            value = line(start, stop, k)
            if not moves:
                return value
            parts = [(start, line(one, zero, k)), (stop, line(zero, one, k))]
            mean = [builder.apply("mul", list(part), span) for part in parts]
            return builder.operation(RESTATED, [self.added(mean, span), value])

        if is_many((n,)):
            return Pending((n,), builder.real, lambda k: at(k[0]), at, operations=8)
        items = [at(builder.constant(k)) for k in range(n)]
        self.count(span, n)
        return self.tied(Array((n,), tuple(items), builder.real))

    # ---- ranges ----------------------------------------------------------------------------------

    def range(self, operands: Sequence[Any], options: Options, span: Span) -> Ints:
        ends = [end for end in operands if end is not None]
        if any(getattr(end, "type", None) != I64 for end in ends):
            raise NotCompiled("`range` goes over ints", span)
        start = self.builder.constant(0) if len(ends) == 1 else ends[0]
        stop = ends[min(1, len(ends) - 1)]
        step = ends[2] if len(ends) == 3 else self.builder.constant(1)
        return Ints(Range(start, step, self.iterations(start, stop, step, span)))

    def iterations(self, start: Value, stop: Value, step: Value, span: Span) -> Value:
        """The number of ints in a range: none if it is negative."""
        size = self.builder.known.get(step)
        if size == 0:
            raise NotCompiled("a step of 0 is not compiled", span)
        if size is not None:
            return self.steps_between(start, stop, step, size > 0, span)
        zero = self.builder.constant(0)
        self.builder.add(Check(self.builder.apply("ne", [step, zero], span)))
        found: Value = self.either(
            self.builder.apply("gt", [step, zero], span),
            lambda: self.steps_between(start, stop, step, True, span),
            lambda: self.steps_between(start, stop, step, False, span),
            span,
        )
        return found

    def steps_between(self, start: Value, stop: Value, step: Value, up: bool, span: Span) -> Value:
        """The number of steps, up or down, from one int to another or beyond it."""
        low, high = (start, stop) if up else (stop, start)
        count = difference(self.builder, high, low, span)
        size = step if up else self.builder.apply("neg", [step], span)
        if self.builder.known.get(size) == 1:
            return count
        rounded_up = Numbers(self.builder, span).formula(lambda n, size: (n + (size - 1)) // size)
        return rounded_up(count, size)
