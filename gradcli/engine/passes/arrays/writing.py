"""Entries of the table as instructions, in place of a call of their code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...ir.builder import Builder
from ...ir.instructions import Block, Instruction, Structural, Value
from ...ir.scalars import WHERE
from ...ir.types import Type
from ..copying import with_result


class Writer:
    """Writes entries of a kind, each by a method of its operands and options, which returns the
    result; None where the entry stays a call."""

    entries: ClassVar[dict[str, Callable[..., Any]]]

    def __init__(self, kind: Type) -> None:
        """`kind` is the type of the result."""
        self.builder, self.kind = Builder(Block()), kind

    def written(self, made: Structural) -> list[Instruction] | None:
        """The instructions that give the result of an entry; None where it stays a call."""
        if not self.takes([value.type for value in made.operands]):
            return None
        if (found := self.result(made)) is None:
            return None
        return with_result(self.builder.block.instructions, found, made.results[0])

    def takes(self, kinds: Sequence[Type]) -> bool:
        """Whether operands of these types are taken."""
        raise NotImplementedError

    def result(self, made: Structural) -> Value | None:
        """Adds the instructions, and returns the value that is the result."""
        write = self.entries[made.op.name]
        found: Value | None = write(self, *made.operands, **dict(made.options))
        return found

    def array(self, numbers: Sequence[Value]) -> Value:
        """The result with these elements, row by row."""
        array = self.builder.zero(self.kind)
        for k, number in enumerate(numbers):
            array = self.builder.put(array, self.builder.constant(k), number)
        return array

    def swapped(
        self, condition: Value, a: list[Value], b: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Two rows, exchanged where a condition holds."""
        choose = self.builder.operation
        pairs = list(zip(a, b, strict=True))
        return (
            [choose(WHERE, [condition, y, x]) for x, y in pairs],
            [choose(WHERE, [condition, x, y]) for x, y in pairs],
        )

    def op(self, name: str, *operands: Value) -> Value:
        return self.builder.apply(name, list(operands))

    def number(self, value: Any) -> Value:
        return self.builder.constant(value)
