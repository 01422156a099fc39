"""Whether a program asks for derivatives of values only by variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...lang import program
from .derivative_flow import has_few_elements
from .nodes import WITH_OPS, ByKind, Nodes
from .requests import TAPE_REQUESTS, is_request

_BINDING = (program.NameTarget, program.EntryTarget, program.Tape, program.Import)
_OTHER = (program.Attach, program.Record, program.Backward)
# Requests that backward sweeps over records of any kind answer. Their sources are the second
# operand.
_REVERSE = frozenset(("grad", "vjp", "hvp"))
# The same if the sources have few elements; otherwise they ask what each element depends on.
_BY_FEW = frozenset(("jacobian", "hessian"))
_ALL_VARIABLES = "trainable_variables"
_USED = "watched_variables"  # in the order of their first use, which no region knows


class _Variables(NamedTuple):
    """The names of variables: names of a frame, of which some are sure to have `few` elements, and
    names of values with members."""

    names: set[str]
    few: set[str]
    members: set[str]


class _Request(NamedTuple):
    """A request for derivatives of a value. `by` are its sources, or None if they aren't an
    expression of their own; `needs_few` says whether they must have few elements."""

    by: Any
    needs_few: bool = False


def asks_by_variables(nodes: Nodes) -> bool:
    """Whether all derivatives of values that a program asks for are surely by variables. Where the
    text doesn't decide it, the answer is no."""
    if not nodes.kinds.isdisjoint(_OTHER):
        return False
    declarations = [found.get(program.Declare, []) for found in nodes.frames]
    declared, inside = map(_names, declarations)
    few = _names(filter(has_few_elements, declarations[0]))
    own, others = (_names([n for kind in _BINDING for n in f.get(kind, ())]) for f in nodes.frames)
    others |= _names(each for f in nodes.all(program.Function) for each in f.parameters)
    members = (declared | inside | {_ALL_VARIABLES}) - own - others - _keys(nodes)
    # A function assigns names of its own; those of the top level it only reads.
    for found, bound in zip(nodes.frames, (own, own | others), strict=True):
        variables = _Variables(declared - bound, few - bound, members)
        if not all(_is_by_variables(request, variables) for request in _requests(found)):
            return False
    return True


def _names(bound: Iterable[Any]) -> set[str]:
    return {node.slot.name for node in bound}


def _keys(nodes: Nodes) -> set[str]:
    """The keys that dicts may have."""
    keys = {key for display in nodes.all(program.DictDisplay) for key in display.keys}
    texts = {each.value for each in nodes.all(program.Constant) if type(each.value) is str}
    paths = [target.path for target in nodes.all(program.EntryTarget)]
    return keys | texts | {step for path in paths for step in path if type(step) is str}


def _requests(found: ByKind) -> Iterator[_Request]:
    """The requests for derivatives of values among these nodes."""
    for node in (node for kind in WITH_OPS for node in found.get(kind, ())):
        if node.op is None or not is_request(node.op) or node.op.transforms:
            continue
        needs_few = node.op.name in _BY_FEW and not _says_how(node)
        if not (needs_few or node.op.name in _REVERSE):
            yield _Request(None)
        elif isinstance(node, program.Apply):
            yield _Request(node.operands[1], needs_few)
        else:
            yield _Request(_argument(node, 0), needs_few)
    for node in found.get(program.MethodCall, ()):
        if node.name == _USED:
            yield _Request(None)
        if node.name in TAPE_REQUESTS and node.op is None:
            yield _Request(_argument(node, 1) if node.name == "gradient" else None)


def _says_how(node: Any) -> bool:
    """Whether a request says which entries it asks for, or in which mode."""
    given = [name for name, _ in getattr(node, "options", ())]
    given += [argument.keyword for argument in getattr(node, "arguments", ())]
    return "sparse" in given or "mode" in given


def _argument(node: Any, place: int) -> Any:
    """The sources among the arguments of a call; None where that isn't plain."""
    given = getattr(node, "arguments", ())
    named = [a.value for a in given if a.keyword in ("sources", "source")]
    positional = [argument.value for argument in given if not argument.keyword]
    return named[0] if named else positional[place] if len(positional) > place else None


def _is_by_variables(request: _Request, variables: _Variables) -> bool:
    source, needs_few = request
    items: tuple[Any, ...] | None = None
    if isinstance(source, program.ListDisplay):
        items = source.items
    elif isinstance(source, program.DictDisplay):
        items = source.values
    if items is not None:
        return all(_is_by_variables(_Request(item, needs_few), variables) for item in items)
    if isinstance(source, program.Member):
        return source.name in variables.members and not needs_few
    names = variables.few if needs_few else variables.names
    return isinstance(source, program.Read) and source.slot.name in names
