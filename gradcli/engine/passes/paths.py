"""Whether the path of a region depends on some of its values: branches, the number of iterations of
loops, the places of elements that it reads and writes."""

from __future__ import annotations

from ..ir.instructions import (
    Block,
    Branch,
    Call,
    Each,
    Element,
    For,
    Instruction,
    Operation,
    Put,
    Structural,
    Value,
    While,
    blocks_of,
    every,
    passed_on,
)
from ..ir.scalars import CHOOSE
from ..ir.types import I64


def decides(block: Block, values: set[Value]) -> bool:
    """Whether the path of a block, or a place in an array, may depend on some values. That of the
    regions that it calls may."""
    found, size, instructions = set(values), -1, list(every(block))
    while len(found) > size:  # until nothing is added
        size = len(found)
        for made in instructions:
            _follow(made, found)
    return any(_decided(made, found) for made in instructions)


def _decided(made: Instruction, found: set[Value]) -> bool:
    if isinstance(made, Branch):
        return made.condition in found
    if isinstance(made, While):
        return not found.isdisjoint(made.condition.results)
    if isinstance(made, For):
        return made.count in found
    if isinstance(made, Element | Put) and made.place in found:
        return True
    if isinstance(made, Structural) and not found.isdisjoint(made.operands):
        return not (made.op.linear or made.op.multilinear or made.op.category == "linear algebra")
    chooses = isinstance(made, Operation) and made.op is CHOOSE
    if chooses and made.operands[0] in found:
        return True
    # An int may be a place or a number of iterations in code that isn't seen here.
    calls = isinstance(made, Call) and not found.isdisjoint(made.operands)
    return calls or any(value.type == I64 and value in found for value in made.results)


def _follow(made: Instruction, found: set[Value]) -> None:
    """Adds the values that depend on those in `found`."""
    found.update([name for value, name in passed_on(made) if value in found])
    if isinstance(made, While):
        pairs = zip(made.carried, made.condition.parameters, strict=True)
        found.update([name for value, name in pairs if value in found])
    elif isinstance(made, Each):
        triples = zip(made.initial, made.given, made.results, strict=True)
        found.update(
            [name for first, (number, _), name in triples if not found.isdisjoint((first, number))]
        )
    elif not blocks_of(made) and not found.isdisjoint(made.operands):
        found.update(made.results)
