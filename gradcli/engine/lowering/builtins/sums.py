"""The sum of the first elements of an array, whose number isn't known, in NumPy's order: by halves,
down to blocks of `BLOCK` numbers, and in a block `LANES` numbers at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.builder import Builder
from ...ir.instructions import BLOCK, LANES, Block, Call, For, Region, Value
from ...ir.types import I64, ArrayType


def summing(kind: ArrayType, name: str) -> Region:
    """A region that takes an array of floats, a place, and a number `n`, at least 1. It gives the
    sum of `n` elements from the place on. It calls itself by its name."""
    array, first, n = Value(kind), Value(I64), Value(I64)
    block = Block((array, first, n))
    adding = _Adding(block, array, name)
    with adding.builder.inside(block):
        block.results = (adding.sum(first, n),)
    return Region(name, block)


class _Adding:
    """Adds up elements of an array."""

    def __init__(self, block: Block, array: Value, name: str) -> None:
        self.builder, self.array, self.name = Builder(block), array, name

    def sum(self, first: Value, n: Value) -> Value:
        return self.either(
            self.builder.apply("gt", [n, self.builder.constant(BLOCK)]),
            lambda: self.halves(first, n),
            lambda: self.either(
                self.builder.apply("lt", [n, self.builder.constant(LANES)]),
                lambda: self.in_order(self.element(first), first, self.builder.constant(1), n),
                lambda: self.in_lanes(first, n),
            ),
        )

    def either(
        self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]
    ) -> Value:
        sides = []
        for side in (then, otherwise):
            with self.builder.inside(Block()) as block:
                block.results = (side(),)
            sides.append(block)
        return self.builder.branch(condition, *sides)[0]

    def halves(self, first: Value, n: Value) -> Value:
        half = self.lanes_in(self.builder.apply("floordiv", [n, self.builder.constant(2)]))
        rest = self.builder.apply("sub", [n, half])
        second = self.builder.apply("add", [first, half])
        parts = [self.called(first, half), self.called(second, rest)]
        return self.builder.apply("add", parts)

    def called(self, first: Value, n: Value) -> Value:
        result = Value(self.array.array_type.element)
        self.builder.add(Call(self.name, (self.array, first, n), (result,)))
        return result

    def lanes_in(self, n: Value) -> Value:
        """The largest multiple of `LANES` up to a number."""
        lanes = self.builder.constant(LANES)
        return self.builder.apply("mul", [self.builder.apply("floordiv", [n, lanes]), lanes])

    def in_lanes(self, first: Value, n: Value) -> Value:
        apply, constant = self.builder.apply, self.builder.constant
        rows = apply("floordiv", [n, constant(LANES)])
        starts = [apply("add", [first, constant(lane)]) for lane in range(LANES)]

        def more(row: Value, totals: Sequence[Value]) -> list[Value]:
            further = apply("mul", [apply("add", [row, constant(1)]), constant(LANES)])
            return [
                apply("add", [total, self.element(apply("add", [start, further]))])
                for total, start in zip(totals, starts, strict=True)
            ]

        others = apply("sub", [rows, constant(1)])
        r = self.loop(others, list(map(self.element, starts)), more)
        while len(r) > 1:
            r = [apply("add", r[k : k + 2]) for k in range(0, len(r), 2)]
        return self.in_order(r[0], first, self.lanes_in(n), n)

    def in_order(self, total: Value, first: Value, begin: Value, n: Value) -> Value:
        """A sum, with the elements from `begin` up to `n` added one by one."""
        apply = self.builder.apply
        start = apply("add", [first, begin])

        def more(k: Value, totals: Sequence[Value]) -> list[Value]:
            return [apply("add", [totals[0], self.element(apply("add", [start, k]))])]

        return self.loop(apply("sub", [n, begin]), [total], more)[0]

    def element(self, place: Value) -> Value:
        return self.builder.element(self.array, place)

    def loop(
        self,
        count: Value,
        initial: Sequence[Value],
        iteration: Callable[[Value, Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        index, carried = Value(I64), [Value(value.type) for value in initial]
        with self.builder.inside(Block((index, *carried))) as body:
            body.results = tuple(iteration(index, carried))
        results = [Value(value.type) for value in initial]
        self.builder.add(For(count, tuple(initial), body, tuple(results)))
        return results
