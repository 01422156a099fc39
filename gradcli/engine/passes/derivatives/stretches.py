"""The derivative of a stretch of code: reverse mode on some instructions of a block that is still
being built. They stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...ir.instructions import Block, Instruction, Value
from ...ir.types import STACK, ArrayType
from ..calls import Regions
from ..copying import used
from .activity import varied
from .tangents import Derivative, Derivatives
from .vjp import Pullback


class Stretch(NamedTuple):
    """A pullback of instructions.

    before      to be inserted before the instructions: stacks, and the start of counts
    after       the pullback, to be inserted after them, where it runs as often as they do
    cotangents  of those sources that have one
    """

    before: list[Instruction]
    after: list[Instruction]
    cotangents: Derivatives


def pull_back(
    instructions: Sequence[Instruction],
    seeds: Iterable[tuple[Value, Value]],
    sources: Iterable[Value],
    regions: Regions,
) -> Stretch:
    """The pullback of instructions: from `seeds`, values with their cotangents, to `sources`. A
    source counts as an input, even if one of the instructions defines it. Loops among the
    instructions are changed: they push what the pullback needs.

    Raises NoRule.
    """
    sources, seeds = dict.fromkeys(sources), list(seeds)
    made = [each for each in instructions if sources.keys().isdisjoint(each.results)]
    moving = varied(Block((), made), sources)
    block = Block((), _leading_to([value for value, _ in seeds], made, moving))
    instructions = list(block.instructions)
    pullback = Pullback(block, moving, regions)
    arrays = [value for value in used([block]) if isinstance(value.type, ArrayType)]
    pullback.recomputable.inputs.update(arrays)
    cotangents: Derivatives = {}
    for value, seed in seeds:
        pullback.add(cotangents, value, Derivative(seed))
    pullback.back(block, cotangents)
    made, count = block.instructions, len(instructions)
    start = next((k for k, each in enumerate(made) if count and each is instructions[0]), 0)
    return Stretch(made[:start], made[start + count :], _of(sources, cotangents))


def _leading_to(
    values: Iterable[Value], instructions: Sequence[Instruction], moving: set[Value]
) -> list[Instruction]:
    """The instructions on a path from `moving` values to `values`, and those that pop from a stack
    what these pushed, as earlier pullbacks do. Others are left out, since the pullback of their
    loops would run for nothing: a gradient in an iteration of an unrolled loop pulls back no
    earlier gradients."""
    uses = [used([Block((), [made])]) for made in instructions]
    needed, stacks, found, size = set(values), set[Value](), set[int](), -1
    while len(found) > size:  # up to a fixed point
        size = len(found)
        for k in reversed(range(len(instructions))):
            given = moving.intersection(instructions[k].results)
            if k not in found and not (needed.isdisjoint(given) and stacks.isdisjoint(uses[k])):
                found.add(k)
                needed.update(uses[k])
                stacks.update([value for value in given if value.type == STACK])
    return [instructions[k] for k in sorted(found)]


def _of(sources: Iterable[Value], cotangents: Mapping[Value, Derivative]) -> Derivatives:
    return {value: cotangents[value] for value in sources if value in cotangents}
