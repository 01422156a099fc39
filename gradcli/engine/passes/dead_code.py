"""Dead code: what is computed, carried or given and then not used.

An operation on ints stays, since it may step back for a message that the program is to see; so does
a structural one, and a loop with a condition, which may never end. A pop stays until the region is
no longer to be differentiated: for each push there is one, whose pullback gives what that of the
push takes.
"""

from __future__ import annotations

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
)
from ..ir.types import I64
from .copying import copied

_ACTING = (Check, Call, While, Structural)


def without_dead_code(region: Region, last: bool = False) -> Region:
    """The region without what its results don't need. `last`: it is not to be differentiated."""
    block = copied(region.block, {})
    kinds = _ACTING if last else (*_ACTING, Pop)
    live = _Live(kinds)
    live.block(block, ())
    _clean(block, live.all([*block.results, *live.acting]), kinds)
    return Region(region.name, block)


class _Live:
    """Finds the values that are needed.

    kinds   of instructions that do more than to give results
    needs   the values from which each one follows directly
    acting  those that are needed whatever the results
    """

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds
        self.needs: dict[Value, tuple[Value, ...]] = {}
        self.acting: list[Value] = []

    def all(self, values: list[Value]) -> set[Value]:
        """These values, and all that they follow from."""
        found: set[Value] = set()
        while values:
            value = values.pop()
            if value not in found:
                found.add(value)
                values += self.needs.get(value, ())
        return found

    def block(self, block: Block, control: tuple[Value, ...]) -> None:
        """Reads a block, which runs as the values `control` decide."""
        for made in block.instructions:
            if isinstance(made, Branch):
                self.branch(made, control)
            elif isinstance(made, While | For):
                self.loop(made, control)
            elif isinstance(made, Each):
                self.each(made, control)
            else:
                self.needs.update(dict.fromkeys(made.results, made.operands))
                if _acts(made, self.kinds):
                    self.acting += [*made.operands, *control]

    def branch(self, made: Branch, control: tuple[Value, ...]) -> None:
        for result, a, b in zip(
            made.results, made.then.results, made.otherwise.results, strict=True
        ):
            self.needs[result] = (made.condition, a, b)
        for side in (made.then, made.otherwise):
            self.block(side, (*control, made.condition))

    def each(self, made: Each, control: tuple[Value, ...]) -> None:
        triples = zip(made.results, made.initial, made.given, strict=True)
        for result, first, (number, place) in triples:
            self.needs[result] = (first, number) if place is None else (first, number, place)
        self.block(made.body, control)

    def loop(self, made: While | For, control: tuple[Value, ...]) -> None:
        deciding = made.condition.results if isinstance(made, While) else (made.count,)
        for k, value in enumerate(made.initial):
            carried = (value, made.body.results[k])
            self.needs[made.results[k]] = (*carried, *deciding)
            for parameter in _parameters(made, k):
                self.needs[parameter] = carried
        for block in blocks_of(made):
            self.block(block, (*control, *deciding))
        if isinstance(made, While):
            self.acting += [*deciding, *control]


def _parameters(made: While | For, k: int) -> list[Value]:
    """The parameters of a loop's blocks for a carried value, by its position."""
    asked = [made.condition.parameters[k]] if isinstance(made, While) else []
    return [made.carried[k], *asked]


def _acts(made: Instruction, kinds: tuple[type, ...]) -> bool:
    """Whether an instruction does more than to give results."""
    if isinstance(made, kinds):
        return True
    if isinstance(made, Operation):
        return made.result.type == I64
    return any(_acts(inner, kinds) for block in blocks_of(made) for inner in block.instructions)


def _clean(block: Block, live: set[Value], kinds: tuple[type, ...]) -> None:
    """Removes what isn't needed from a block."""
    kept: list[Instruction] = []
    for made in block.instructions:
        if not _acts(made, kinds) and live.isdisjoint(made.results):
            continue
        if isinstance(made, Branch):
            places = [k for k, value in enumerate(made.results) if value in live]
            made.results = _those(made.results, places)
            for side in (made.then, made.otherwise):
                side.results = _those(side.results, places)
        elif isinstance(made, While | For):
            _clean_carried(made, live)
        elif isinstance(made, Each):
            _clean_each(made, live)
        for inner in blocks_of(made):
            _clean(inner, live, kinds)
        kept.append(made)
    block.instructions = kept


def _clean_carried(made: While | For, live: set[Value]) -> None:
    """Removes the carried values of a loop that aren't needed."""
    places = [
        k
        for k, result in enumerate(made.results)
        if not live.isdisjoint([result, *_parameters(made, k)])
    ]
    number = made.body.parameters[:1] if isinstance(made, For) else ()
    made.body.parameters = (*number, *_those(made.carried, places))
    made.body.results = _those(made.body.results, places)
    if isinstance(made, While):
        made.condition.parameters = _those(made.condition.parameters, places)
    made.initial, made.results = _those(made.initial, places), _those(made.results, places)


def _clean_each(made: Each, live: set[Value]) -> None:
    """Removes the results of an `each` that aren't needed."""
    given, places = made.given, [k for k, value in enumerate(made.results) if value in live]
    made.body.results = tuple([v for k in places for v in given[k] if v is not None])
    made.initial, made.results = _those(made.initial, places), _those(made.results, places)
    made.ways = tuple([made.ways[k] for k in places])


def _those(values: Sequence[Value], places: Sequence[int]) -> tuple[Value, ...]:
    return tuple([values[k] for k in places])
