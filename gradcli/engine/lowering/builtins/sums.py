"""The sum of the first elements of an array, whose number isn't known, in NumPy's order: by halves,
down to blocks of `BLOCK` numbers, and in a block `LANES` numbers at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.builder import Builder
from ...ir.instructions import BLOCK, LANES, Block, Call, Region, Value
from ...ir.numbers import Numbers
from ...ir.types import I64, ArrayType


def summing(kind: ArrayType, name: str) -> Region:
    """A region that takes an array of floats, a place, and a number `n`, at least 1. It gives the
    sum of `n` elements from the place on. It calls itself by its name."""
    array, first, n = Value(kind), Value(I64), Value(I64)
    block = Block((array, first, n))
    adding = _Adding(block, array, name)
    with adding.builder.inside(block):
        block.results = (adding.m.formula(adding.sum)(first, n),)
    return Region(name, block)


class _Adding:
    """Adds up elements of an array. Places and numbers of elements are operands of formulas."""

    def __init__(self, block: Block, array: Value, name: str) -> None:
        self.builder, self.array, self.name = Builder(block), array, name
        self.m = Numbers(self.builder)

    def sum(self, first: Any, n: Any) -> Any:
        return self.either(
            n > BLOCK,
            lambda: self.halves(first, n),
            lambda: self.either(
                n < LANES,
                lambda: self.in_order(self.element(first), first, self.builder.constant(1), n),
                lambda: self.in_lanes(first, n),
            ),
        )

    def either(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        sides = []
        for side in (then, otherwise):
            with self.builder.inside(Block()) as block:
                block.results = (self.m.value(side()),)
            sides.append(block)
        return self.m.number(self.builder.branch(self.m.value(condition), *sides)[0])

    def halves(self, first: Any, n: Any) -> Any:
        half = self.lanes_in(n // 2)
        rest, second = n - half, first + half
        return self.called(first, half) + self.called(second, rest)

    def called(self, first: Any, n: Any) -> Any:
        result = Value(self.array.array_type.element)
        self.builder.add(Call(self.name, (self.array, first.v, n.v), (result,)))
        return self.m.number(result)

    def lanes_in(self, n: Any) -> Any:
        """The largest multiple of `LANES` up to a number."""
        lanes = self.builder.constant(LANES)
        return n // lanes * lanes

    def in_lanes(self, first: Any, n: Any) -> Any:
        rows = n // LANES
        starts = [first + lane for lane in range(LANES)]

        def more(row: Any, totals: Sequence[Any]) -> list[Any]:
            further = (row + 1) * LANES
            pairs = zip(totals, starts, strict=True)
            return [total + self.element(start + further) for total, start in pairs]

        others = rows - 1
        r = self.loop(others, list(map(self.element, starts)), more)
        while len(r) > 1:
            r = [a + b for a, b in zip(r[::2], r[1::2], strict=True)]
        return self.in_order(r[0], first, self.lanes_in(n), n)

    def in_order(self, total: Any, first: Any, begin: Any, n: Any) -> Any:
        """A sum, with the elements from `begin` up to `n` added one by one."""
        start = first + begin

        def more(k: Any, totals: Sequence[Any]) -> list[Any]:
            return [totals[0] + self.element(start + k)]

        return self.loop(n - begin, [total], more)[0]

    def element(self, place: Any) -> Any:
        return self.m.number(self.builder.element(self.array, place.v))

    def loop(
        self, count: Any, initial: Sequence[Any], iteration: Callable[[Any, Sequence[Any]], Any]
    ) -> list[Any]:
        def body(index: Value, carried: Sequence[Value]) -> list[Value]:
            totals = iteration(self.m.number(index), list(map(self.m.number, carried)))
            return [total.v for total in totals]

        found = self.builder.loop(count.v, [operand.v for operand in initial], body)
        return list(map(self.m.number, found))
