"""Arrays of few elements in IR: one scalar for each element.

Arithmetic and sums have the bits of NumPy. Other functions are those of numbers, and products of
arrays are added one after another; both may differ from the interpreter's in the last place, as
NumPy's differ between processors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import Any

from ....ops import OPS
from ....ops.op import Op
from ...backends.backend import broadcast_shapes
from ...ir.instructions import Value
from ...ir.scalars import CHOICES
from ...ir.types import F32, F64, I64, Scalar, is_float, widest
from ..held.kinds import Array, ListOrArray, Mixed, Stored
from ..held.names import NotCompiled
from .scalars import Scalars

BESIDE, SQUARE = OPS["beside"], OPS["square"]
MAX_ELEMENTS = 64  # of an array that is scalars while an operation computes it


class Arrays(Scalars):
    """The lowering of arrays: lists as arrays, and elementwise ops on them."""

    def as_array(self, held: Any) -> Any:
        """A list of numbers as an array; an array or a number as it is."""
        if isinstance(held, ListOrArray):
            return self.tied(held.array) if isinstance(held.array, Array) else held.array
        found = self.stacked(held)
        return self.tied(found) if type(held) is tuple else found

    def in_forms(self, held: Any, of: Callable[[Any], Any]) -> Any:
        """What something is made to, if that depends on whether it is a list or an array."""
        if not isinstance(held, ListOrArray):
            return of(held)
        return self.either(
            held.is_list, lambda: of(self.as_items(held.array)), lambda: of(held.array)
        )

    def items_of(self, held: Any) -> Any:
        """What has the items of a list of numbers, which may be an array."""
        if not isinstance(held, ListOrArray):
            return held
        if len(held.array.shape) > 1:
            raise NotCompiled("rows of a list that may be an array are not compiled")
        return held.array

    def as_items(self, array: Array | Stored) -> Any:
        """The numbers of an array in lists."""
        if isinstance(array, Stored):
            return Stored(self.builder.in_form(array.value, listed=True))
        rows, n = array.shape[1:], array.shape[0]
        size = prod(rows)
        parts = [array.items[k * size : (k + 1) * size] for k in range(n)]
        return tuple([self.as_items(Array(rows, p, array.type)) if rows else p[0] for p in parts])

    def tied(self, array: Array) -> Array:
        """An array with each element connected with all that any of the elements depends on, as in
        the interpreter."""
        if not is_float(array.type):
            return array
        moving = [item for item in dict.fromkeys(array.items) if item not in self.builder.known]
        if not moving or len(set(array.items)) == 1:
            return array
        every = moving[0]
        for item in moving[1:]:
            every = self.builder.operation(BESIDE, [every, item])
        items = [self.beside(item, every) for item in array.items]
        return Array(array.shape, tuple(items), array.type, array.variable)

    def connected(self, item: Value, others: Sequence[Value]) -> Value:
        """The same element, also connected with what is a float among other values."""
        for other in others:
            item = self.beside(item, other) if is_float(other.type) else item
        return item

    def beside(self, item: Value, other: Value) -> Value:
        """The same element, also connected with another value."""
        if item is other or not is_float(item.type) or other in self.builder.known:
            return item
        return self.builder.operation(BESIDE, [item, other])

    def stacked(self, held: Any) -> Any:
        """The same, with each element connected with its own number only. It is one value if it has
        many elements."""
        raise NotImplementedError

    def array(self, shape: tuple[int, ...], items: Sequence[Any]) -> Array:
        """An array of these elements, which are converted to one type."""
        if len(items) > MAX_ELEMENTS:
            raise NotCompiled(f"an array of more than {MAX_ELEMENTS} elements")
        types = {item.real.type if isinstance(item, Mixed) else item.type for item in items}
        kind = widest(types or {self.builder.real})
        if {F32, I64} <= types and self.builder.real == F64:
            kind = F64  # as NumPy has it, but for a run in float32
        sure = [item for item in items if not isinstance(item, Mixed)]
        if len(sure) < len(items) and not any(is_float(item.type) for item in sure):
            raise NotCompiled("whether this array has ints or floats isn't known")
        return Array(shape, tuple([self.as_type(item, kind) for item in items]), kind)

    def as_type(self, number: Any, kind: Scalar) -> Value:
        number = self.as_float(number) if isinstance(number, Mixed) else number
        return self.builder.cast(number, kind)

    def elementwise(self, op: Op, operands: Sequence[Any]) -> Any:
        """An elementwise op on arrays, or on arrays and numbers, which are broadcast."""
        op, operands = self.as_square(op, operands)
        parts = [self.as_array(operand) for operand in operands]
        parts = self.promoted(op, parts)
        shape = broadcast_shapes([p.shape for p in parts if isinstance(p, Array)])
        if shape is None or prod(shape) == 0:
            raise NotCompiled("the shapes of these arrays don't fit")
        spread = [_spread(p, shape) if isinstance(p, Array) else [p] * prod(shape) for p in parts]
        self.count(prod(shape))
        items = [self.scalar(op, each) for each in zip(*spread, strict=True)]
        return self.array(shape, items)

    def promoted(self, op: Op, parts: Sequence[Any]) -> list[Any]:
        """Operands, some of them arrays, promoted as in NumPy: float32 to float64 beside an array
        of float64 or of ints, and a number in float64 to float32 beside arrays of float32."""
        first = 1 if op in CHOICES else 0
        types = {getattr(part, "type", None) for part in parts[first:]}
        if F32 not in types:
            return list(parts)
        arrays = [p.type for p in parts[first:] if not isinstance(p, Value | Mixed)]
        has_ints = not all(map(is_float, arrays))
        if has_ints and (op in CHOICES or op.integers != "float"):
            self.verify_wide()
        wide = F64 in arrays or (has_ints and self.builder.real == F64)
        others, kind = (F32, F64) if wide else (F64, F32)
        changed = [
            self.of_type(part, kind) if getattr(part, "type", None) == others else part
            for part in parts[first:]
        ]
        return [*parts[:first], *changed]

    def of_type(self, held: Any, kind: Scalar) -> Any:
        """A number or an array as one of another type."""
        if not isinstance(held, Array):
            return self.as_type(held, kind)
        return Array(held.shape, tuple([self.as_type(v, kind) for v in held.items]), kind)

    def joined_type(self, kinds: Collection[Scalar]) -> Scalar:
        """The type of the array that arrays of these types are joined to."""
        if F32 in kinds and I64 in kinds:
            self.verify_wide()
            return F64
        return widest(kinds)

    def verify_wide(self) -> None:
        """Raises NotCompiled for float32 beside an array of ints in a run without float64, which
        NumPy would promote it to."""
        if self.builder.real != F64:
            raise NotCompiled("float32 beside an array of ints is not compiled")

    def as_square(self, op: Op, operands: Sequence[Any]) -> tuple[Op, Sequence[Any]]:
        """An op on arrays, with a square replaced by a product, as NumPy computes it."""
        is_square = op.name == "pow" and self.builder.known.get(operands[1]) == 2
        return (SQUARE, operands[:1]) if is_square else (op, operands)

    # ---- sums ------------------------------------------------------------------------------------

    def total(self, items: Sequence[Value]) -> Value:
        """The sum of elements, in the order of NumPy, which adds eight at a time."""
        kind = items[0].type if items else self.builder.real
        assert isinstance(kind, Scalar)
        first = self.builder.zero(kind)
        self.count(len(items))
        return self.added([first, self.pairwise(items)]) if items else first

    def pairwise(self, items: Sequence[Value]) -> Value:
        """The sum of up to 128 elements: eight sums, and then the remaining elements."""
        if len(items) < 8:
            return self.added(items)
        whole = len(items) // 8 * 8
        r = [self.added(items[k:whole:8]) for k in range(8)]
        while len(r) > 1:
            r = [self.added(r[k : k + 2]) for k in range(0, len(r), 2)]
        return self.added([*r, *items[whole:]])

    def added(self, items: Sequence[Value]) -> Value:
        total = items[0]
        for item in items[1:]:
            total = self.builder.apply("add", [total, item])
        return total


def _spread(array: Array, shape: tuple[int, ...]) -> list[Value]:
    """The elements of an array that is broadcast to a shape."""
    sizes = (1,) * (len(shape) - len(array.shape)) + array.shape
    places = [0]
    for size, wanted in zip(sizes, shape, strict=True):
        steps = range(wanted) if size == wanted else [0] * wanted
        places = [place * size + step for place in places for step in steps]
    return [array.items[place] for place in places]
