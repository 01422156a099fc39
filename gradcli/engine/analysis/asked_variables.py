"""Whether a program asks for gradients of values by variables alone, and by nothing in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...lang import program
from .nodes import Nodes
from .requests import TAPE_REQUESTS, is_request

_BINDING = (program.NameTarget, program.EntryTarget, program.Tape)
_OTHER = (program.Import, program.Attach, program.Record, program.Backward)


def asks_by_variables(nodes: Nodes) -> bool:
    """Whether a program asks for no derivatives of values but gradients, by what surely is a
    variable. Where the text doesn't decide it, the answer is no."""
    if not nodes.kinds.isdisjoint(_OTHER):
        return False
    parameters = [each for function in nodes.all(program.Function) for each in function.parameters]
    bound = {node.slot.name for node in (*nodes.all(*_BINDING), *parameters)}
    declared = {node.slot.name for node in nodes.own.get(program.Declare, ())}
    return all(_are_variables(source, declared - bound) for source in _sources(nodes))


def _sources(nodes: Nodes) -> Iterator[Any]:
    """What a program asks for derivatives by; none where that isn't an expression of its own, or
    where it asks for more than a gradient."""
    for node in nodes.with_ops():
        if node.op is None or not is_request(node.op) or node.op.transforms:
            continue
        if node.op.name != "grad":
            yield None
        elif isinstance(node, program.Apply):
            yield node.operands[1]
        else:
            yield _argument(node, 0)
    for node in nodes.all(program.MethodCall):
        if node.name in TAPE_REQUESTS and node.op is None:
            yield _argument(node, 1) if node.name == "gradient" else None


def _argument(node: Any, place: int) -> Any:
    """The sources among the arguments of a call; None where that isn't plain."""
    given = getattr(node, "arguments", ())
    named = [argument.value for argument in given if argument.keyword == "sources"]
    positional = [argument.value for argument in given if not argument.keyword]
    return named[0] if named else positional[place] if len(positional) > place else None


def _are_variables(source: Any, names: set[str]) -> bool:
    if isinstance(source, program.ListDisplay):
        return all(_are_variables(item, names) for item in source.items)
    if isinstance(source, program.DictDisplay):
        return all(_are_variables(item, names) for item in source.values)
    return isinstance(source, program.Read) and source.slot.name in names
