"""Plain products in place of strict ones. A strict product is 0 where one factor is 0 and the other
is infinite or nan, where a plain one is nan. To look for that takes longer than to multiply. So a
region is tried with plain products first, and steps back where one of them is nan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ops import OPS
from ..ir.builder import Builder
from ..ir.instructions import (
    Block,
    Call,
    Check,
    Each,
    Instruction,
    Operation,
    Region,
    Value,
    blocks_of,
    every,
)
from ..ir.types import ArrayType, Type
from .copying import rebuilt

MUL, STRICT_MUL = OPS["mul"], OPS["strict_mul"]
LONG = 16  # points along the last axis of an `each`
# Operations that give nan if an operand is nan. A strict product does once it is a plain one.
_KEEPING = {"add", "sub", "mul", "div", "neg", "abs", "square", "sqrt", "exp", "log", "sin", "cos"}
_KEEPING |= {"strict_mul"}


def has_strict_products(region: Region) -> bool:
    """Whether a region has strict products."""
    return any(made.op is STRICT_MUL for made in every(region.block) if isinstance(made, Operation))


def with_plain_products(region: Region) -> Region:
    """The region with plain products. It steps back where one is nan, before that decides what a
    loop or a branch does. Otherwise it gives the results of the region."""
    return Region(region.name, _plain(region.block))


def _plain(block: Block) -> Block:
    products = _Products(block)
    products.verify()
    return products.block


class _Products:
    """Rebuilds the instructions of a block with plain products.

    following  the products, and what is nan if one of them is, since something was verified
    open       those of which no other one follows
    """

    def __init__(self, block: Block) -> None:
        self.block = Block(block.parameters, [], block.results)
        self.builder = Builder(self.block)
        self.following: set[Value] = set()
        self.open: dict[Value, None] = {}
        for made in block.instructions:
            if isinstance(made, Operation):
                self.operation(made)
            elif isinstance(made, Each):
                self.each(made)
            elif isinstance(made, Call) or any(blocks_of(made)):
                self.verify()
                self.add(made, list(map(_plain, blocks_of(made))))
            else:
                self.builder.add(made)

    def add(self, made: Instruction, blocks: Sequence[Block]) -> None:
        self.builder.add(rebuilt(made, made.operands, made.results, blocks))

    def operation(self, made: Operation) -> None:
        before = self.following.intersection(made.operands) if made.op.name in _KEEPING else set()
        if made.op is STRICT_MUL or before:
            self.follows(made.result)
        if made.op is STRICT_MUL:
            made = Operation(MUL, made.operands, made.result, made.span)
        for value in before:
            self.open.pop(value, None)
        self.builder.add(made)

    def follows(self, value: Value) -> None:
        self.following.add(value)
        self.open[value] = None

    def each(self, made: Each) -> None:
        """An `each`. A total is nan if a number is that was added to it."""
        products = _Products(made.body)
        totals: dict[Value, None] = {}
        for way, (number, _), result in zip(made.ways, made.given, made.results, strict=True):
            if way == "add" and number in products.open:
                del products.open[number]
                totals[result] = None
        if products.open and not _pays(made):
            self.builder.add(made)
            return
        products.verify()
        self.add(made, [products.block])
        for total in totals:
            self.follows(self.sum(total))

    def sum(self, total: Value) -> Value:
        """A number that is nan if some number of a total is."""
        if not isinstance(total.type, ArrayType):
            return total
        kind, builder = total.type, self.builder
        first = builder.zero(kind.element)
        [found] = builder.each(
            (kind.size,), [("add", first)], lambda at: [builder.element(total, at[0])]
        )
        return found

    def verify(self) -> None:
        """Steps back where an open value is nan."""
        for group in _by_type(self.open):
            while len(group) > 1:
                pairs = zip(group[::2], group[1::2], strict=False)
                sums = [self.builder.apply("add", pair) for pair in pairs]
                group = [*sums, *group[2 * len(sums) :]]
            self.builder.add(Check(self.builder.apply("eq", [*group, *group])))
        self.open.clear()
        self.following.clear()


def _pays(made: Each) -> bool:
    """Whether plain products make an `each` quicker if each point looks for nan. That costs as much
    as a strict product, and more along a short last axis."""
    products = [m for m in every(made.body) if isinstance(m, Operation) and m.op is STRICT_MUL]
    return len(products) > 1 and made.shape[-1] >= LONG


def _by_type(values: Iterable[Value]) -> list[list[Value]]:
    groups: dict[Type, list[Value]] = {}
    for value in values:
        groups.setdefault(value.type, []).append(value)
    return [*groups.values()]
