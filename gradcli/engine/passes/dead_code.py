"""Dead code elimination: leaves out what is computed, carried or returned but never used.

An operation on ints stays, since it may step back for a message that the program must show. So do
structural operations, and loops with a condition, which may never end. A pop stays where nothing
needs its entry: the pullback of its push needs the pullback of the pop, and rows that run in a
group share a stack, so each pops what it has pushed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..ir.instructions import (
    Block,
    Branch,
    Call,
    Check,
    Each,
    For,
    Instruction,
    Operation,
    Pop,
    Region,
    Structural,
    Value,
    While,
    blocks_of,
    passed_on,
    reached,
)
from ..ir.types import I64

_ACTING = (Check, Call, While, Structural, Pop)


def without_dead_code(region: Region) -> Region:
    """The region without what its results don't need."""
    block = region.block
    live = _Live()
    live.block(block, ())
    needed = reached([*block.results, *live.acting], live.needs)
    return Region(region.name, _Clean(needed).block(block, block.parameters, block.results))


class _Live:
    """Finds the live values.

    needs   for each value, those that it is directly computed from
    acting  values that are live whatever the results are
    """

    def __init__(self) -> None:
        self.needs: defaultdict[Value, list[Value]] = defaultdict(list)
        self.acting: list[Value] = []

    def block(self, block: Block, control: tuple[Value, ...]) -> None:
        """Reads a block, whose execution the values `control` decide."""
        for made in block.instructions:
            deciding = _deciding(made)
            for value, name in passed_on(made):
                self.needs[name].append(value)
            if isinstance(made, While):
                for value, name in zip(made.carried, made.condition.parameters, strict=True):
                    self.needs[name].append(value)
                self.acting += [*deciding, *control]
            if isinstance(made, Each):
                for result, first, ends in zip(made.results, made.initial, made.given, strict=True):
                    self.needs[result] += [first, *[value for value in ends if value is not None]]
            else:
                for result in made.results:
                    self.needs[result] += deciding
                if not made.INSIDE and _acts(made):
                    self.acting += [*made.operands, *control]
            for inner in blocks_of(made):
                self.block(inner, (*control, *deciding))


def _deciding(made: Instruction) -> tuple[Value, ...]:
    """The values that decide about the results of a branch or a loop; the operands of other
    instructions, but none for an `each`."""
    if isinstance(made, While):
        return made.condition.results
    if isinstance(made, For):
        return (made.count,)
    return () if isinstance(made, Each) else made.operands


def _parameters(made: While | For, k: int) -> list[Value]:
    """The parameters of a loop's blocks for its `k`th carried value."""
    in_condition = [made.condition.parameters[k]] if isinstance(made, While) else []
    return [made.carried[k], *in_condition]


def _acts(made: Instruction) -> bool:
    """Whether an instruction has an effect besides its results."""
    if isinstance(made, _ACTING):
        return True
    if isinstance(made, Operation):
        return made.result.type == I64
    return any(_acts(inner) for block in blocks_of(made) for inner in block.instructions)


class _Clean:
    """Rebuilds blocks without dead code. `live` are the live values."""

    def __init__(self, live: set[Value]) -> None:
        self.live = live

    def block(
        self, block: Block, parameters: tuple[Value, ...], results: tuple[Value, ...]
    ) -> Block:
        """A block with these parameters and results."""
        instructions = [
            self.instruction(made)
            for made in block.instructions
            if not self.live.isdisjoint(made.results) or _acts(made)
        ]
        return Block(parameters, instructions, results)

    def instruction(self, made: Instruction) -> Instruction:
        if isinstance(made, Branch):
            return self.branch(made)
        if isinstance(made, While | For):
            return self.loop(made)
        return self.each(made) if isinstance(made, Each) else made

    def places(self, results: Sequence[Value]) -> list[int]:
        return [k for k, value in enumerate(results) if value in self.live]

    def branch(self, made: Branch) -> Branch:
        places = self.places(made.results)
        then, otherwise = [
            self.block(side, (), _those(side.results, places))
            for side in (made.then, made.otherwise)
        ]
        return Branch(made.condition, then, otherwise, _those(made.results, places))

    def loop(self, made: While | For) -> While | For:
        places = [
            k
            for k, result in enumerate(made.results)
            if not self.live.isdisjoint([result, *_parameters(made, k)])
        ]
        initial, results = _those(made.initial, places), _those(made.results, places)
        number = made.body.parameters[:1] if isinstance(made, For) else ()
        carried = (*number, *_those(made.carried, places))
        body = self.block(made.body, carried, _those(made.body.results, places))
        if isinstance(made, For):
            return For(made.count, initial, body, results)
        asked = _those(made.condition.parameters, places)
        condition = self.block(made.condition, asked, made.condition.results)
        return While(initial, condition, body, results)

    def each(self, made: Each) -> Each:
        return made.only(self.places(made.results), self.block(made.body, (), ()))


def _those(values: Sequence[Value], places: Sequence[int]) -> tuple[Value, ...]:
    return tuple([values[k] for k in places])
