"""Control flow, read from the text alone: where paths through statements go, and what they
assign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....lang import program
from ....lang.program.walks import inside, own_nodes, statements

_TOUCHING = (
    program.Update,
    program.Tape,
    program.Watch,
    program.Pause,
    program.Record,
    program.Attach,
)
_LEAVING = (program.Return, program.Break, program.Continue)
# Statements that are compiled, but for those that leave.
COMPILED = (
    program.Assign,
    program.Augment,
    program.Evaluate,
    program.If,
    program.While,
    program.For,
    program.Update,
    program.Tape,
    program.Pause,
    program.Watch,
)


def leaves(node: Any) -> bool:
    """Whether a path can end inside an `if`: by `return`, `break` or `continue`, or at a statement
    that isn't compiled."""
    if isinstance(node, program.If):
        return any(not isinstance(s, COMPILED) or leaves(s) for s in inside(node))
    return is_loop(node) and returns(node)


def stops(body: Sequence[Any]) -> bool:
    """Whether some iterations of a loop with this body, but not all, come to a statement that isn't
    compiled."""
    known = (*COMPILED, *_LEAVING)
    if not all(isinstance(s, known) for s in body):
        return False
    branches = [list(inside(s)) for s in body if isinstance(s, program.If)]
    return any(stops(each) or not all(isinstance(s, known) for s in each) for each in branches)


def is_loop(node: Any) -> bool:
    return isinstance(node, program.While | program.For)


def returns(node: Any) -> bool:
    return any(isinstance(s, program.Return) for s in statements(inside(node)))


def breaks(body: Sequence[Any]) -> bool:
    """Whether a loop with this body can be left by `break`."""
    return any(
        isinstance(s, program.Break) or (isinstance(s, program.If) and breaks(list(inside(s))))
        for s in body
    )


def assigned(nodes: Sequence[Any]) -> Iterator[program.Slot]:
    """The slots that statements assign."""
    for node in statements(nodes):
        if isinstance(node, program.Assign | program.Augment | program.For):
            yield from _slots(node.target)
        elif isinstance(node, program.Declare | program.Tape | program.Import):
            yield node.slot


def _slots(target: Any) -> Iterator[program.Slot]:
    if isinstance(target, program.ListTarget):
        for item in target.items:
            yield from _slots(item)
    else:
        yield target.slot


def touches_variables(node: Any) -> bool:
    """Whether a statement or a function, or a function in it, changes the states of variables, asks
    for derivatives of values, or says what is recorded."""
    return any(map(_touches, own_nodes([node], frozenset((program.Program,)))))


def _touches(node: Any) -> bool:
    if isinstance(node, program.Apply | program.MethodCall):
        return node.op is not None and node.op.of_function is not None
    return isinstance(node, _TOUCHING)


def draws(node: Any) -> bool:
    """Whether a statement or a function, or a function in it, draws random numbers."""
    return any(map(is_draw, own_nodes([node], frozenset((program.Program,)))))


def is_draw(node: Any) -> bool:
    """Whether a node names a random builtin."""
    named = isinstance(node, program.Apply | program.MethodCall | program.Builtin)
    return named and node.op is not None and node.op.category == "random"


def appends(node: Any) -> bool:
    """Whether a statement or an expression appends to lists."""
    return any(map(_is_append, own_nodes([node])))


def grown(node: Any) -> set[int]:
    """The slots of the lists to which a loop may append: `l = append(l, item)`,
    `l = l.append(item) if is_new else l`."""
    assigned = [n for n in own_nodes([node]) if isinstance(n, program.Assign)]
    targets = [n.target for n in assigned if appends(n.value)]
    return {target.slot.index for target in targets if isinstance(target, program.NameTarget)}


def _is_append(node: Any) -> bool:
    named = isinstance(node, program.Apply | program.MethodCall)
    return named and node.op is not None and node.op.name == "append"
