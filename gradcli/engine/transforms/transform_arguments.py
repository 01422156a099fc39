"""The arguments of a transform: the vector, keywords, and the sources that it differentiates by."""

from __future__ import annotations

from typing import Any

from ...ops.derivative import VECTORS
from ...ops.op import Op
from ..operations.instances import call_member
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import Instance, List, Transform, leaves, map_structure, read


def take_vector(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Removes the vector from the arguments and returns it.

    With `wrt` the arguments come in the function's order, and the vector must be a keyword.
    """
    name, called = VECTORS[transform.kind], transform.name
    if name in keywords:
        return keywords.pop(name)
    if transform.wrt != 0:
        run.fail(
            "E308",
            f"`{called}` with `wrt` takes the vector as a keyword",
            site.span,
            help=f"`{called}(…, {name} = …)`",
        )
    if len(arguments) < 2:
        help = f"`{called}(x, {name})`, or the keyword `{name} = …`"
        run.fail("E308", f"`{called}` needs a vector `{name}`", site.span, help=help)
    return arguments.pop(1)


def take_positions(
    run: Run, function: Any, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> None:
    """Moves keyword arguments to their positions, up to the first parameter that is missing."""
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


class Sources:
    """The arguments that a transform differentiates by: their structure, and the flat list of their
    numbers.
    """

    __slots__ = ("arguments", "flat", "listed", "numbers")

    def __init__(self, transform: Transform, arguments: list[Any]) -> None:
        wrt = transform.wrt
        self.listed = isinstance(wrt, list)
        if not isinstance(wrt, list):
            self.arguments = argument = arguments[wrt]
            self.flat = type(argument) is not List and type(argument) is not dict  # the fast path
            self.numbers = (
                [read(v) for v in leaves(argument)] if not self.flat else [read(argument)]
            )
            return
        selected = [arguments[k] for k in transform.positions]
        self.arguments = List(selected)
        self.flat = not any([type(v) is List or type(v) is dict for v in selected])  # noqa: C419
        self.numbers = [read(v) for v in (selected if self.flat else leaves(self.arguments))]

    def rebuild(self, values: list[Any]) -> Any:
        """Returns the structure of the arguments with these values in place of their numbers."""
        if self.flat:
            return List(values) if self.listed else values[0]
        rest = iter(values)
        return map_structure(lambda v: next(rest), self.arguments)
