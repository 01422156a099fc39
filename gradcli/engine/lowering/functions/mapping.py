"""`vmap(f)` inside a region: a loop over rows, which puts its results into arrays. Where a row is
straight code that gives numbers, the loop is an `each`.

Any other `vmap` over many rows isn't compiled here: it has a kernel of its own, which computes
several rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....ops.op import Op
from ...ir.instructions import Block, Each, For, Value, is_point
from ...ir.types import BOOL, I64, ArrayType, dimensions, element_of
from ..builtins.reductions import Options
from ..held.kinds import Record, Stored, flat, is_many, leaves, with_parts
from ..held.names import Closure, NotCompiled, Rows, Transform
from .matrices import Matrices

MOST_ROWS = 2**8


class RowMaps(Matrices):
    """The lowering of functions that are mapped over rows."""

    def apply(self, op: Op, operands: Sequence[Any], options: Options | None = None) -> Any:
        if op.name != "vmap":
            return super().apply(op, operands, options)
        [function] = operands
        if not isinstance(function, Closure | Transform | Rows | Op):
            raise NotCompiled("the function that is mapped here isn't known")
        axes = self.fixed((options or {}).get("in_axes", self.builder.constant(0)))
        return Rows(function, axes)

    def called(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        if not isinstance(callee, Rows):
            return super().called(callee, given, named)
        axes = callee.axes if type(callee.axes) is tuple else (callee.axes,) * len(given)
        if named or len(axes) != len(given) or not {*axes} <= {0, None} or 0 not in axes:
            raise NotCompiled("this call of `vmap` is not compiled")
        arguments = [
            self.values(held) if axis is None else self.in_rows(held)
            for held, axis in zip(given, axes, strict=True)
        ]
        pairs = zip(arguments, axes, strict=True)
        sizes = {part.shape[0] for held, axis in pairs if axis == 0 for part in leaves(held)}
        if len(sizes) != 1:
            raise NotCompiled("these arguments have several numbers of rows")
        return self.all_rows(callee.function, arguments, axes, sizes.pop())

    def in_rows(self, held: Any) -> Any:
        """An argument, in which each array has the rows along its first axis, and is one value."""

        def in_one(part: Any) -> Any:
            if isinstance(part, tuple | Record):
                return with_parts(part, in_one)
            value = self.in_one(part)
            if not isinstance(value.type, ArrayType):
                raise NotCompiled("a number has no rows")
            return Stored(value)

        return in_one(self.with_arrays(self.values(held)))

    def row_of(self, held: Any, at: Value) -> Any:
        """The row of an argument at an index."""
        if isinstance(held, tuple | Record):
            return with_parts(held, lambda part: self.row_of(part, at))
        return self.part(held, [at])

    def all_rows(
        self, function: Any, arguments: list[Any], axes: Sequence[int | None], size: int
    ) -> Any:
        """The results of a function for each of `size` rows, in arrays."""
        at, before = Value(I64), self.values_in(self.unassigned)
        self.naturals.add(at)
        with self.scope(Block(), []) as body:
            pairs = zip(arguments, axes, strict=True)
            row = [held if axis is None else self.row_of(held, at) for held, axis in pairs]
            result = self.in_memory(self.values(self.called(function, row, {})))
            if self.values_in(self.unassigned) != before:
                raise NotCompiled("rows that draw or update something are not compiled")
            numbers = list(flat(result))
            kinds = [each.type for each in numbers]
            wholes = [ArrayType(element_of(kind), (size, *dimensions(kind))) for kind in kinds]
            if not all(map(_is_of_row, leaves(result))):
                raise NotCompiled("the result of these rows is not compiled")
            is_each = is_many((size,)) and is_point(body) and kinds == [*map(element_of, kinds)]
            if size > MOST_ROWS and not is_each:
                raise NotCompiled("`vmap` over many rows is not compiled here")
            carried = list(map(Value, wholes))
            parts = zip(carried, leaves(result), strict=True)
            body.parameters = (at,) if is_each else (at, *carried)
            body.results = tuple(
                [value for number in numbers for value in (number, at)]
                if is_each
                else [self.with_part(Stored(a), [at], part).value for a, part in parts]
            )
        initial, after = tuple(map(self.builder.room, wholes)), tuple(map(Value, wholes))
        self.builder.add(
            Each((size,), initial, ("put",) * len(wholes), body, after)
            if is_each
            else For(self.builder.constant(size), initial, body, after)
        )
        return self.as_structured(result, map(Stored, after))

    def as_structured(self, held: Any, arrays: Iterator[Stored]) -> Any:
        """What is held for a row, with the numbers and arrays in it replaced by the next arrays."""
        if isinstance(held, tuple | Record):
            return with_parts(held, lambda part: self.as_structured(part, arrays))
        return self.few_apart(next(arrays))


def _is_of_row(held: Any) -> bool:
    """Whether arrays for all rows can have what is held for each row."""
    if isinstance(held, Stored):
        return not held.listed and held.type.element != BOOL
    return isinstance(held, Value) and held.type != BOOL
