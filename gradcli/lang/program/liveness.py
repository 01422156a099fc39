"""Which names of a frame are still read: what different paths assigned needs to become one again
only then.

Computed when it is first asked for. Sets are of slots by index; where in doubt a slot is alive.
Cells always are: other functions read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .expressions import Read
from .statements import (
    Assign,
    Augment,
    Break,
    Continue,
    Evaluate,
    ExpectError,
    For,
    If,
    ListTarget,
    NameTarget,
    Pause,
    Program,
    Record,
    Return,
    Statement,
    Tape,
    Target,
    While,
)
from .walks import own_nodes

Slots = frozenset[int]
_NOTHING: Slots = frozenset()


class Liveness:
    """The liveness of the names of one body."""

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self._body = body
        self._after: dict[int, Slots] = {}
        self._into: dict[int, tuple[Slots, Slots]] = {}

    def after(self, node: Statement) -> Slots:
        """The slots that may be read after a statement, by falling through it or by a jump out of
        it."""
        self._ready()
        return self._after[id(node)]

    def into(self, loop: While | For) -> tuple[Slots, Slots]:
        """The slots that the condition of a loop reads, and those that the rest of an iteration, or
        what follows it, may read though this iteration doesn't assign them first."""
        self._ready()
        return self._into[id(loop)]

    def _ready(self) -> None:
        if not self._after:
            self._block(self._body, _NOTHING, _NOTHING)

    def _block(self, body: tuple[Statement, ...], out: Slots, jumps: Slots) -> Slots:
        """What is alive before the statements; `out` is what is after them, `jumps` where `break`
        and `continue` go."""
        for statement in reversed(body):
            self._after[id(statement)] = self._after.get(id(statement), _NOTHING) | out | jumps
            out = self._before(statement, out, jumps)
        return out

    def _before(self, node: Statement, out: Slots, jumps: Slots) -> Slots:
        if isinstance(node, If):
            before = self._block(node.otherwise, out, jumps)
            for condition, body in node.branches:
                before |= _reads(condition) | self._block(body, out, jumps)
            return before
        if isinstance(node, While | For):
            condition = node.condition if isinstance(node, While) else node.iterable
            assigned = _assigned(node.target) if isinstance(node, For) else _NOTHING
            head = out | _reads(condition)
            asked = _reads(condition) if isinstance(node, While) else _NOTHING
            while True:
                into = self._block(node.body, head, jumps | head) - assigned
                if into <= head:
                    self._into[id(node)] = asked, into
                    return head
                head |= into
        if isinstance(node, Tape):
            inside = self._block(node.body, out, jumps) - {node.slot.index}
            return inside | _reads(*[value for _, value in node.options])
        if isinstance(node, Pause | Record):
            return self._block(node.body, out, jumps)
        if isinstance(node, ExpectError):
            return self._block(node.body, out, jumps) | out
        if isinstance(node, Assign):
            return (out - _assigned(node.target)) | _reads(node.target, node.value)
        if isinstance(node, Augment):
            return out | _reads(node) | frozenset((node.target.slot.index,))
        if isinstance(node, Return):
            return _reads(node)
        if isinstance(node, Break | Continue):
            return jumps
        return out | _reads(node)


def of_program(node: Program, names: Iterable[str] = ()) -> Liveness:
    """The liveness of the names of a program whose results are read when it has ended, and those of
    its names that are among these."""
    reads = [Read(node.names[n], span=node.span) for n in names if n in node.names]
    read_last = [*[result for _, result in node.results], *reads]
    return Liveness((*node.body, *[Evaluate(each, span=each.span) for each in read_last]))


def _assigned(target: Target) -> Slots:
    if isinstance(target, NameTarget):
        return frozenset((target.slot.index,))
    return (
        frozenset().union(*map(_assigned, target.items))
        if isinstance(target, ListTarget)
        else _NOTHING
    )


def _reads(*nodes: Any) -> Slots:
    """Every slot that the nodes name but to assign it."""
    found = set()
    for node in own_nodes(nodes):
        slot = None if isinstance(node, NameTarget) else getattr(node, "slot", None)
        if slot is not None:
            found.add(slot.index)
    return frozenset(found)
