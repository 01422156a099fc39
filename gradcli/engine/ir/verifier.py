"""The rules that every region keeps: values are defined once and before they are used, and types
fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from .instructions import (
    WAYS,
    Affine,
    Block,
    Branch,
    Call,
    Cast,
    Check,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Free,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Region,
    Room,
    Structural,
    Value,
    While,
    blocks_of,
    every,
    is_point,
)
from .scalars import CHOICES, on_scalars, result_type
from .structural import Refused, gives
from .tokens import IRError
from .types import BOOL, FLOATS, I64, STACK, ArrayType, Scalar, Type, is_float

_LITERALS: dict[Scalar, tuple[type, ...]] = {
    BOOL: (bool,),
    I64: (int,),
    **dict.fromkeys(FLOATS, (float,)),
}


def verify(regions: Sequence[Region]) -> None:
    """Raises IRError for the first rule that regions, which may call each other, break."""
    known = {region.name: region for region in regions}
    if len(known) < len(regions):
        raise IRError("two regions have one name")
    for region in regions:
        verifier = _Verifier(region.name, known)
        verifier.block(region.block, set())
        verifier.given_back(region.block)


class _Verifier:
    def __init__(self, name: str, regions: Mapping[str, Region]) -> None:
        self.name, self.regions = name, regions
        self.defined: set[int] = set()

    def fail(self, message: str) -> NoReturn:
        raise IRError(f"region {self.name}: {message}")

    def define(self, values: Sequence[Value], visible: set[int]) -> None:
        for value in values:
            if id(value) in self.defined:
                self.fail("a value is defined twice")
            self.defined.add(id(value))
            visible.add(id(value))

    def block(self, block: Block, visible: set[int]) -> None:
        visible = set(visible)
        self.define(block.parameters, visible)
        for instruction in block.instructions:
            self.visible(instruction.operands, visible, type(instruction).__name__)
            self.types(instruction)
            for inner in blocks_of(instruction):
                self.block(inner, visible)
            self.define(instruction.results, visible)
        self.visible(block.results, visible, "the end of a block")

    def given_back(self, block: Block) -> None:
        """Verifies that a region returns the stacks that it takes, in the same order, and no
        others."""
        same: dict[Value, Value] = {}  # what each stack was before a push, a pop, a loop or a call
        for made in every(block):
            if isinstance(made, Push | Pop):
                same[made.result] = made.stack
            elif isinstance(made, Branch):
                same.update(_stacks(made.results, made.then.results))
            elif isinstance(made, While | For):
                same.update(_stacks(made.results, made.initial))
                same.update(_stacks(made.carried, made.initial))
            elif isinstance(made, Call):
                stacks = (
                    [v for v in vs if v.type == STACK] for vs in (made.results, made.operands)
                )
                same.update(zip(*stacks, strict=True))
        found = [value for value in block.results if value.type == STACK]
        for k, value in enumerate(found):
            while value in same:
                value = same[value]
            found[k] = value
        if found != [value for value in block.parameters if value.type == STACK]:
            self.fail("it doesn't give back the stacks that it takes")

    def visible(self, values: Sequence[Value], visible: set[int], where: str) -> None:
        if any(id(value) not in visible for value in values):
            self.fail(f"{where} uses a value that isn't defined before it")

    def match(self, what: str, given: Sequence[Value], wanted: Sequence[Value]) -> None:
        if _types(given) != _types(wanted):
            found, expected = _listed(given), _listed(wanted)
            self.fail(f"{what} has the types ({found}), and ({expected}) are expected")

    def types(self, made: Instruction) -> None:
        if isinstance(made, Constant):
            kind = made.result.type
            if not isinstance(kind, Scalar) or type(made.value) not in _LITERALS[kind]:
                self.fail(f"{made.value!r} is no constant of type {kind}")
        elif isinstance(made, Cast):
            if not isinstance(made.operand.type, Scalar) or made.result.type == BOOL:
                self.fail(f"{made.operand.type} can't be cast to {made.result.type}")
        elif isinstance(made, Operation):
            self.operation(made)
        elif isinstance(made, NewStack):
            self.stack(made.result)
        elif isinstance(made, Push | Pop):
            self.stack(made.stack, made.result)
            for value in made.entry:
                if value.type == STACK:
                    self.fail(f"a {value.type} is no entry of a stack")
        elif isinstance(made, Affine):
            if len(made.steps) != len(made.operands):
                self.fail("a place has a step for each int")
            for value in (*made.operands, made.result):
                self.index(value)
        elif isinstance(made, Room):
            self.array(made.result)
        elif isinstance(made, Product):
            self.product(made)
        elif isinstance(made, Structural):
            self.structural(made)
        elif isinstance(made, Each):
            self.each(made)
        elif isinstance(made, NewArray):
            self.array(made.result, made.number)
        elif isinstance(made, Element):
            self.array(made.array, made.result, place=made.place)
        elif isinstance(made, Put):
            self.array(made.array, made.number, place=made.place)
            self.match("an array that is changed", (made.result,), (made.array,))
        elif isinstance(made, Copy):
            self.array(made.array)
            self.match("a copy", (made.result,), (made.array,))
        elif isinstance(made, Free):
            self.array(made.array)
        elif isinstance(made, Check):
            self.condition(made.condition)
        elif isinstance(made, Branch):
            self.condition(made.condition)
            self.match("`else`", made.otherwise.results, made.then.results)
            self.match("a branch", made.results, made.then.results)
        elif isinstance(made, While):
            if len(made.condition.results) != 1:
                self.fail("the condition of a loop gives one bool")
            self.condition(made.condition.results[0])
            self.match("the condition of a loop", made.condition.parameters, made.initial)
            self.match("the body of a loop", made.body.parameters, made.initial)
            self.match("an iteration", made.body.results, made.initial)
            self.match("a loop", made.results, made.initial)
        elif isinstance(made, For):
            if made.count.type != I64:
                self.fail("a loop counts in ints")
            self.match("the body of a loop", made.body.parameters[1:], made.initial)
            self.match("an iteration", made.body.results, made.initial)
            self.match("a loop", made.results, made.initial)
        elif isinstance(made, Call):
            called = self.regions.get(made.region)
            if called is None:
                self.fail(f"there is no region {made.region}")
            else:
                self.match(f"a call of {made.region}", made.operands, called.block.parameters)
                self.match(f"the result of {made.region}", made.results, called.block.results)

    def stack(self, *values: Value) -> None:
        for value in values:
            if value.type != STACK:
                self.fail(f"{value.type} is no stack")

    def array(self, array: Value, *numbers: Value, place: Value | None = None) -> None:
        """Verifies an array, numbers of its type, and a place in it."""
        kind = array.type
        if not isinstance(kind, ArrayType):
            self.fail(f"{kind} is no array")
            return
        for number in numbers:
            if number.type != kind.element:
                self.fail(f"{number.type} is no element of {kind}")
        if place is not None:
            self.index(place)

    def index(self, value: Value) -> None:
        if value.type != I64:
            self.fail("a place in an array is an int")

    def product(self, made: Product) -> None:
        count, m, k, n = made.sizes
        pairs = zip((made.left, made.right, made.result), (m * k, k * n, m * n), strict=True)
        for value, each in pairs:
            kind, size = value.type, count * each
            if not (isinstance(kind, ArrayType) and is_float(kind.element) and kind.size == size):
                self.fail(f"{kind} is no factor, or no product, of {size} floats")

    def structural(self, made: Structural) -> None:
        try:
            wanted = gives(made.applied)
        except Refused as reason:
            self.fail(f"`{made.op.name}`: {reason}")
        if _types(made.results) != list(wanted):
            self.fail(f"`{made.op.name}` gives ({', '.join(map(str, wanted))})")

    def each(self, made: Each) -> None:
        body, places = made.body, [isinstance(v.type, ArrayType) for v in made.initial]
        self.match("an `each`", made.results, made.initial)
        if [p.type for p in body.parameters] != [I64] * len(made.shape):
            self.fail("an `each` has an index for each axis")
        if len(made.ways) != len(made.initial) or not set(made.ways) <= set(WAYS):
            self.fail("an `each` combines each of its values in a way that there is")
        if len(body.results) != len(places) + sum(places):
            self.fail("an `each` gives a number for each value, and for an array a place")
            return
        for (number, place), first in zip(made.given, made.initial, strict=True):
            if place is None:
                self.match("a number of an `each`", (number,), (first,))
            else:
                self.array(first, number, place=place)
        if not is_point(body):
            self.fail("the body of an `each` is no straight code")

    def condition(self, value: Value) -> None:
        if value.type != BOOL:
            self.fail(f"a condition is a bool, and this is {value.type}")

    def operation(self, made: Operation) -> None:
        op, operands = made.op, list(made.operands)
        if not on_scalars(op):
            self.fail(f"`{op.name}` isn't elementwise")
        if len(operands) != len(op.signature.operands):
            self.fail(f"`{op.name}` takes {len(op.signature.operands)} operands")
        if op in CHOICES:
            self.condition(operands.pop(0))
        if len(set(_types(operands))) != 1:
            self.fail(f"`{op.name}` has operands of several types: {_listed(operands)}")
        wanted = result_type(op, operands[0].type)
        if made.result.type != wanted:
            self.fail(f"`{op.name}` gives {wanted}, not {made.result.type}")


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


def _stacks(to: Sequence[Value], values: Sequence[Value]) -> list[tuple[Value, Value]]:
    return [(a, b) for a, b in zip(to, values, strict=True) if a.type == STACK]


def _listed(values: Sequence[Value]) -> str:
    return ", ".join([str(value.type) for value in values])
