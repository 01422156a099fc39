"""Which names of a frame are still read: what rows that took different paths assigned needs to
become one again only then.

Computed when rows first divide in a function, and never for programs whose rows don't. Sets are of
slots by index; where in doubt a slot is alive. Cells always are: other functions read them.
"""

from __future__ import annotations

from typing import Any

from ...lang import program
from ...lang.program.walks import own_nodes

Slots = frozenset[int]
_NOTHING: Slots = frozenset()


class Liveness:
    """The liveness of the names of one body."""

    def __init__(self, body: tuple[program.Statement, ...]) -> None:
        self._body = body
        self._after: dict[int, Slots] = {}

    def after(self, node: program.Statement) -> Slots:
        """The slots that may be read after a statement, by falling through it or by a jump out of
        it."""
        if not self._after:
            self._block(self._body, _NOTHING, _NOTHING)
        return self._after[id(node)]

    def _block(self, body: tuple[program.Statement, ...], out: Slots, jumps: Slots) -> Slots:
        """What is alive before the statements; `out` is what is after them, `jumps` where `break`
        and `continue` go."""
        for statement in reversed(body):
            self._after[id(statement)] = self._after.get(id(statement), _NOTHING) | out | jumps
            out = self._before(statement, out, jumps)
        return out

    def _before(self, node: program.Statement, out: Slots, jumps: Slots) -> Slots:
        if isinstance(node, program.If):
            before = self._block(node.otherwise, out, jumps)
            for condition, body in node.branches:
                before |= _reads(condition) | self._block(body, out, jumps)
            return before
        if isinstance(node, program.While | program.For):
            condition = node.condition if isinstance(node, program.While) else node.iterable
            assigned = _assigned(node.target) if isinstance(node, program.For) else _NOTHING
            head = out | _reads(condition)
            while True:
                again = head | (self._block(node.body, head, jumps | head) - assigned)
                if again == head:
                    return head
                head = again
        if isinstance(node, program.Tape | program.Pause | program.Record | program.ExpectError):
            inside = self._block(node.body, out, jumps)
            return (
                inside
                | out
                | _reads(
                    *(
                        [value for _, value in node.options]
                        if isinstance(node, program.Tape)
                        else []
                    )
                )
            )
        if isinstance(node, program.Assign):
            return (out - _assigned(node.target)) | _reads(node.target, node.value)
        if isinstance(node, program.Augment):
            return out | _reads(node) | frozenset((node.target.slot.index,))
        if isinstance(node, program.Return):
            return _reads(node)
        if isinstance(node, program.Break | program.Continue):
            return jumps
        return out | _reads(node)


def _assigned(target: program.Target) -> Slots:
    if isinstance(target, program.NameTarget):
        return frozenset((target.slot.index,))
    return (
        frozenset().union(*map(_assigned, target.items))
        if isinstance(target, program.ListTarget)
        else _NOTHING
    )


def _reads(*nodes: Any) -> Slots:
    """Every slot that the nodes name but to assign it."""
    found = set()
    for node in own_nodes(nodes):
        slot = None if isinstance(node, program.NameTarget) else getattr(node, "slot", None)
        if slot is not None:
            found.add(slot.index)
    return frozenset(found)
