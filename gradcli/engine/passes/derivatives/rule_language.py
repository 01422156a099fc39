"""The language of derivative rules in IR: the calls in a rule of a structural entry become
instructions, which can be differentiated again like any others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from operator import mul
from typing import Any

from ....ops import OPS
from ....ops.op import Op
from ....ops.rule_values import ArrayValue, RuleLanguage
from ...backends.backend import CPU, broadcast_shapes
from ...ir.builder import Builder
from ...ir.instructions import LARGE_PRODUCT, Block, Value
from ...ir.places import Part, Scattered, parts_of
from ...ir.scalars import on_scalars
from ...ir.structural import Applied, completed, operands_of
from ...ir.types import ArrayType, Scalar, dimensions, dtype_of, element_of, is_float

MOST_KNOWN = 256  # elements of an array that a rule makes itself
# Ops that only move elements of their operand, and ops that don't change a real number.
_MOVES = frozenset(
    ("getitem", "reshape", "ravel", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze",
     "flip", "broadcast_to", "tril", "triu", "diag")
)  # fmt: skip
_SAME = frozenset(("conj", "real", "float64"))  # floats stay of the type of the operands
MUL = OPS["mul"]


class Held(ArrayValue):
    """A number or an array of the region. `transposed` is the matrix of which this one is the
    transpose."""

    __slots__ = ("transposed",)

    def __init__(self, v: Value, m: Language, transposed: Value | None = None) -> None:
        super().__init__(v, m)
        self.transposed = transposed

    @property
    def shape(self) -> tuple[int, ...]:
        return dimensions(self.v.type)

    @property
    def dtype(self) -> str:
        return dtype_of(self.v.type)


class Language(RuleLanguage):
    """Adds instructions for the calls of rules. Raises Refused."""

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        op, given = OPS[name], list(arguments)
        if op.signature.variadic and len(given) == 1 and type(given[0]) is list:
            [given] = given
        values = [self.value(each) for each in operands_of(op, given)]
        if on_scalars(op) and name not in _SAME:
            return Held(self.elementwise(op, values), self)
        if name in _SAME and is_float(element_of(values[0].type)):
            return given[0]
        if name == "zeros_like":
            return Held(self.builder.zero(values[0].type), self)
        if name in _MOVES and isinstance(values[0].type, ArrayType):
            with suppress(Scattered):
                return self.moved(op, given[0], options or {})
        if name == "matmul" and _are_factors(values):
            return Held(self.product(*given), self)
        chosen = {name: value for name, value in (options or {}).items() if name != "inplace"}
        found = self.builder.structural(op, values, chosen)
        held = [Held(value, self) for value in found]
        return held[0] if len(held) == 1 else held

    def value(self, given: Any) -> Value:
        """The value of the region for a value that a rule has."""
        if isinstance(given, Held):
            found: Value = given.v
            return found
        if getattr(given, "shape", ()):
            return self.known(given)
        return self.builder.constant(given.item() if hasattr(given, "item") else given)

    def known(self, given: Any) -> Value:
        """An array that the rule itself makes."""
        if given.size > MOST_KNOWN:
            raise Scattered("an array of the rule itself has too many elements")
        items = [self.builder.constant(item) for item in given.ravel().tolist()]
        array = self.builder.room(ArrayType(element_of(items[0].type), tuple(given.shape)))
        for k, item in enumerate(items):
            array = self.builder.put(array, self.builder.constant(k), item)
        return array

    # ---- elementwise ops -------------------------------------------------------------------------

    def elementwise(self, op: Op, values: Sequence[Value]) -> Value:
        """An elementwise op on arrays and numbers, which are broadcast."""
        shapes = [v.type.shape for v in values if isinstance(v.type, ArrayType)]
        if not shapes:
            return self.builder.operation(op, values)
        shape = broadcast_shapes(shapes)
        assert shape is not None
        with self.builder.inside(Block()):  # which is thrown away
            sample = [Value(element_of(value.type)) for value in values]
            kind = self.builder.operation(op, sample).type

        def at(indices: Sequence[Value]) -> Value:
            operands = [self.builder.element_at(value, indices) for value in values]
            return self.builder.operation(op, operands)

        return self.builder.array(ArrayType(element_of(kind), shape), at)

    def of_type(self, value: Value, kind: Scalar) -> Value:
        """A number or an array as one of another type."""
        if element_of(value.type) == kind:
            return value
        if not isinstance(value.type, ArrayType):
            return self.builder.cast(value, kind)
        whole = ArrayType(kind, value.type.shape)
        element = self.builder.element_at
        return self.builder.array(whole, lambda at: self.builder.cast(element(value, at), kind))

    # ---- moves -----------------------------------------------------------------------------------

    def moved(self, op: Op, given: Held, options: dict[str, Any]) -> Held:
        """The result of an op that only moves elements. Raises Scattered."""
        kind, chosen = given.v.array_type, completed(op, options)
        places = CPU.xp.arange(1, kind.size + 1).reshape(kind.shape)
        found = CPU.xp.asarray(Applied(op, chosen, (kind,)).function()(places))
        shape = tuple(found.shape)
        if not shape:
            place = self.builder.constant(int(found) - 1)
            return Held(self.builder.element(given.v, place), self)
        if not found.size:
            raise Scattered("an array of no elements is not compiled")
        array = self.builder.room(ArrayType(kind.element, shape))
        for part in parts_of(found):
            array = self.part(given.v, part, array)
        is_transposed = len(shape) == 2 and shape[::-1] == kind.shape and (places == found.T).all()
        return Held(array, self, given.v if is_transposed else None)

    def part(self, source: Value, part: Part, into: Value) -> Value:
        """An array with a part of another one in it."""
        builder, kind = self.builder, into.array_type
        start = sum(map(mul, part.start, kind.strides))

        def body(indices: Sequence[Value]) -> list[Value]:
            to = builder.place(indices, kind.strides, start)
            if part.place is None:
                return [builder.zero(kind.element), to]
            return [builder.element(source, builder.place(indices, part.steps, part.place)), to]

        return builder.each(part.shape, [("put", into)], body)[0]

    # ---- products --------------------------------------------------------------------------------

    def product(self, a: Held, b: Held) -> Value:
        """The product of matrices, or of vectors."""
        n, left, right = a.shape[-1], a.shape[:-1], b.shape[1:]
        sizes, shape = (1, prod(left), n, prod(right)), (*left, *right)
        builder, zero = self.builder, self.builder.zero(element_of(a.v.type))
        if prod(sizes) >= LARGE_PRODUCT:
            (x, by_columns), (y, other) = [
                (held.v, False) if held.transposed is None else (held.transposed, True)
                for held in (a, b)
            ]
            found = builder.product(x, y, sizes, (by_columns, other), shape or (1,))
            return found if shape else builder.element(found, builder.constant(0))
        element = element_of(a.v.type)
        kind = ArrayType(element, shape)

        def term(indices: Sequence[Value]) -> list[Value]:
            rows, (k, *columns) = indices[: len(left)], indices[len(left) :]
            factors = [_entry(self, a, [*rows, k]), _entry(self, b, [k, *columns])]
            found = builder.operation(MUL, factors)
            return [found, builder.place([*rows, *columns], kind.strides)] if shape else [found]

        initial = builder.filled(kind, zero) if shape else zero
        return builder.each((*left, n, *right), [("add", initial)], term)[0]


def _entry(m: Language, held: Held, indices: list[Value]) -> Value:
    """The entry of a matrix, read from the matrix that it is the transpose of, if there is one."""
    if held.transposed is None:
        return m.builder.element_at(held.v, indices)
    return m.builder.element_at(held.transposed, indices[::-1])


def _are_factors(values: Sequence[Value]) -> bool:
    """Whether values are vectors or matrices of floats, all of one type."""
    kinds = [value.type for value in values]
    return len({element_of(kind) for kind in kinds}) == 1 and all(
        isinstance(kind, ArrayType) and is_float(kind.element) and len(kind.shape) <= 2
        for kind in kinds
    )
