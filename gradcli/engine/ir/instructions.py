"""Values, instructions, blocks and regions.

A value is defined once, by an instruction or as a parameter of a block, and is told apart by
identity. Branches and loops hold blocks, whose results are what they give; a block may use the
values of the blocks around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...diagnostics import Span
from ...ops.op import Op
from .types import Type


class Value:
    """A value of a region, of one type."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type


@dataclass(eq=False, slots=True)
class Block:
    """Instructions in order, from the values of `parameters` to those of `results`."""

    parameters: tuple[Value, ...] = ()
    instructions: list[Instruction] = field(default_factory=list)
    results: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True)
class Region:
    """A block that is compiled as a whole, with a name that other regions call it by."""

    name: str
    block: Block


@dataclass(eq=False, slots=True)
class Constant:
    """A number or a bool of the text."""

    value: Any
    result: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(eq=False, slots=True)
class Cast:
    """A number as one of another type: an int or a bool as a float, a bool as an int."""

    operand: Value
    result: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(eq=False, slots=True)
class Operation:
    """An entry of the table, applied at a place of the program. All its operands are of one type,
    but for the condition of `where`."""

    op: Op
    operands: tuple[Value, ...]
    result: Value
    span: Span | None = None

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(eq=False, slots=True)
class Pack:
    """A list of values."""

    operands: tuple[Value, ...]
    result: Value

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(eq=False, slots=True)
class Item:
    """The item of a list at an index that is known."""

    operand: Value
    index: int
    result: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(eq=False, slots=True)
class Branch:
    """One of two blocks, by a condition; both give as many results, of the same types."""

    condition: Value
    then: Block
    otherwise: Block
    results: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.condition,)


@dataclass(eq=False, slots=True)
class While:
    """A loop. `condition` and `body` take the carried values: the one gives a bool, the other the
    carried values of the next iteration. `initial` are those of the first."""

    initial: tuple[Value, ...]
    condition: Block
    body: Block
    results: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.initial


@dataclass(eq=False, slots=True)
class For:
    """A loop over the ints from `start` on, by `step`, before `stop`. `body` takes the int and the
    carried values, and gives the latter for the next iteration."""

    start: Value
    stop: Value
    step: Value
    initial: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.start, self.stop, self.step, *self.initial)


@dataclass(eq=False, slots=True)
class Call:
    """A call of another region."""

    region: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    span: Span | None = None


Instruction: TypeAlias = Constant | Cast | Operation | Pack | Item | Branch | While | For | Call


def blocks_of(instruction: Instruction) -> tuple[Block, ...]:
    """The blocks inside an instruction."""
    if isinstance(instruction, Branch):
        return instruction.then, instruction.otherwise
    if isinstance(instruction, While):
        return instruction.condition, instruction.body
    return (instruction.body,) if isinstance(instruction, For) else ()
