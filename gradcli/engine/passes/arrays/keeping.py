"""Keeping: a function that two `each` over the same points compute is put into an array by the
first one, and the second one reads it there. That takes memory, but less time than the function. No
number changes."""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.instructions import (
    Block,
    Each,
    Element,
    Instruction,
    Operation,
    Region,
    Room,
    Value,
    every,
)
from ...ir.types import ArrayType, Scalar, strides
from ..common_subexpressions import key_of, numbered
from ..copying import with_blocks
from ..derivatives.recording import is_function

MOST = 2**22  # elements of an array that is kept


def keep(region: Region) -> Region:
    """The region with such arrays. It must not be differentiated any more."""
    if sum([isinstance(made, Each) for made in every(region.block)]) < 2:
        return region
    return Region(region.name, _block(region.block))


def _block(block: Block) -> Block:
    keeping = _Keeping()
    made = [keeping.instruction(each) for each in block.instructions]
    instructions = [each for one in made for each in keeping.with_arrays(one)]
    return Block(block.parameters, instructions, block.results)


class _Keeping:
    """Finds the functions that several `each` of a block compute.

    numbers  of expressions, by their keys: equal expressions have equal numbers
    first    the first `each` that computes a function, and the result in its body, by points and
             number
    arrays   for an `each` that keeps results of its body, the arrays by these results
    """

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}
        self.first: dict[object, tuple[Each, Value]] = {}
        self.arrays: dict[Each, dict[Value, Value]] = {}

    def instruction(self, made: Instruction) -> Instruction:
        """An instruction that computes nothing that an earlier one has computed."""
        if not isinstance(made, Each):
            return with_blocks(made, _block)
        keys = self.keys(made)
        again = {value: self.first[key] for value, key in keys.items() if key in self.first}
        if again:
            made = self.reading(made, again)
        for value, key in keys.items():
            self.first.setdefault(key, (made, value))
        return made

    def keys(self, made: Each) -> dict[Value, object]:
        """Keys for the functions that an `each` computes, by their results: equal for equal
        functions."""
        if made.size > MOST:
            return {}
        numbers = numbered(made, self.numbers)
        return {
            inner.result: (made.shape, numbers[inner.result])
            for inner in made.body.instructions
            if isinstance(inner, Operation) and is_function(inner)
        }

    def reading(self, made: Each, again: dict[Value, tuple[Each, Value]]) -> Each:
        """An `each` that reads the values `again`, and computes only what it needs besides."""
        body = Block(made.body.parameters, [], made.body.results)
        builder = Builder(body)
        with builder.inside(body):
            place = builder.place(body.parameters, strides(made.shape))
        needed, kept = {*body.results}, list[Instruction]()
        for inner in reversed(made.body.instructions):
            if key_of(inner) is not None and inner.results[0] not in needed:
                continue
            if inner.results and inner.results[0] in again:
                inner = Element(self.array(*again[inner.results[0]]), place, inner.results[0])
            needed.update(inner.operands)
            kept.append(inner)
        body.instructions += reversed(kept)
        return Each(made.shape, made.initial, made.ways, body, made.results)

    def array(self, made: Each, value: Value) -> Value:
        """The array in which an `each` keeps a result of its body."""
        assert isinstance(value.type, Scalar)
        kept = self.arrays.setdefault(made, {})
        return kept.setdefault(value, Value(ArrayType(value.type, made.shape)))

    def with_arrays(self, made: Instruction) -> list[Instruction]:
        """An instruction and the arrays in which it keeps results."""
        kept = self.arrays.get(made) if isinstance(made, Each) else None
        if not isinstance(made, Each) or not kept:
            return [made]
        body = Block(made.body.parameters, [*made.body.instructions])
        builder = Builder(body)
        with builder.inside(body):
            place = builder.place(body.parameters, strides(made.shape))
        body.results = (*made.body.results, *[each for value in kept for each in (value, place)])
        rooms = [Room(Value(array.type)) for array in kept.values()]
        whole = Each(
            made.shape,
            (*made.initial, *[room.result for room in rooms]),
            (*made.ways, *["put"] * len(kept)),
            body,
            (*made.results, *kept.values()),
        )
        return [*rooms, whole]
