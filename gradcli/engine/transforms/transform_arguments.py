"""What a transform is called with: the vector, keywords at their positions, lists of numbers as arrays; and the structure
of what it differentiates by."""

from __future__ import annotations

from typing import Any

from ...ops.op import Op
from ..operations.instances import call_member
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import Instance, List, Transform, leaves, map_structure, read

VECTORS = {"jvp": "v", "value_and_jvp": "v", "hvp": "v", "vjp": "u"}  # the keyword of the vector, by kind


def take_vector(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    """Takes the vector out of the arguments. With `wrt` they come in the function's order, and the vector by its keyword."""
    name, called = VECTORS[transform.kind], transform.name
    if name in keywords:
        return keywords.pop(name)
    if transform.wrt != 0:
        run.fail("E308", f"`{called}` with `wrt` takes the vector as a keyword", site.span, help=f"`{called}(…, {name} = …)`")
    if len(arguments) < 2:
        help = f"`{called}(x, {name})`, or the keyword `{name} = …`"
        run.fail("E308", f"`{called}` needs a vector `{name}`", site.span, help=help)
    return arguments.pop(1)


def take_positions(run: Run, function: Any, arguments: list[Any], keywords: dict[str, Any], site: Site) -> None:
    """Moves keyword arguments to their positions, as far as these are without a gap."""
    while type(function) is Transform:
        function = function.function
    if type(function) is Instance:
        function = call_member(run, function, site.span)
    if isinstance(function, Op):
        names = [] if function.signature.variadic else [p.name for p in function.signature.operands]
    else:
        names = [name for name, _, _ in function.code.parameters]
    for name in names[len(arguments) :]:
        if name not in keywords:
            return
        arguments.append(keywords.pop(name))


class Structure:
    """The arguments that a transform differentiates by: from a flat list of their numbers to their structure."""

    __slots__ = ("arguments", "flat", "listed", "numbers")

    def __init__(self, transform: Transform, arguments: list[Any]) -> None:
        wrt = transform.wrt
        self.listed = isinstance(wrt, list)
        if not isinstance(wrt, list):
            self.arguments = argument = arguments[wrt]
            self.flat = type(argument) is not List and type(argument) is not dict  # the common case, made short
            self.numbers = [read(v) for v in leaves(argument)] if not self.flat else [read(argument)]
            return
        chosen = [arguments[k] for k in transform.positions]
        self.arguments = List(chosen)
        self.flat = not any([type(v) is List or type(v) is dict for v in chosen])  # noqa: C419
        self.numbers = [read(v) for v in (chosen if self.flat else leaves(self.arguments))]

    def of(self, values: list[Any]) -> Any:
        if self.flat:
            return List(values) if self.listed else values[0]
        rest = iter(values)
        return map_structure(lambda v: next(rest), self.arguments)
