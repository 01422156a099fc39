"""Recording: functions that a pullback computes of residuals become residuals themselves.

This pays where the iteration that pushes the residuals computes the same function, or where one
needs the sine and the other the cosine of an angle, since both together cost little more than one.
Entries lose the values that nothing reads then. No number changes, only the place where it is
computed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....ops import OPS
from ...ir.instructions import (
    Block,
    Constant,
    Instruction,
    Operation,
    Pop,
    Region,
    Value,
    blocks_of,
    every,
)
from ...ir.types import is_float
from ..common_subexpressions import key_of
from ..copying import copied
from ..dead_code import without_dead_code
from .entries import Entries, Pair, Unpaired

# Pairs of functions that together cost little more than one of them.
TOGETHER = {"sin": OPS["cos"], "cos": OPS["sin"]}
# Functions of a few instructions: a residual would cost as much.
_QUICK = {
    "neg", "pos", "abs", "sign", "square", "sqrt", "floor", "ceil", "round", "trunc", "minimum",
    "maximum", "clip", "relu", "leaky_relu", "beside", "strict_mul", "one_minus_square",
    "inversion", "degrees", "radians", "fixed",
}  # fmt: skip


def record(region: Region) -> Region:
    """The region with such functions among its residuals. It must not be differentiated any
    more."""
    if not any(isinstance(made, Pop) for made in every(region.block)):
        return region
    region = Region(region.name, copied(region.block, {}))
    try:
        entries = Entries(region.block)
    except Unpaired:
        return region
    constants = {made.result: made for made in every(region.block) if isinstance(made, Constant)}
    for pair in entries.pairs:
        _Recorder(pair, entries.origins, constants).record()
    region = without_dead_code(region)
    read = _read(region.block)
    for pair in entries.pairs:
        _leave_out(pair, read)
    return region


class _Recorder:
    """Records the functions that one pullback computes of the values that it pops."""

    def __init__(
        self, pair: Pair, origins: dict[Value, Value], constants: Mapping[Value, Constant]
    ) -> None:
        """`origins` maps values of the block that pops to those of the block that pushes."""
        self.pair, self.origins, self.constants = pair, origins, constants
        self.known: dict[object, Value] = {}  # the results of the block that pushes, by key
        for made in pair.pushing.instructions[: pair.pushing.instructions.index(pair.push)]:
            key = self.key(made)
            if key is not None:
                self.known.setdefault(key, made.results[0])

    def record(self) -> None:
        block, kept = self.pair.popping, []
        start = block.instructions.index(self.pair.pop) + 1
        for made in block.instructions[start:]:
            key = self.key(made)
            found = None if key is None else self.known.get(key)
            if isinstance(made, Operation) and is_function(made):
                found = found or self.beside(made)
                if found is not None:
                    self.pair.push.entry += (found,)
                    self.pair.pop.entry += (made.result,)
                    self.origins[made.result] = found
                    continue
            if found is not None:
                self.origins[made.results[0]] = found
            kept.append(made)
        block.instructions[start:] = kept

    def key(self, made: Instruction) -> object:
        """A key for an instruction: equal in both blocks for instructions that compute the same."""
        key = key_of(made)
        named = tuple(map(self.name, made.operands))
        return key and tuple([named if part == made.operands else part for part in key])

    def name(self, value: Value) -> object:
        constant = self.constants.get(value)
        return repr(constant.value) if constant else self.origins.get(value, value)

    def beside(self, made: Operation) -> Value | None:
        """The result of an operation in the block that pushes, if the other function of the same
        operand is computed there."""
        other = TOGETHER.get(made.op.name)
        if (
            other is None
            or self.key(Operation(other, made.operands, made.result)) not in self.known
        ):
            return None
        operands = tuple([self.origins.get(value, value) for value in made.operands])
        own = Operation(made.op, operands, Value(made.result.type), made.span)
        self.known[self.key(made)] = own.result
        instructions = self.pair.pushing.instructions
        instructions.insert(instructions.index(self.pair.push), own)
        return own.result


def is_function(made: Operation) -> bool:
    """Whether an operation takes longer than keeping its result."""
    op = made.op
    plain = op.infix and op.name != "pow"
    return op.passes_floats and is_float(made.result.type) and not plain and op.name not in _QUICK


def _read(block: Block) -> set[Value]:
    """The values that instructions and blocks use."""
    found = set(block.results)
    for made in block.instructions:
        found.update(made.operands)
        for inner in blocks_of(made):
            found |= _read(inner)
    return found


def _leave_out(pair: Pair, read: set[Value]) -> None:
    """Removes the values from an entry that nothing reads."""
    places = [k for k, value in enumerate(pair.pop.entry) if value in read]
    if places:
        pair.pop.entry = tuple([pair.pop.entry[k] for k in places])
        pair.push.entry = tuple([pair.push.entry[k] for k in places])
