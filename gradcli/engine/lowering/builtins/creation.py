"""Arrays and ranges in IR, which are made from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...ir.instructions import Check, Value
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

    def filled(self, value: Value, shape: Any) -> Array | Stored | Pending:
        sizes = shape if type(shape) is tuple else (shape,)
        known = tuple([self.known_int(size) for size in sizes])
        count = prod([max(size, 0) for size in known])
        if count == 0 or not known:
            raise NotCompiled("an array of no elements is not compiled")
        assert isinstance(value.type, Scalar)
        if not is_many(known):
            return self.array(known, [value] * count)
        if value in self.builder.known:
            return Stored(self.builder.filled(ArrayType(value.type, known), value))
        return Pending(known, value.type, lambda _: value, lambda _: value)

    def full(self, operands: Sequence[Any], options: Options) -> Array | Stored | Pending:
        if not isinstance(operands[0], Value):
            raise NotCompiled("`full` is compiled only for numbers")
        return self.filled(operands[0], options["shape"])

    def like(self, held: Any, number: int) -> Array | Stored:
        """An array of one number, of the shape and type of another."""
        array = self.whole(self.any_array(held, whole=True))
        if isinstance(array, Stored) and array.type.element != BOOL:
            value = self.as_type(self.builder.constant(number), array.type.element)
            return Stored(self.builder.filled(array.type.in_form(listed=False), value))
        value = self.builder.number(number if array.type == I64 else float(number), array.type)
        if array.type == BOOL:
            raise NotCompiled("an array of bools like another is not compiled")
        return Array(array.shape, (value,) * len(array.items), array.type)

    def eye(self, operands: Sequence[Any], options: Options) -> Array | Pending:
        """The identity of a known size."""
        self.only(options, ["n"])
        n, builder = self.known_int(options["n"]), self.builder
        if n <= 0:
            raise NotCompiled("an array of no elements is not compiled")
        one, zero = builder.constant(1.0), builder.constant(0.0)
        if is_many((n, n)):

            def at(indices: Sequence[Value]) -> Value:
                return builder.apply("where", [builder.apply("eq", indices), one, zero])

            return Pending((n, n), builder.real, self.from_here(at), operations=1)
        items = tuple([zero if k % (n + 1) else one for k in range(n * n)])
        return Array((n, n), items, builder.real)

    def arange(self, operands: Sequence[Any], options: Options) -> Array | Pending:
        """The ints of a range, all of them known."""
        given = [options[name] for name in ("start", "stop", "step") if name in options]
        known = [self.known_int(value) for value in given if value is not None]
        if "stop" not in options and "step" in options:
            raise NotCompiled("this call of `arange` is not compiled")
        return self.counted(range(*known) if known[2:] != [0] else range(0))

    def counted(self, numbers: range) -> Array | Pending:
        """Known ints as an array."""
        if not numbers:
            raise NotCompiled("an array of no elements is not compiled")
        shape = (len(numbers),)
        if not is_many(shape):
            return Array(shape, tuple([self.builder.constant(k) for k in numbers]), I64)

        def at(place: Value) -> Value:
            return self.builder.place([place], [numbers.step], numbers.start)

        return Pending(shape, I64, lambda indices: at(indices[0]), at)

    def linspace(self, operands: Sequence[Any], options: Options) -> Array | Pending:
        """Numbers between two others, in NumPy's way: the first one plus steps. The derivatives are
        those of a weighted mean of the two."""
        self.only(options, ["num"])
        n = self.known_int(options["num"]) if "num" in options else 50
        if n < 1 or not all(isinstance(held, Value) for held in operands):
            raise NotCompiled("this call of `linspace` is not compiled")
        builder = self.builder
        start, stop = [self.as_float(held) for held in operands]
        if start.type != self.builder.real or stop.type != self.builder.real:
            raise NotCompiled("other floats than the run's are not compiled in `linspace`")
        between = builder.constant(max(n - 1, 1))
        zero = builder.zero(builder.real)
        one = builder.constant(1.0)
        moves = {start, stop} - builder.known.keys()

        m = self.m

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
            mean = [builder.apply("mul", list(part)) for part in parts]
            return builder.operation(RESTATED, [self.added(mean), value])

        if is_many((n,)):
            at = self.from_here(at)
            return Pending((n,), builder.real, lambda k: at(k[0]), at, operations=8)
        items = [at(builder.constant(k)) for k in range(n)]
        self.count(n)
        return self.tied(Array((n,), tuple(items), builder.real))

    # ---- ranges ----------------------------------------------------------------------------------

    def range(self, operands: Sequence[Any], options: Options) -> Ints:
        ends = [end for end in operands if end is not None]
        if any(getattr(end, "type", None) != I64 for end in ends):
            raise NotCompiled("`range` goes over ints")
        start = self.builder.constant(0) if len(ends) == 1 else ends[0]
        stop = ends[min(1, len(ends) - 1)]
        step = ends[2] if len(ends) == 3 else self.builder.constant(1)
        return Ints(Range(start, step, self.iterations(start, stop, step)))

    def iterations(self, start: Value, stop: Value, step: Value) -> Value:
        """The number of ints in a range: none if it is negative."""
        size = self.builder.known.get(step)
        if size == 0:
            raise NotCompiled("a step of 0 is not compiled")
        if size is not None:
            return self.steps_between(start, stop, step, size > 0)
        zero = self.builder.constant(0)
        self.builder.add(Check(self.builder.apply("ne", [step, zero])))
        found: Value = self.either(
            self.builder.apply("gt", [step, zero]),
            lambda: self.steps_between(start, stop, step, True),
            lambda: self.steps_between(start, stop, step, False),
        )
        return found

    def steps_between(self, start: Value, stop: Value, step: Value, up: bool) -> Value:
        """The number of steps, up or down, from one int to another or beyond it."""
        low, high = (start, stop) if up else (stop, start)
        count = difference(self.builder, high, low)
        size = step if up else self.builder.apply("neg", [step])
        if self.builder.known.get(size) == 1:
            return count
        rounded_up = self.m.formula(lambda n, size: (n + (size - 1)) // size)
        return rounded_up(count, size)
