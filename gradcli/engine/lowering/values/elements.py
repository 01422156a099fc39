"""Elements and parts of lists and arrays in IR, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from types import EllipsisType
from typing import Any, TypeGuard

from ....lang import program
from ...ir.instructions import Value
from ...ir.types import BOOL, I64, is_float
from ..held.kinds import Array, ListOrArray, Mixed, Record, Stored, Table
from ..held.names import Fails, NotCompiled, Picks
from ..held.ranges import Ints, Zipped
from .arrays import MAX_ELEMENTS
from .containers import Containers, Key, Path
from .parts import Step, has_arrays
from .stored import Pending

NEW_AXIS = None
# An item in the brackets of an index: a step, `...` for the axes in between, or a new axis.
Item = Step | EllipsisType | None


class Elements(Containers):
    """The lowering of indices and slices."""

    def expression(self, node: Any) -> Any:
        raise NotImplementedError

    def index(self, node: program.Index) -> Any:
        held, items = self.indexed(node)
        if ... in items:
            items = self.axis_by_axis(held, items)
        found = self.part(held, [step for step in items if _is_step(step)])
        return self.with_new_axes(found, items) if NEW_AXIS in items else found

    def axis_by_axis(self, held: Any, items: Sequence[Item]) -> list[Item]:
        """The items of an index, with `...` replaced by slices."""
        if not isinstance(held, Array | Stored):
            raise NotCompiled("`...` in an index into a list is not compiled")
        k, named = items.index(...), len([step for step in items if _is_step(step)])
        return [*items[:k], *[slice(None)] * (len(held.shape) - named), *items[k + 1 :]]

    def with_new_axes(self, found: Any, items: Sequence[Item]) -> Any:
        """A part of an array, with the new axes that the index asks for."""
        if not hasattr(found, "shape") or has_arrays(items):
            raise NotCompiled("a new axis is compiled only for parts of arrays")
        axes = iter(found.shape)
        shape = [1 if k is NEW_AXIS else next(axes) for k in items if not isinstance(k, Value)]
        return self.reshaped(found, (*shape, *axes))

    def reshaped(self, held: Any, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def indexed(self, node: program.Index) -> tuple[Any, list[Item]]:
        """What an index is applied to, and its items. `m[i][j]` of an array in memory is read as
        `m[i, j]`."""
        ints: list[Item] = []
        inner = node.object
        if isinstance(inner, program.Index) and all(map(_is_expression, inner.items)):
            with self.at(inner.span):
                held, ints = self.indexed(inner)
                is_near = isinstance(held, Stored) and len(ints) < len(held.shape)
                if not is_near or not all(isinstance(step, Value) for step in ints):
                    steps = [step for step in ints if _is_step(step)]
                    part = self.whole(self.part(held, steps))
                    held, ints = self.value(part), []
        else:
            held = self.value(self.expression(inner))
        if isinstance(held, Record):
            return self.item(held, self.expression(node.items[0])), []
        return held, [*ints, *[self.step(item) for item in node.items]]

    def entry(self, held: Any, step: Path) -> Any:
        """The item to which one step of a path leads."""
        if isinstance(step, Key):
            return self.item(self.present(held), step)
        return self.part(held, step)

    def path_step(self, items: Sequence[Any]) -> Path:
        """What stands in brackets in an assignment: a key, or the steps of an index."""
        key = self.expression(items[0]) if len(items) == 1 and _is_expression(items[0]) else None
        if isinstance(key, Key):
            return key
        return self.steps(items) if key is None else [self.index_of(key)]

    def steps(self, items: Sequence[Any]) -> list[Step]:
        """The steps of an index in an assignment."""
        found = [self.step(item) for item in items]
        steps = [step for step in found if _is_step(step)]
        if len(steps) < len(found):
            raise NotCompiled("a change at `...` or a new axis is not compiled")
        return steps

    def step(self, item: Any) -> Item:
        if isinstance(item, program.Slice):
            bounds = [self.bound(b) for b in (item.start, item.stop, item.step)]
            if bounds[2] == 0:
                raise NotCompiled("the step of this slice is 0")
            return slice(*bounds)
        if isinstance(item, program.EllipsisItem):
            return ...
        if isinstance(item, program.Constant) and item.value is None:
            return NEW_AXIS
        return self.index_of(self.expression(item))

    def index_of(self, held: Any) -> Step:
        """An int or an array of ints as an index."""
        if isinstance(held, Stored):
            return held
        found = self.value(held)
        if type(found) is tuple:
            found = self.as_array(found)
        if not isinstance(found, Value | Array) or found.type != I64:
            raise NotCompiled("an index that is no int and no slice is not compiled")
        return found

    def bound(self, node: Any) -> int | None:
        """A bound of a slice, which must be known."""
        if node is None:
            return None
        with self.at(node.span):
            return self.known_int(self.value(self.expression(node)))

    # ---- reading ---------------------------------------------------------------------------------

    def rows(self, held: Any) -> list[Any]:
        """The items of a list, the rows of an array, or the elements of one of one axis."""
        held = self.in_items(self.items_of(held))
        if type(held) is tuple:
            return list(held)
        if isinstance(held, Ints):
            return self.ints(held)
        if isinstance(held, Zipped):
            return list(zip(*[self.rows(part) for part in held.parts], strict=False))
        if isinstance(held, Stored) and held.listed and held.shape[0] <= MAX_ELEMENTS:
            places = map(self.builder.constant, range(held.shape[0]))
            return [self.part(held, [place]) for place in places]
        if isinstance(held, Stored):
            held = self.unpacked(held)
        if not isinstance(held, Array):
            raise NotCompiled("only lists and arrays have elements here")
        rest, n = held.shape[1:], held.shape[0]
        size = len(held.items) // n if n else 0
        parts = [held.items[k * size : (k + 1) * size] for k in range(n)]
        return [Array(rest, part, held.type) if rest else part[0] for part in parts]

    def count_of(self, held: Any) -> Value:
        """The number of items of a sequence."""
        if isinstance(held, Table):
            count: Value = held.count
            return count
        if isinstance(held, Ints):
            return self.builder.apply("maximum", [held.range.size, self.builder.constant(0)])
        if isinstance(held, Zipped):
            counts = [self.count_of(part) for part in held.parts]
            return reduce(lambda a, b: self.builder.apply("minimum", [a, b]), counts)
        size = held.shape[0] if isinstance(held, Stored) else len(self.rows(held))
        return self.builder.constant(size)

    def item_at(self, held: Any, index: Value) -> Any:
        """The item of a sequence at an index that is in range."""
        if isinstance(held, Stored):
            return self.part(held, [index])
        if isinstance(held, Ints):
            return held.range.at(self.builder, index)
        if isinstance(held, Zipped):
            return tuple([self.item_at(part, index) for part in held.parts])
        if isinstance(held, Table):
            return self.row(held.columns, index)
        return self.part(held, [index])

    def ints(self, held: Ints) -> list[Any]:
        """The ints of a range, which must be known."""
        numbers = held.range.numbers(self.builder)
        if numbers is None or len(numbers) > MAX_ELEMENTS:
            raise NotCompiled("a long range, or one that isn't known, is no list here")
        return list(map(self.builder.constant, numbers))

    def part(self, held: Any, steps: Sequence[Step]) -> Any:
        """The part of a list or an array at an index."""
        if not steps:
            return held
        held = self.present(held)
        if isinstance(held, ListOrArray):
            return self.in_forms(held, lambda form: self.whole(self.part(form, steps)))
        if isinstance(held, Table):
            return self.part_of_table(held, steps)
        if isinstance(held, Array) and has_arrays(steps):
            held = self.packed(held)
        if isinstance(held, Stored):
            found = self.stored_part(held, steps)
            return self.as_list(found) if held.listed else found
        step, *rest = steps
        if isinstance(step, slice):
            if type(held) is tuple:
                return self.part(self.as_array(held), steps) if rest else held[step]
            return self.rows_of(held, step, rest)
        if isinstance(step, Array | Stored):
            raise NotCompiled("items of a list at indices of an array are not compiled")
        row = self.known(self.chosen(self.rows(held), step, isinstance(held, Array)))
        return self.part(row, rest)

    def as_list(self, held: Any) -> Any:
        """A part of a list that was read as an array, as a list again."""
        if isinstance(held, Pending) and held.size > MAX_ELEMENTS:
            return Stored(self.made(held, listed=True))
        if isinstance(held, Pending):
            held = self.unpacked(held)
        if not isinstance(held, Array):
            return held
        return tuple([self.as_list(row) for row in self.rows(held)])

    def rows_of(self, held: Any, step: slice, rest: Sequence[Step]) -> Array:
        """Several rows of an array, or parts of them."""
        picked = self.rows(held)[step]
        if not picked:
            shape = (0, *_shape_of_part(held.shape[1:], rest))
            return Array(shape, (), held.type, source=held.items[0] if held.items else held.source)
        found: Array = self.stacked(tuple([self.part(row, rest) for row in picked]))
        return found

    def chosen(self, items: list[Any], at: Value, in_array: bool) -> Any:
        """The item at an index. As in the interpreter, an element of an array depends on all
        elements, the item of a list on nothing but itself."""
        known = self.known_index(at, len(items))
        if known is not None:
            return items[known]
        self.verify_not_counted(at)
        at = self.counted_from_0(at, len(items))

        def among(low: int, high: int) -> Any:
            if high == low + 1:
                return items[low]
            middle = (low + high) // 2
            is_low = self.builder.apply("lt", [at, self.builder.constant(middle)])
            if in_array:
                return self.selected(is_low, among(low, middle), among(middle, high))
            return self.either(is_low, lambda: among(low, middle), lambda: among(middle, high))

        return among(0, len(items))

    def known_index(self, at: Value, n: int) -> int | None:
        """An index into `n` items, if it is known. Raises Fails where it is out of range."""
        known: int | None = self.builder.known.get(at)
        if not (n if known is None else -n <= known < n):
            raise Fails("this index is out of range")
        return known

    def verify_not_counted(self, at: Value) -> None:
        """Raises Picks if single iterations of loops would know the index."""
        if nodes := self.counting(at):
            raise Picks(nodes)

    def selected(self, condition: Value, a: Any, b: Any) -> Any:
        """One of two elements or rows of an array."""
        if not isinstance(a, Array):
            return self.builder.apply("where", [condition, a, b])
        pairs = zip(a.items, b.items, strict=True)
        items = [self.builder.apply("where", [condition, *pair]) for pair in pairs]
        self.count(len(items))
        return Array(a.shape, tuple(items), a.type)

    # ---- writing ---------------------------------------------------------------------------------

    def replaced(self, held: Any, path: Sequence[Path], value: Any) -> Any:
        """A list, a dict or an array with another value at the end of a path."""
        held = self.present(held)
        if isinstance(held, ListOrArray):
            return self.in_forms(held, lambda form: self.replaced(form, path, value))
        held = self.changed_in_memory(held, path, value)
        step, *rest = self.together(held, path)
        if rest:
            value = self.replaced(self.entry(held, step), rest, value)
        if isinstance(step, Key):
            return self.with_item(held, step, value)
        return self.with_part(held, step, value)

    def with_part(self, held: Any, steps: Sequence[Step], value: Any) -> Any:
        if not steps:
            return value
        step, *rest = steps
        if isinstance(held, Array | Stored) and held.variable:
            raise NotCompiled("this array is a variable, or may be")
        if isinstance(held, Table):
            return self.table_with(held, steps, value)
        if isinstance(held, Stored) and held.listed:
            return self.list_with(held, steps, value)
        if isinstance(held, Stored):
            return self.stored_with(held, steps, value)
        if isinstance(held, Array):
            return self.array_with(held, steps, self.as_array(value), tie=True)
        if not isinstance(step, Value):
            raise NotCompiled("an index into a list must be an int")
        items = self.rows(held)

        def put(item: Any) -> Any:
            return self.with_part(item, rest, value)

        return tuple(self.put_at(items, step, put, self.one_of))

    def put_at(
        self,
        items: list[Any],
        at: Value,
        put: Callable[[Any], Any],
        choose: Callable[[Value, Any, Any], Any],
    ) -> list[Any]:
        """The items, with the one at an index replaced by what `put` returns for it."""
        known = self.known_index(at, len(items))
        if known is not None:
            items[known] = put(items[known])
            return items
        self.verify_not_counted(at)
        at, builder = self.counted_from_0(at, len(items)), self.builder
        found = []
        for k, item in enumerate(items):
            is_here = builder.apply("eq", [at, builder.constant(k)])
            found.append(choose(is_here, put(item), item))
        return found

    def array_with(self, held: Any, steps: Sequence[Step], value: Any, tie: bool = False) -> Any:
        """An array, a row or an element with another value at an index into it. `tie`: the other
        elements depend on the value, too."""
        if not steps:
            return self.fitted(value, held)
        step, *rest = steps
        rows = self.rows(held)
        if isinstance(step, Array | Stored):
            raise NotCompiled("a change at an array of indices is not compiled")
        if isinstance(step, slice):
            places = range(len(rows))[step]
            each = self.rows(value) if isinstance(value, Array) else [value] * len(places)
            if len(each) != len(places):
                raise NotCompiled("a value that is broadcast into a part is not compiled")
            for k, row in zip(places, each, strict=True):
                rows[k] = self.array_with(rows[k], rest, row)
        else:
            rows = self.put_at(
                rows, step, lambda row: self.array_with(row, rest, value), self.selected
            )
        items = [item for row in rows for item in (row.items if isinstance(row, Array) else [row])]
        if tie:
            new = [a for a, b in zip(items, held.items, strict=True) if a is not b]
            if not new and isinstance(value, Array) and value.source is not None:
                new = [value.source]
            items = (
                [self.beside(a, new[-1]) if a in held.items else a for a in items] if new else items
            )
        return Array(held.shape, tuple(items), held.type)

    def fitted(self, value: Any, held: Any) -> Any:
        """A value in the shape and type of the element or the row that it replaces."""
        if isinstance(held, Array) and not isinstance(value, Array):
            value = Array(held.shape, (value,) * len(held.items), held.type)
        if isinstance(held, Array):
            if value.shape != held.shape:
                raise NotCompiled("a value that is broadcast into a part is not compiled")
            pairs = zip(value.items, held.items, strict=True)
            items = [self.fitted(new, old) for new, old in pairs]
            return Array(held.shape, tuple(items), held.type)
        if isinstance(value, Array):
            raise NotCompiled("an array is no element of an array")
        if not is_float(held.type) and (isinstance(value, Mixed) or is_float(value.type)):
            raise NotCompiled("a float doesn't fit into an array of ints")
        if held.type == BOOL and value.type != BOOL:
            raise NotCompiled("an int doesn't fit into an array of bools")
        return self.beside(self.as_type(value, held.type), held)


def _shape_of_part(shape: Sequence[int], steps: Sequence[Step]) -> list[int]:
    """The shape of the part to which steps lead."""
    ranges = [range(n)[step] for n, step in zip(shape, steps, strict=False) if type(step) is slice]
    return [*map(len, ranges), *shape[len(steps) :]]


def _is_step(item: Item) -> TypeGuard[Step]:
    return item is not ... and item is not NEW_AXIS


def _is_expression(item: Any) -> bool:
    """Whether what stands in the brackets of an index is an expression that may give one."""
    return not isinstance(item, program.Slice | program.EllipsisItem | program.Constant) or (
        isinstance(item, program.Constant) and item.value is not None
    )
