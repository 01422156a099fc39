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
from ..ir.types import I64, element_of


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
    if isinstance(made, Call):  # what its region decides isn't seen here
        return not found.isdisjoint(made.operands)
    # An int decides where it is used: as a place, or as a number of iterations.
    if isinstance(made, Structural):
        moving = [value for value in made.operands if value in found]
        flows = made.op.linear or made.op.multilinear or made.op.category == "linear algebra"
        gives_ints = all(map(_is_int, made.results))
        return any(_is_int(value) or not (flows or gives_ints) for value in moving)
    chooses = isinstance(made, Operation) and made.op is CHOOSE and made.operands[0] in found
    return chooses and not _is_int(made.results[0])


def _is_int(value: Value) -> bool:
    return element_of(value.type) == I64


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
