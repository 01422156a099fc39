"""Which arrays of a block have the same memory: those that instructions change in place."""

from __future__ import annotations

from ...ir.instructions import Block, Branch, Each, For, Instruction, Put, Value, While
from ...ir.types import ArrayType

Origins = dict[Value, Value]  # of changed arrays: the first of those that have the same memory


class SameMemory:
    """The memory of a block's arrays, found in one walk from the innermost blocks outwards.

    by_branches  the results of branches that are one array from before the branch, with that array:
                 each side changes it in place, or leaves it as it is
    swaps        whether a loop carries on one of its arrays as another one
    """

    def __init__(self, block: Block) -> None:
        self.by_branches: Origins = {}
        self.swaps = False
        self._walk(block)

    def _walk(self, block: Block) -> tuple[Origins, set[Value]]:
        """The origins of arrays in a block, and all values that it makes."""
        origins: Origins = {}
        made: set[Value] = set()
        for instruction in block.instructions:
            inside: Origins = {}
            values: set[Value] = set()
            for name in instruction.INSIDE:
                found, own = self._walk(getattr(instruction, name))
                inside |= found
                values |= own
                if name == "body" and isinstance(instruction, While | For):
                    self.swaps = self.swaps or _swaps(instruction, found)
            if isinstance(instruction, Branch):
                changed = _in_place(instruction, inside, values)
                self.by_branches |= changed
            else:
                changed = _changed(instruction)
            for result, array in (*changed.items(), *inside.items()):
                origins[result] = origins.get(array, array)
            made |= values
            made.update(instruction.results)
        return origins, made


def _changed(made: Instruction) -> Origins:
    """The arrays that an instruction gives, and that a loop carries, each with the one from before
    that has the same memory."""
    if isinstance(made, Put):
        return {made.result: made.array}
    if not isinstance(made, Each | While | For):
        return {}
    carried = () if isinstance(made, Each) else zip(made.carried, made.initial, strict=True)
    return dict([*zip(made.results, made.initial, strict=True), *carried])


def _in_place(made: Branch, inside: Origins, values: set[Value]) -> Origins:
    """The results of a branch that are one array from outside, with that array. `inside` are the
    origins of arrays on its sides, and `values` what these make."""
    sides = zip(made.results, made.then.results, made.otherwise.results, strict=True)
    pairs = [(result, inside.get(a, a), inside.get(b, b)) for result, a, b in sides]
    return {
        result: a
        for result, a, b in pairs
        if isinstance(result.type, ArrayType) and a is b and a not in values
    }


def _swaps(made: While | For, inside: Origins) -> bool:
    """Whether a loop carries on one of its arrays as another one; `inside` are the origins of
    arrays in its body."""
    arrays = {value for value in made.carried if isinstance(value.type, ArrayType)}
    pairs = zip(made.carried, made.body.results, strict=True)
    found = [(value, inside.get(result, result)) for value, result in pairs]
    return any(origin in arrays and origin is not value for value, origin in found)
