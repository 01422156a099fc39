"""Values, instructions, blocks and regions.

A value is defined once, by an instruction or as a parameter of a block, and compared by identity.
Branches and loops hold blocks, and get their results from those of the blocks; a block may use the
values of the blocks around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from ...diagnostics import Span
from ...ops.op import Op
from ...structs import Entity
from .structural import Structural as Structural
from .types import ArrayType
from .values import BaseInstruction
from .values import Value as Value


class Block(Entity, frozen=False):
    """Instructions in order, from the values of `parameters` to those of `results`."""

    parameters: tuple[Value, ...]
    instructions: list[Instruction]
    results: tuple[Value, ...]

    def __init__(
        self,
        parameters: tuple[Value, ...] = (),
        instructions: list[Instruction] | None = None,
        results: tuple[Value, ...] = (),
    ) -> None:
        self.parameters, self.results = parameters, results
        self.instructions = [] if instructions is None else instructions


class Region(Entity, frozen=False):
    """A block that is compiled as a whole, with a name that other regions call it by."""

    name: str
    block: Block


class Constant(BaseInstruction, frozen=False):
    """A number or a bool of the text."""

    value: Any
    result: Value


class Cast(BaseInstruction, frozen=False):
    """A number as one of another type: an int or a bool as a float, a bool as an int."""

    TAKES = ("operand",)

    operand: Value
    result: Value


class Operation(BaseInstruction, frozen=False):
    """An entry of the table, applied at a place of the program. All its operands are of one type,
    but for the condition of `where`."""

    TAKES = ("*operands",)

    op: Op
    operands: tuple[Value, ...]
    result: Value
    span: Span | None = None


class NewStack(BaseInstruction, frozen=False):
    """A stack with nothing on it."""

    result: Value


class Push(BaseInstruction, frozen=False):
    """A stack with one more entry: some scalars and copies of arrays."""

    TAKES = ("stack", "*entry")

    stack: Value
    entry: tuple[Value, ...]
    result: Value


class Pop(BaseInstruction, frozen=False):
    """The last entry of a stack, and the stack without it."""

    TAKES = ("stack",)
    GIVES = ("result", "*entry")

    stack: Value
    entry: tuple[Value, ...]
    result: Value


class NewArray(BaseInstruction, frozen=False):
    """An array with one number in all its places."""

    TAKES = ("number",)

    number: Value
    result: Value


class Room(BaseInstruction, frozen=False):
    """An array whose elements have no numbers yet. Each element gets one before it is read."""

    result: Value


class Affine(BaseInstruction, frozen=False):
    """A place in an array: `offset` and the operands, each times a known step, added up. It is
    always inside the array, so it isn't checked."""

    TAKES = ("*operands",)

    operands: tuple[Value, ...]
    steps: tuple[int, ...]
    offset: int
    result: Value


class Element(BaseInstruction, frozen=False):
    """The element of an array at a place that it has, counted from 0, row by row."""

    TAKES = ("array", "place")

    array: Value
    place: Value
    result: Value


class Put(BaseInstruction, frozen=False):
    """An array with another number at one of its places."""

    TAKES = ("array", "place", "number")

    array: Value
    place: Value
    number: Value
    result: Value


class Copy(BaseInstruction, frozen=False):
    """A copy of an array, in memory of its own."""

    TAKES = ("array",)

    array: Value
    result: Value


class Free(BaseInstruction, frozen=False):
    """Gives the memory of an array back."""

    TAKES = ("array",)
    GIVES = ()

    array: Value


class Check(BaseInstruction, frozen=False):
    """Steps back to the interpreter unless a condition holds."""

    TAKES = ("condition",)
    GIVES = ()

    condition: Value


class Branch(BaseInstruction, frozen=False):
    """One of two blocks, by a condition; both give as many results, of the same types."""

    TAKES = ("condition",)
    GIVES = ("*results",)
    INSIDE = ("then", "otherwise")

    condition: Value
    then: Block
    otherwise: Block
    results: tuple[Value, ...]


class While(BaseInstruction, frozen=False):
    """A loop. `condition` and `body` take the carried values; `condition` gives a bool, `body` the
    carried values of the next iteration. `initial` are the carried values of the first
    iteration."""

    TAKES = ("*initial",)
    GIVES = ("*results",)
    INSIDE = ("condition", "body")

    initial: tuple[Value, ...]
    condition: Block
    body: Block
    results: tuple[Value, ...]

    @property
    def carried(self) -> tuple[Value, ...]:
        """The parameters of the body for the carried values."""
        return self.body.parameters


class For(BaseInstruction, frozen=False):
    """A loop of `count` iterations, or of none if `count` is negative. `body` takes the number of
    the iteration, from 0, and the carried values; it gives the carried values of the next
    iteration."""

    TAKES = ("count", "*initial")
    GIVES = ("*results",)
    INSIDE = ("body",)

    count: Value
    initial: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]

    @property
    def carried(self) -> tuple[Value, ...]:
        """The parameters of the body for the carried values."""
        return self.body.parameters[1:]


