"""Functions that only Python has, such as most of SciPy's, in an `each`: they are computed for all
points together, by the function on arrays. To call Python for each point takes many times as
long."""

from __future__ import annotations

from collections.abc import Sequence

from ...formulas.functions import is_called
from ...ir.builder import Builder
from ...ir.instructions import (
    Block,
    Check,
    Constant,
    Each,
    Element,
    Operation,
    Region,
    Structural,
    Value,
    every,
)
from ...ir.types import F64, ArrayType, strides
from ..copying import copied, needed_for, with_each
from .each_places import are_in_order

LEAST = 8  # points


def call_on_arrays(region: Region) -> Region:
    """The region with such calls. It must not be differentiated any more."""
    if not any(isinstance(made, Each) and _first_call(made) for made in every(region.block)):
        return region
    return Region(region.name, with_each(region.block, _without_calls))


def _without_calls(builder: Builder, made: Each) -> Each:
    """An `each` that reads the results of calls, which the builder adds before it."""
    while (call := _first_call(made)) is not None:
        made = _apart(builder, made, call)
    return made


def _first_call(made: Each) -> Operation | None:
    """The first operation of an `each` that is computed for all points together. None where a check
    may come before what is read for it."""
    body = made.body.instructions
    if made.size < LEAST or any(isinstance(inner, Check) for inner in body):
        return None
    inside = {v for inner in body if not isinstance(inner, Constant) for v in inner.results}
    for inner in body:
        if isinstance(inner, Operation) and is_called(inner.op) and _is_on_floats(inner):
            return inner if not inside.isdisjoint(inner.operands) else None
    return None


def _is_on_floats(made: Operation) -> bool:
    return {value.type for value in (*made.operands, made.result)} == {F64}


def _apart(builder: Builder, made: Each, call: Operation) -> Each:
    """An `each` that reads the results of a call, which the builder adds before it."""
    found = Value(ArrayType(F64, made.shape))
    operands = _arrays(builder, made, call.operands)
    builder.add(Structural(call.op, operands, (), (found,), call.span))
    body = Block(made.body.parameters, [], made.body.results)
    inner = Builder(body)
    for each in made.body.instructions:
        if each is call:
            place = inner.place(body.parameters, strides(made.shape))
            inner.add(Element(found, place, call.result))
        else:
            inner.add(each)
    return Each(made.shape, made.initial, made.ways, body, made.results)


def _arrays(builder: Builder, made: Each, values: Sequence[Value]) -> tuple[Value, ...]:
    """Values of the body of an `each` as arrays of those of all points, which another `each` puts.
    Constants, and numbers from outside, stay numbers."""
    defined = {value: each for each in made.body.instructions for value in each.results}
    kind, names = ArrayType(F64, made.shape), dict[Value, Value]()
    for value in dict.fromkeys(values):
        by = defined.get(value)
        if isinstance(by, Constant):
            names[value] = builder.constant(by.value)
        elif isinstance(by, Element) and by.array.type == kind and are_in_order(made, by.place):
            names[value] = by.array
    own = [value for value in dict.fromkeys(values) if value in defined and value not in names]
    if own:
        copy = dict[Value, Value]()
        kept = needed_for(own, made.body.instructions)
        body = copied(Block(made.body.parameters, kept), copy)
        place = Builder(body).place(body.parameters, kind.strides)
        body.results = tuple([each for value in own for each in (copy[value], place)])
        rooms = tuple([builder.room(kind) for _ in own])
        arrays = tuple([Value(kind) for _ in own])
        builder.add(Each(made.shape, rooms, ("put",) * len(own), body, arrays))
        names.update(zip(own, arrays, strict=True))
    return tuple([names.get(value, value) for value in values])
