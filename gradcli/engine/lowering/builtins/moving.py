"""Ops in IR that only move elements: each element of the result is one of the operand's, or 0.

Which one, the op itself says: it is computed on the places of the operand's elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any

from ....ops import OPS
from ....ops.op import Op, OpError
from ...backends.backend import CPU
from ...ir.instructions import Value
from ...ir.places import Part, Scattered, parts_of
from ...ir.types import ArrayType, strides
from ..held.kinds import Array, Stored, is_many
from ..held.names import NotCompiled
from ..values.stored import Indices, Pending
from .reductions import Options
from .statistics import Statistics

MOVES = frozenset(
    ("broadcast_to", "diag", "expand_dims", "flip", "moveaxis", "pad", "repeat", "roll", "split",
     "squeeze", "swapaxes", "tile", "tril", "triu")
)  # fmt: skip


class Moving(Statistics):
    """The lowering of ops that move elements."""

    def moved(self, op: Op, operands: Sequence[Any], options: Options) -> Any:
        """The result of such an op on an array. All its options are known."""
        held, *borders = operands
        if any(self.builder.known.get(border) != 0 for border in borders):
            raise NotCompiled("padding with anything but 0 is not compiled")
        array = self.whole(self.any_array(held))
        given = {name: self.plain(value) for name, value in options.items()}
        chosen = {each.name: given.get(each.name, each.default) for each in op.signature.options}
        xp, size = CPU.xp, array.type.size if isinstance(array, Stored) else len(array.items)
        assert op.compute is not None
        try:
            places = xp.arange(1, size + 1).reshape(array.shape)
            found = op.compute(xp, places, *[0 for _ in borders], **chosen)
        except OpError as error:
            raise NotCompiled(error.message) from None
        if isinstance(found, list):
            return tuple([self.of_places(array, places) for places in found])
        return self.of_places(array, found)

    def trace(self, operands: Sequence[Any], options: Options) -> Any:
        [held] = operands
        array = self.whole(self.any_array(held))
        if len(array.shape) != 2:
            raise NotCompiled("`trace` is compiled only for single matrices")
        places = {"k": options["offset"]} if options else {}
        return self.sum([self.moved(OPS["diag"], [array], places)], {})

    def plain(self, value: Any) -> Any:
        """An option as the interpreter takes it."""
        if isinstance(value, Array):
            value = value.items
        if isinstance(value, tuple):
            return [self.plain(item) for item in value]
        return self.known_int(value) if isinstance(value, Value) else value

    def of_places(self, array: Array | Stored, places: Any) -> Any:
        """The elements of an array at places, which count from 1, and zeros where these are 0."""
        shape = tuple(places.shape)
        if not places.size or not shape:
            raise NotCompiled("an array of no elements is not compiled")
        if isinstance(array, Array) and not is_many(shape):
            zero = self.builder.zero(array.type)
            items = [array.items[k - 1] if k else zero for k in places.ravel().tolist()]
            return self.tied(Array(shape, tuple(items), array.type))
        stored = array if isinstance(array, Stored) else self.packed(array)
        found = self.by_parts(stored, shape, self.parts_at(places))
        return found if is_many(shape) else self.unpacked(found)

    def parts_at(self, places: Any) -> list[Part]:
        try:
            return parts_of(places)
        except Scattered as reason:
            raise NotCompiled(str(reason)) from None

    def by_parts(
        self, stored: Stored, shape: tuple[int, ...], parts: Sequence[Part]
    ) -> Stored | Pending:
        builder, kind, whole = self.builder, stored.type.element, strides(shape)
        if len(parts) == 1 and (first := parts[0].place) is not None:
            steps = parts[0].steps

            def flat(place: Value) -> Value:
                return builder.element(stored.value, builder.place([place], [1], first))

            def at(indices: Indices) -> Value:
                return builder.element(stored.value, builder.place(indices, steps, first))

            turned = len(shape) > 1 and first == 0 and shape == _swapped(stored.shape)
            turned = turned and steps == _swapped(stored.type.strides)
            return Pending(
                shape,
                kind,
                at,
                flat if steps == whole else None,
                transposed=stored.value if turned else None,
            )
        array = builder.room(ArrayType(kind, shape))
        for part in parts:

            def body(indices: Indices, part: Part = part) -> list[Value]:
                start = sum(map(mul, part.start, whole))
                return [
                    self.element_of(stored, part, indices),
                    builder.place(indices, whole, start),
                ]

            [array] = self.over(part.shape, [("put", array)], body)
        return Stored(array)

    def element_of(self, stored: Stored, part: Part, indices: Indices) -> Value:
        if part.place is None:
            return self.builder.zero(stored.type.element)
        place = self.builder.place(indices, part.steps, part.place)
        return self.builder.element(stored.value, place)


def _swapped(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Items that belong to axes, with the last two exchanged."""
    return (*sizes[:-2], sizes[-1], sizes[-2]) if len(sizes) > 1 else sizes