class Each(BaseInstruction, frozen=False):
    """Straight code for each point of a space of known shape: `body` takes the indices of a point.

    Each of `initial`, a number or an array, has a way in which it is combined with a number of each
    point. The body gives that number, and for an array also its place. `put` replaces the element;
    the other ways are `add`, `maximum`, `minimum`, `or` and `and`.

    Numbers are combined in the order of the points, row by row. Where the place doesn't depend on
    the last axis, the numbers along that axis are combined with each other first, in NumPy's order:
    by halves, down to blocks of `BLOCK` numbers, and in a block `LANES` numbers at a time.
    """

    TAKES = ("*initial",)
    GIVES = ("*results",)
    INSIDE = ("body",)

    shape: tuple[int, ...]
    initial: tuple[Value, ...]
    ways: tuple[str, ...]
    body: Block
    results: tuple[Value, ...]

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(self.shape)

    @property
    def given(self) -> list[tuple[Value, Value | None]]:
        """The results of the body for each of `initial`: a number, and for an array its place."""
        values = iter(self.body.results)
        return [
            (next(values), next(values) if isinstance(first.type, ArrayType) else None)
            for first in self.initial
        ]

    def only(self, places: Sequence[int], body: Block) -> Each:
        """An `each` with some of `initial`, by their positions, and the instructions of another
        body."""
        given = self.given
        ends = tuple([v for k in places for v in given[k] if v is not None])
        return Each(
            self.shape,
            tuple([self.initial[k] for k in places]),
            tuple([self.ways[k] for k in places]),
            Block(self.body.parameters, body.instructions, ends),
            tuple([self.results[k] for k in places]),
        )


BLOCK, LANES = 128, 8  # numbers of a block along the last axis, and those combined at a time
# Products of fewer multiplications are written out; larger ones are BLAS's.
LARGE_PRODUCT = 2**14


class Product(BaseInstruction, frozen=False):
    """The product of two matrices, or of several pairs of matrices, one after the other in arrays
    of any shape. `sizes` are the number of pairs, the rows of a result, the terms of each sum, and
    the columns of a result. `transposed` says for each factor whether it is stored column by
    column."""

    TAKES = ("left", "right")

    left: Value
    right: Value
    sizes: tuple[int, int, int, int]
    transposed: tuple[bool, bool]
    result: Value


class Call(BaseInstruction, frozen=False):
    """A call of another region."""

    TAKES = ("*operands",)
    GIVES = ("*results",)

    region: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    span: Span | None = None


# Those that have nothing but some operands and at most one result.
Plain: TypeAlias = Cast | Check | Copy | Element | Free | Put
Arrays: TypeAlias = NewArray | Room | Affine | Product | Structural
Simple: TypeAlias = Constant | Operation | NewStack | Push | Pop | Arrays | Plain
Instruction: TypeAlias = Simple | Branch | While | For | Each | Call
_OF_POINTS = (Constant, Cast, Operation, Affine, Element, Check)
_STRAIGHT = (*_OF_POINTS, Branch)
WAYS = ("put", "add", "maximum", "minimum", "or", "and")  # of an `each`


def every(block: Block) -> Iterator[Instruction]:
    """The instructions of a block, and those of the blocks inside it."""
    waiting = [iter(block.instructions)]
    while waiting:
        for made in waiting[-1]:
            yield made
            if made.INSIDE:
                waiting += [iter(inner.instructions) for inner in reversed(blocks_of(made))]
                break
        else:
            waiting.pop()


def constants_in(block: Block) -> dict[Value, Any]:
    """The values of a block's constants, and of those in the blocks inside it."""
    return {made.result: made.value for made in every(block) if isinstance(made, Constant)}


def passed_on(made: Instruction) -> Iterator[tuple[Value, Value]]:
    """The pairs of a value that a branch or a loop passes on, and the value that receives it."""
    pairs: list[tuple[tuple[Value, ...], tuple[Value, ...]]] = []
    if isinstance(made, Branch):
        pairs = [(side.results, made.results) for side in (made.then, made.otherwise)]
    elif isinstance(made, While | For):
        pairs = [(given, made.carried) for given in (made.initial, made.body.results)]
        pairs.append((made.carried, made.results))
    for given, names in pairs:
        yield from zip(given, names, strict=True)


def reached(start: Iterable[Value], onward: Mapping[Value, Iterable[Value]]) -> set[Value]:
    """The values of `start`, and all that the values `onward` from them lead to."""
    found: set[Value] = set()
    waiting = list(start)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += onward.get(value, ())
    return found


def size_of(block: Block) -> int:
    """The number of instructions of a block and of the blocks inside it."""
    return sum([1 for _ in every(block)])


def is_straight(block: Block) -> bool:
    """Whether a block has no loop, calls no region, and needs no memory."""
    return all(isinstance(made, _STRAIGHT) for made in every(block))


def is_point(block: Block) -> bool:
    """Whether the instructions of a block are those of the body of an `each`."""
    return all(isinstance(made, _OF_POINTS) for made in block.instructions)


def blocks_of(instruction: Instruction) -> tuple[Block, ...]:
    """The blocks inside an instruction."""
    names = instruction.INSIDE
    return tuple([getattr(instruction, name) for name in names]) if names else ()
