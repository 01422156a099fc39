"""What a `for` loop goes over in IR: ints, or the items of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ....structs import Entity
from ...ir.builder import Builder
from ...ir.instructions import Value


class Range(NamedTuple):
    """The ints of a range: `size` of them from `start` on, `step` apart."""

    start: Value
    step: Value
    size: Value

    def at(self, builder: Builder, index: Value) -> Value:
        """The int at an index."""
        known = builder.known
        if known.get(self.step) != 1:
            index = builder.apply("mul", [index, self.step])
        if known.get(self.start) == 0:
            return index
        return builder.apply("add", [self.start, index])

    def is_natural(self, builder: Builder) -> bool:
        """Whether all its ints are known not to be negative."""
        start, step = builder.known.get(self.start), builder.known.get(self.step)
        return start is not None and step is not None and start >= 0 and step > 0

    def numbers(self, builder: Builder) -> range | None:
        """The ints, if they are known."""
        start, step, size = [builder.known.get(v) for v in (self.start, self.step, self.size)]
        if start is None or step is None or size is None:
            return None
        return range(start, start + max(size, 0) * step, step)

    def rest(self, builder: Builder) -> Range:
        """The range without its first int."""
        start = builder.apply("add", [self.start, self.step])
        return Range(start, self.step, difference(builder, self.size, builder.constant(1)))


class Ints(Entity):
    """A range as a value."""

    range: Range


class Zipped(Entity):
    """Sequences side by side as a value, up to the end of the shortest."""

    parts: tuple[Any, ...]


class Items(NamedTuple):
    """The elements or rows of an array that a loop goes over: `size` of them, from the index
    `start` on. `read` gives the one at an index."""

    read: Callable[[Value], Any]
    start: Value
    size: Value

    def at(self, builder: Builder, index: Value) -> Any:
        """The item at an index, from `start`."""
        if builder.known.get(self.start) != 0:
            index = builder.apply("add", [self.start, index])
        return self.read(index)

    def rest(self, builder: Builder) -> Items:
        """The items without the first one."""
        one = builder.constant(1)
        start = builder.apply("add", [self.start, one])
        return Items(self.read, start, difference(builder, self.size, one))


Over: TypeAlias = Range | Items


def difference(builder: Builder, a: Value, b: Value) -> Value:
    """`a - b`, for ints."""
    return a if builder.known.get(b) == 0 else builder.apply("sub", [a, b])
