"""Counted loops: a `while` that compares an int with a limit, and adds a constant to it in each
iteration, becomes a `for`, whose number of iterations is known when it begins. So its index needs
no residuals, and is the same for all rows that begin and end alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..ir.builder import Builder
from ..ir.instructions import (
    Block,
    Check,
    Constant,
    For,
    Instruction,
    Operation,
    Region,
    Value,
    While,
    blocks_of,
    constants_in,
    every,
)
from ..ir.scalars import WHERE
from ..ir.types import I64, STACK
from .copying import copied, defined, replace

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}  # with the operands exchanged
FAR = 2**61  # ints up to here can be added up without overflow


class _Count(NamedTuple):
    """How a loop counts: the position of the carried int, its limit, which counts itself if `more`
    is 1, and the step."""

    position: int
    limit: Value | int
    more: int
    step: int


def count_loops(region: Region) -> Region:
    """The region with `for` in place of each `while` that counts."""
    known, loops = constants_in(region.block), list(every(region.block))
    if not any(isinstance(made, While) and _count_of(made, known) for made in loops):
        return region
    block = copied(region.block, {})
    _rewrite(block, constants_in(block))
    return Region(region.name, block)


def _rewrite(block: Block, known: Mapping[Value, Any]) -> None:
    instructions: list[Instruction] = []
    for made in block.instructions:
        for inner in blocks_of(made):
            _rewrite(inner, known)
        if isinstance(made, While) and (count := _count_of(made, known)) is not None:
            instructions += _counted(made, count, known)
        else:
            instructions.append(made)
    block.instructions = instructions


def _count_of(made: While, known: Mapping[Value, Any]) -> _Count | None:
    """How a loop counts; None if it doesn't."""
    asked = made.condition
    if any(value.type == STACK for value in made.initial):
        return None  # its pullback counts its iterations, too
    last = asked.instructions[-1:]
    if not all(isinstance(each, Constant) for each in asked.instructions[:-1]):
        return None
    if not last or last[0].results != asked.results or not isinstance(last[0], Operation):
        return None
    name = last[0].op.name
    if name not in MIRRORED:
        return None
    index, limit = last[0].operands
    if limit in asked.parameters:
        index, limit, name = limit, index, MIRRORED[name]
    if index not in asked.parameters or index.type != I64:
        return None
    if limit in defined(asked) and limit not in known:
        return None
    position = asked.parameters.index(index)
    step = _step(made.body, position, known)
    if step is None or (step > 0) != (name in ("lt", "le")) or not 0 < abs(step) < FAR:
        return None
    return _Count(position, known.get(limit, limit), int(name in ("le", "ge")), step)


def _step(body: Block, position: int, known: Mapping[Value, Any]) -> int | None:
    """The constant that an iteration adds to a carried int; None if it doesn't."""
    for made in body.instructions:
        if isinstance(made, Operation) and made.result is body.results[position]:
            a, b = made.operands[0], known.get(made.operands[-1])
            if a is body.parameters[position] and b is not None:
                return {"add": b, "sub": -b}.get(made.op.name)
    return None


def _counted(made: While, count: _Count, known: Mapping[Value, Any]) -> list[Instruction]:
    """The same loop as a `for`. Steps back where ints might overflow."""
    builder = Builder(before := Block())
    builder.known.update({value: number for value, number in known.items() if value.type == I64})
    start, limit = made.initial[count.position], count.limit
    limit = builder.constant(limit) if isinstance(limit, int) else limit
    for value in (start, limit):
        for name, far in (("le", FAR), ("ge", -FAR)):
            near = builder.apply(name, [value, builder.constant(far)])
            if near not in builder.known:
                builder.add(Check(near))
    size = abs(count.step)
    between = builder.apply("sub", [limit, start] if count.step > 0 else [start, limit])
    turns = _plus(builder, between, count.more + size - 1)
    if size > 1:
        turns = builder.apply("floordiv", [turns, builder.constant(size)])
    number = Value(I64)
    with builder.inside(Block()) as first:
        index = _plus(builder, _times(builder, number, count.step), start)
    body, carried = made.body, _but(made.body.parameters, count)
    added = body.results[count.position]
    replace(body, {body.parameters[count.position]: index})
    body.instructions[:0] = first.instructions
    body.parameters, body.results = (number, *carried), _but(body.results, count)
    if not _is_used(added, body):  # and can't overflow
        body.instructions = [each for each in body.instructions if each.results != (added,)]
    with builder.inside(after := Block()):
        last = _plus(builder, _times(builder, turns, count.step), start)
        runs = builder.apply("gt", [turns, builder.constant(0)])
        builder.add(Operation(WHERE, (runs, last, start), made.results[count.position]))
    loop = For(turns, _but(made.initial, count), body, _but(made.results, count))
    return [*before.instructions, loop, *after.instructions]


def _is_used(value: Value, block: Block) -> bool:
    inside = (inner for made in every(block) for inner in blocks_of(made))
    ends = [block.results, *[inner.results for inner in inside]]
    return any(value in values for values in (*ends, *[made.operands for made in every(block)]))


def _plus(builder: Builder, a: Value, b: Value | int) -> Value:
    """The sum of ints."""
    if (b if isinstance(b, int) else builder.known.get(b)) == 0:
        return a
    return builder.apply("add", [a, builder.constant(b) if isinstance(b, int) else b])


def _times(builder: Builder, number: Value, step: int) -> Value:
    return number if step == 1 else builder.apply("mul", [number, builder.constant(step)])


def _but(values: tuple[Value, ...], count: _Count) -> tuple[Value, ...]:
    """The values, without that of the int that is counted."""
    return values[: count.position] + values[count.position + 1 :]
