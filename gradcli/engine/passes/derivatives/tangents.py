"""Tangents and cotangents of values while a region is differentiated, and whether they are
connected.

Which paths run, and how often loops do, may decide whether an input is connected with a result. A
bool beside the derivative says so where that isn't known before the region runs. Each number of a
list is connected by itself: beside the derivative of a list there is an array of bools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...ir.builder import Builder
from ...ir.instructions import Block, NewStack, Value
from ...ir.scalars import CHOOSE, WHERE
from ...ir.types import BOOL, STACK, ArrayType, Scalar, Type, has_tangents
from ..calls import Regions


class Derivative(NamedTuple):
    """A tangent or a cotangent. `connected` is a bool of the region: whether a path connects the
    value with an input, or with a result; for a list, an array with a bool for each number. None
    stands for true."""

    value: Value
    connected: Value | None = None


Derivatives: TypeAlias = dict[Value, Derivative]


class Differentiation:
    """The common part of forward and reverse mode. The `varied` floats have derivatives; `regions`
    may be called."""

    def __init__(self, block: Block, varied: set[Value], regions: Regions) -> None:
        self.builder, self.varied, self.regions = Builder(block), varied, regions

    def is_stack(self, value: Value) -> bool:
        """Whether a value is a stack whose entries have derivatives."""
        return value.type == STACK and value in self.varied

    def either(self, a: Value | None, b: Value | None) -> Value | None:
        """Whether one or both of two derivatives of a value are connected; for a list, which
        numbers."""
        if a is None or b is None:
            return None
        if self.builder.known.get(b) is False:
            return a
        if isinstance(a.type, ArrayType):
            return self.each_number(a.type, lambda x, y: self.either(x, y), a, b)
        return self.builder.operation(WHERE, [a, self.builder.constant(True), b])

    def each_number(self, kind: ArrayType, of: Callable[..., Any], *arrays: Value) -> Value:
        """An array of what is found of the numbers of arrays at each place."""
        builder = self.builder

        def at(indices: Sequence[Value]) -> Value:
            place = builder.place(indices, kind.strides)
            found: Value = of(*[builder.element(array, place) for array in arrays])
            return found

        return builder.array(kind, at)

    def flag(self, kind: Type, connected: bool) -> Value:
        """What says that a value of a type is connected, or isn't."""
        found, flags = self.builder.constant(connected), flags_of(kind)
        return self.builder.filled(flags, found) if isinstance(flags, ArrayType) else found

    def flag_at(self, array: Value, connected: Value | None, place: Value) -> Value | None:
        """Whether an element of an array is connected, where `connected` says it of the array."""
        if connected is None or not array.array_type.listed:
            return connected
        return self.builder.element(connected, place)

    def with_flag(
        self, array: Value, connected: Value | None, place: Value, number: Value | None
    ) -> Value | None:
        """Whether an array is connected, with another element at a place: `number` says it of that.
        An array is connected as a whole."""
        if not array.array_type.listed:
            return self.either(connected, number)
        if connected is number is None:
            return None
        flags = self.flag(array.type, True) if connected is None else connected
        return self.builder.put(
            flags, place, self.builder.constant(True) if number is None else number
        )

    def some(self, connected: Value | None) -> Value | None:
        """Whether any number of a list is connected, or an array."""
        if connected is None or not isinstance(kind := connected.type, ArrayType):
            return connected
        builder = self.builder

        def at(indices: Sequence[Value]) -> list[Value]:
            return [builder.element(connected, builder.place(indices, kind.strides))]

        return builder.each(kind.shape, [("or", builder.constant(False))], at)[0]

    def of_all(self, kind: Type, connected: Value | None) -> Value | None:
        """What says that a value is connected as a whole, where a bool says so."""
        flags = flags_of(kind)
        if connected is None or connected.type == flags:
            return connected
        assert isinstance(flags, ArrayType)
        return self.builder.filled(flags, connected)

    def both(self, a: Value | None, b: Value) -> Value:
        """Whether a derivative is connected and a condition holds."""
        return (
            b if a is None else self.builder.operation(WHERE, [a, b, self.builder.constant(False)])
        )

    def if_connected(self, derivative: Derivative, nothing: Value) -> Value:
        """The value of a derivative where it is connected, and `nothing` elsewhere."""
        value, connected = derivative
        if connected is None:
            return value
        return self.builder.operation(CHOOSE, [connected, value, nothing])

    def nothing(self) -> Value:
        """The number -0.0: added to another one, it changes neither its value nor the sign of a
        zero."""
        return self.builder.constant(-0.0)

    def of_array(self, array: Value, derivatives: Derivatives) -> Derivative:
        """The derivative of an array; zeros, not connected, if it has none."""
        found = derivatives.get(array)
        if found is None:
            found = Derivative(self.builder.zero(array.type), self.flag(array.type, False))
        return found

    def sum(self, a: Value, b: Value) -> Value:
        """The sum of two derivatives of one value."""
        if not isinstance(a.type, ArrayType):
            return self.builder.apply("add", [a, b])
        return self.each_number(a.type, lambda x, y: self.builder.apply("add", [x, y]), a, b)

    def results(
        self, values: Iterable[Value], derivatives: Iterable[Derivative | None]
    ) -> tuple[Value, ...]:
        """The results by which a block returns derivatives of values: each derivative, and whether
        it is connected."""
        types = [value.type for value in values]
        return self.of_types(zip(types, derivatives, strict=True))

    def of_types(self, derivatives: Iterable[tuple[Type, Derivative | None]]) -> tuple[Value, ...]:
        """The same for values of these types. The derivative of a stack is a stack, that of an
        array an array."""
        found: list[Value] = []
        for kind, each in derivatives:
            value = each.value if each else self.none_of(kind)
            flag = each and each.connected
            found += [value, flag or self.flag(kind, each is not None)]
        return tuple(found)

    def none_of(self, kind: Type) -> Value:
        """The value that stands for the derivative where there is none."""
        if kind != STACK:
            if isinstance(kind, Scalar) and has_tangents(kind):
                return self.builder.number(-0.0, kind)
            return self.builder.zero(kind)
        stack = Value(STACK)
        self.builder.add(NewStack(stack))
        return stack


def passed(derivatives: Sequence[Derivative]) -> tuple[Value, ...]:
    """The operands by which a call passes derivatives on: their values, and then `connected` of
    those where it isn't None."""
    flags = [each.connected for each in derivatives if each.connected is not None]
    return (*[each.value for each in derivatives], *flags)


def values_of(values: Iterable[Value]) -> tuple[Value, ...]:
    """New values for the derivatives of some values: each derivative, and whether it is
    connected."""
    return tuple([Value(kind) for value in values for kind in (value.type, flags_of(value.type))])


def flags_of(kind: Type) -> Type:
    """The type of what says whether a value of a type is connected."""
    return ArrayType(BOOL, kind.shape) if isinstance(kind, ArrayType) and kind.listed else BOOL


def pairs(values: Iterable[Value]) -> list[Derivative]:
    """The derivatives in the results of a block or call: each value, and whether it is connected.
    Stacks always are."""
    given = iter(values)
    return [
        Derivative(value, None if value.type == STACK else flag)
        for value, flag in zip(given, given, strict=True)
    ]
