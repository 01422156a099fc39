"""Whether a program asks for derivatives of values by nothing but variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...lang import program
from .nodes import WITH_OPS, ByKind, Nodes
from .requests import TAPE_REQUESTS, is_request

_BINDING = (program.NameTarget, program.EntryTarget, program.Tape, program.Import)
_OTHER = (program.Attach, program.Record, program.Backward)
# Requests that sweeps back over the records answer, by their second operand, whatever a record is
# of. Jacobians ask what each element depends on.
_REVERSE = frozenset(("grad", "vjp", "hvp"))
_ALL_VARIABLES = "trainable_variables"
_USED = "watched_variables"  # in order of their first use, which no region tells


class _Variables(NamedTuple):
    """How variables are called: by names of a frame, and by names of what has members."""

    names: set[str]
    members: set[str]


def asks_by_variables(nodes: Nodes) -> bool:
    """Whether a program asks for no derivatives of values but by what surely is a variable. Where
    the text doesn't decide it, the answer is no."""
    if not nodes.kinds.isdisjoint(_OTHER):
        return False
    declared, inside = (_names(found.get(program.Declare, ())) for found in nodes.frames)
    own, others = (_names([n for kind in _BINDING for n in f.get(kind, ())]) for f in nodes.frames)
    others |= _names(each for f in nodes.all(program.Function) for each in f.parameters)
    members = (declared | inside | {_ALL_VARIABLES}) - own - others - _keys(nodes)
    # A function assigns names of its own; those of the top level it only reads.
    for found, bound in zip(nodes.frames, (own, own | others), strict=True):
        variables = _Variables(declared - bound, members)
        if not all(_are_variables(source, variables) for source in _sources(found)):
            return False
    return True


def _names(bound: Iterable[Any]) -> set[str]:
    return {node.slot.name for node in bound}


def _keys(nodes: Nodes) -> set[str]:
    """What the entries of dicts may be called."""
    keys = {key for display in nodes.all(program.DictDisplay) for key in display.keys}
    texts = {each.value for each in nodes.all(program.Constant) if type(each.value) is str}
    paths = [target.path for target in nodes.all(program.EntryTarget)]
    return keys | texts | {step for path in paths for step in path if type(step) is str}


def _sources(found: ByKind) -> Iterator[Any]:
    """What these nodes ask for derivatives by; none where that isn't an expression of its own, or
    where no sweep back answers it."""
    for node in (node for kind in WITH_OPS for node in found.get(kind, ())):
        if node.op is None or not is_request(node.op) or node.op.transforms:
            continue
        if node.op.name not in _REVERSE:
            yield None
        elif isinstance(node, program.Apply):
            yield node.operands[1]
        else:
            yield _argument(node, 0)
    for node in found.get(program.MethodCall, ()):
        if node.name == _USED:
            yield None
        if node.name in TAPE_REQUESTS and node.op is None:
            yield _argument(node, 1) if node.name == "gradient" else None


def _argument(node: Any, place: int) -> Any:
    """The sources among the arguments of a call; None where that isn't plain."""
    given = getattr(node, "arguments", ())
    named = [a.value for a in given if a.keyword in ("sources", "source")]
    positional = [argument.value for argument in given if not argument.keyword]
    return named[0] if named else positional[place] if len(positional) > place else None


def _are_variables(source: Any, variables: _Variables) -> bool:
    if isinstance(source, program.ListDisplay):
        return all(_are_variables(item, variables) for item in source.items)
    if isinstance(source, program.DictDisplay):
        return all(_are_variables(item, variables) for item in source.values)
    if isinstance(source, program.Member):
        return source.name in variables.members
    return isinstance(source, program.Read) and source.slot.name in variables.names
