"""Folding: computes what is known before a region runs. These are constants, choices by known
conditions, and values that a loop carries but never changes; the last folding also computes nothing
twice."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

from ...ops import OPS
from ..formulas.functions import scalar_function
from ..ir.builder import Builder
from ..ir.instructions import (
    Affine,
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    Operation,
    Region,
    Value,
    While,
)
from ..ir.scalars import CHOICES, WHERE
from ..ir.types import I64, Scalar, Type, is_float, rounded
from .copying import rebuilt


class _Known(NamedTuple):
    """A constant. Constants are compared by `text`: 0.0 and -0.0 differ, and nan equals nan."""

    text: str
    value: Any
    type: Scalar


_Held: TypeAlias = Value | _Known
# Operations on floats whose results IEEE 754 defines: of constants they are computed at once.
EXACT = {"add", "sub", "mul", "div", "neg", "abs", "sqrt", "eq", "ne", "lt", "le", "gt", "ge"}
MUL, STRICT_MUL = OPS["mul"], OPS["strict_mul"]


def fold(region: Region, last: bool = False) -> Region:
    """The region without what is known before it runs. As long as it may still be differentiated,
    floats stay connected with the same values, and cotangents add up in the same order. So only the
    `last` folding removes choices of floats by `where` whose condition is known, and operations
    that are there already."""
    folded = Block(region.block.parameters)
    folding = _Folding(folded, last)
    folding.all(region.block.instructions)
    folded.results = folding.used(region.block.results)
    return Region(region.name, folded)


class _Folding:
    """Rebuilds instructions. `held` maps a value to what it is known to be: a constant, or another
    value that is defined where it is used."""

    def __init__(self, block: Block, last: bool) -> None:
        self.builder, self.last = Builder(block), last
        self.held: dict[Value, _Held] = {}
        self.filled: dict[Value, _Held] = {}  # the one number of arrays
        # The operations whose results are known at the builder's place, in order.
        self.known: dict[object, Value] = {}
        # The constants that are defined at the builder's place.
        self.constants: dict[tuple[str, Scalar], Value] = {}
        # The carried values that a loop keeps. It is rebuilt when a loop around it changes more
        # than was assumed, and then keeps no others.
        self.fixed: dict[While | For, set[int]] = {}

    def all(self, instructions: Sequence[Instruction]) -> None:
        for made in instructions:
            self.instruction(made)

    def of(self, value: Value) -> _Held:
        return self.held.get(value, value)

    def used(self, values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple([self.emitted(self.of(value)) for value in values])

    def emitted(self, held: _Held) -> Value:
        """A value for what is held. Constants are defined once in each block that uses them."""
        if isinstance(held, Value):
            return held
        key = held.text, held.type
        if key not in self.constants:
            self.constants[key] = self.builder.number(held.value, held.type)
        return self.constants[key]

    def inside(self, block: Block, instructions: Sequence[Instruction]) -> None:
        """Rebuilds instructions in a block inside the current one."""
        outer, self.constants = self.constants, dict(self.constants)
        size = len(self.known)
        with self.builder.inside(block):
            self.all(instructions)
        self.constants = outer
        while len(self.known) > size:
            self.known.popitem()

    def gives(self, block: Block, results: Sequence[Value]) -> None:
        """Sets the results of a rebuilt block."""
        outer, self.constants = self.constants, {}
        with self.builder.inside(block):
            block.results = self.used(results)
        self.constants = outer

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Constant):
            self.held[made.result] = _known(made.value, made.result.type)
        elif isinstance(made, Cast):
            self.cast(made)
        elif isinstance(made, Operation):
            operands = [self.of(value) for value in made.operands]
            held = _simplified(made, operands, self.last)
            if held is not None:
                self.held[made.result] = held
            elif self.last:
                self.once(_weaker(made, operands), operands)
            else:
                self.keep(made)
        elif isinstance(made, Branch):
            self.branch(made)
        elif isinstance(made, While | For):
            self.loop(made)
        elif isinstance(made, Each):
            self.each(made)
        elif isinstance(made, Affine):
            self.affine(made)
        elif isinstance(made, Element) and self.of(made.array) in self.filled:
            self.held[made.result] = self.filled[self.used([made.array])[0]]
        elif isinstance(made, Check):
            self.check(made)
        else:
            self.keep(made)

    def check(self, made: Check) -> None:
        """Adds a check, unless its condition holds, or has been checked on every path to here."""
        condition = self.of(made.condition)
        if not (_is(condition, True) or (Check, condition) in self.known):
            self.known[Check, condition] = made.condition
            self.keep(made)

    def once(self, made: Operation, operands: Sequence[_Held]) -> None:
        """Adds an operation, unless the same one is there already."""
        key = made.op, made.result.type, *operands
        if key in self.known:
            self.held[made.result] = self.known[key]
            return
        self.known[key] = made.result
        self.builder.add(
            Operation(made.op, tuple(map(self.emitted, operands)), made.result, made.span)
        )

    def keep(self, made: Instruction) -> None:
        """Adds an instruction, with its operands replaced by what they are known to be."""
        self.builder.add(rebuilt(made, self.used(made.operands), made.results))
        if isinstance(made, NewArray):
            self.filled[made.result] = self.of(made.number)

    def affine(self, made: Affine) -> None:
        """A place, some of whose operands may be known."""
        held, offset = [self.of(value) for value in made.operands], made.offset
        terms = []
        for value, step in zip(held, made.steps, strict=True):
            if isinstance(value, _Known):
                offset += step * value.value
            else:
                terms.append((value, step))
        if terms:
            values, steps = zip(*terms, strict=True)
            self.builder.add(Affine(values, steps, offset, made.result))
        else:
            self.held[made.result] = _known(offset, I64)

    def each(self, made: Each) -> None:
        """An `each`. It defines its own constants: back ends compile it as a function."""
        body = Block(made.body.parameters)
        outer, self.constants = self.constants, {}
        self.inside(body, made.body.instructions)
        self.constants = outer
        self.gives(body, made.body.results)
        self.builder.add(Each(made.shape, self.used(made.initial), made.ways, body, made.results))

    def cast(self, made: Cast) -> None:
        held = self.of(made.operand)
        if isinstance(held, _Known) and is_float(made.result.type):
            self.held[made.result] = _known(float(held.value), made.result.type)
        else:
            self.keep(made)

    def branch(self, made: Branch) -> None:
        condition = self.of(made.condition)
        if isinstance(condition, _Known):
            side = made.then if condition.value else made.otherwise
            self.all(side.instructions)
            self.held.update(
                {r: self.of(v) for r, v in zip(made.results, side.results, strict=True)}
            )
            return
        sides = (made.then, made.otherwise)
        blocks = (Block(), Block())
        for block, side in zip(blocks, sides, strict=True):
            self.inside(block, side.instructions)
        kept = []
        for k, result in enumerate(made.results):
            a, b = (self.of(side.results[k]) for side in sides)
            if a == b:
                self.held[result] = a
            else:
                kept.append(k)
        for block, side in zip(blocks, sides, strict=True):
            self.gives(block, [side.results[k] for k in kept])
        results = tuple([made.results[k] for k in kept])
        self.builder.add(Branch(self.emitted(condition), *blocks, results))

    def loop(self, made: While | For) -> None:
        """A loop. Each carried value is assumed to keep its first value, until an iteration turns
        out to change it."""
        carried, before = made.carried, dict(self.held)
        number = made.body.parameters[:1] if isinstance(made, For) else ()
        initial = [self.of(value) for value in made.initial]
        fixed = set(self.fixed.get(made, range(len(initial))))
        while True:
            self.held = {**before, **{carried[k]: initial[k] for k in fixed}}
            if isinstance(made, While):
                tested = made.condition.parameters
                self.held.update({tested[k]: initial[k] for k in fixed})
            body = Block(number)
            self.inside(body, made.body.instructions)
            changed = {k for k in fixed if self.of(made.body.results[k]) != initial[k]}
            if not changed:
                break
            fixed -= changed
        self.fixed[made] = fixed
        kept = [k for k in range(len(initial)) if k not in fixed]

        def kept_of(values: Sequence[Value]) -> tuple[Value, ...]:
            return tuple([values[k] for k in kept])

        body.parameters += kept_of(carried)
        self.gives(body, kept_of(made.body.results))
        new: While | For
        if isinstance(made, While):
            condition = Block(kept_of(made.condition.parameters))
            self.inside(condition, made.condition.instructions)
            self.gives(condition, made.condition.results)
            new = While(self.used(kept_of(made.initial)), condition, body, kept_of(made.results))
        else:
            start = self.used(kept_of(made.initial))
            new = For(self.used([made.count])[0], start, body, kept_of(made.results))
        self.held = {**before, **{made.results[k]: initial[k] for k in fixed}}
        self.builder.add(new)


def _known(value: Any, kind: Type) -> _Known:
    assert isinstance(kind, Scalar)
    value = rounded(value, kind)
    return _Known(repr(value), value, kind)


def _is(held: _Held, value: Any) -> bool:
    return isinstance(held, _Known) and held.text == repr(value)


def _simplified(made: Operation, operands: list[_Held], last: bool) -> _Held | None:
    """The result of an operation, if it is known without the operation; otherwise None."""
    if made.op in CHOICES:
        condition, a, b = operands
        certain = last or made.op is not WHERE or not is_float(made.result.type)
        if isinstance(condition, _Known) and certain:
            return a if condition.value else b
        if _is(a, True) and (_is(b, False) or b == condition):
            return condition
        return a if a == b else None
    name = made.op.name
    if name in ("add", "mul", "strict_mul"):
        neutral = -0.0 if name == "add" else 1.0
        a, b = operands
        if _is(a, neutral) or _is(b, neutral):
            return b if _is(a, neutral) else a
    if last and name == "pow" and _is(operands[1], 1.0):
        return operands[0]
    if last and name == "pow" and _is(operands[1], 0.0):
        return _known(1.0, made.result.type)
    if last and name in EXACT and all(isinstance(held, _Known) for held in operands):
        values = [held.value for held in operands if isinstance(held, _Known)]
        if _are_floats(values):  # which are rounded once more without another result
            return _known(scalar_function(made.op)(*values), made.result.type)
    return None


def _are_floats(values: Sequence[Any]) -> bool:
    return all(type(value) is float for value in values)


def _weaker(made: Operation, operands: Sequence[_Held]) -> Operation:
    """A strict product as a plain one, if one of its factors is a known number other than 0."""
    factors = [held.value for held in operands if isinstance(held, _Known)]
    if made.op is not STRICT_MUL or not any(f != 0 and isfinite(f) for f in factors):
        return made
    return Operation(MUL, made.operands, made.result, made.span)
