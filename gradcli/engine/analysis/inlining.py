"""Calls that can be replaced by their function's expression: `distance(x, y)` is `sqrt(x**2 +
y**2)`.

A hot expression (`fusion.py`) takes such a call in as if its operations stood there. That is so for
a name that nothing but one `fn` statement binds, and a function of one expression of its parameters
alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...lang import program
from ...lang.program.walks import PARTS

# What binds no slot of the frame that it stands in: a read, and what has a frame of its own.
_BIND_NOTHING = frozenset((program.Read, program.Function, program.Program))


class Known(NamedTuple):
    """A function that a slot holds for good: a `fn`, or a derivative of one; or an int that it
    holds at hand. `home` has what is known in the frame that binds it; None if that is the slot's
    own."""

    value: program.Function | program.Apply | program.Constant
    home: dict[int, Known] | None = None


def known_functions(
    outside: dict[int, Known], body: Any, function: program.Function | None = None
) -> dict[int, Known]:
    """The slots of a frame that hold one function for good: those that the body of the frame's
    `function` binds, and those that this captures from the frame outside. None are known where
    nothing is inlined."""
    bound = (
        {} if function is None else {parameter.slot.index: 1 for parameter in function.parameters}
    )
    captures = () if function is None else function.captures
    functions: dict[int, program.Function | program.Apply] = {}
    pending = list(body)
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is tuple:
            pending.extend(node)
        elif kind is program.Slot:
            bound[node.index] = bound.get(node.index, 0) + 1
        elif kind not in _BIND_NOTHING and (parts := PARTS[kind]) is not None:
            if kind is program.Assign and isinstance(node.target, program.NameTarget):
                if isinstance(node.value, program.FunctionLiteral):
                    functions[node.target.slot.index] = node.value.function
                elif isinstance(node.value, program.Apply) and node.value.op.transforms:
                    functions[node.target.slot.index] = node.value
            pending.extend(parts(node))
    known = {k: Known(value) for k, value in functions.items() if bound[k] == 1}
    for outer, own in captures:
        if outside and outer.index in outside:
            found = outside[outer.index]
            known[own.index] = found if found.home is not None else Known(found.value, outside)
    return known


def inlined(node: program.Expression, known: dict[int, Known]) -> program.Function | None:
    """The function whose expression can replace a call; None for any other node."""
    if (
        not isinstance(node, program.Call)
        or not isinstance(node.callee, program.Read)
        or node.callee.checked
    ):
        return None
    function = known[node.callee.slot.index].value if node.callee.slot.index in known else None
    if (
        not isinstance(function, program.Function)
        or function.rule is not None
        or function.opaque
        or function.captures
        or function.self_slot is not None
    ):
        return None
    if len(node.arguments) != len(function.parameters) or any(
        argument.keyword for argument in node.arguments
    ):
        return None
    if len(function.body) != 1 or not isinstance(function.body[0], program.Return):
        return None
    return function


def expression_of(function: program.Function) -> program.Expression | None:
    """What a function of one expression returns."""
    statement = function.body[0]
    assert isinstance(statement, program.Return)
    return statement.value
