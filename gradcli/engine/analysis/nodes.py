"""The nodes of a program by kind: one walk over its text, which all facts share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ...lang import program
from ...lang.program.walks import PARTS
from ...ops.op import Op

ByKind = dict[type, list[Any]]
# The kinds of nodes that may name an op.
WITH_OPS = (program.Apply, program.Builtin, program.MethodCall, program.Augment, program.Update)


class Nodes:
    """The nodes of a program by kind: its `own`, and those `inside` functions and imported
    programs, which have frames of their own; these count as inside themselves."""

    def __init__(self, node: program.Program) -> None:
        self.program = node
        self.own: ByKind = {}
        self.inside: ByKind = {}
        frames: list[Any] = []
        _sort(node.body, self.own, frames)
        while frames:
            inner = frames.pop()
            self.inside.setdefault(type(inner), []).append(inner)
            parts = PARTS[type(inner)]
            assert parts is not None
            _sort(parts(inner), self.inside, frames)

    @property
    def frames(self) -> tuple[ByKind, ByKind]:
        """The nodes of the top level, and those inside."""
        return self.own, self.inside

    def all(self, *kinds: type) -> Iterator[Any]:
        """Yields the nodes of these kinds, wherever they are."""
        for found in self.frames:
            for kind in kinds:
                yield from found.get(kind, ())

    @cached_property
    def kinds(self) -> set[type]:
        """The kinds of all nodes."""
        return self.own.keys() | self.inside.keys()

    def with_ops(self) -> Iterator[Any]:
        """Yields the nodes that may name an op."""
        return self.all(*WITH_OPS)

    @cached_property
    def ops(self) -> set[Op]:
        """The ops that the program names."""
        return {item.op for item in self.with_ops() if item.op is not None}


def _sort(parts: tuple[Any, ...], found: ByKind, frames: list[Any]) -> None:
    """Adds all nodes below to `found`, but for those with frames of their own: these are added to
    `frames`."""
    pending = list(parts)
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is tuple:
            pending.extend(item)
        elif kind is program.Function or kind is program.Program:
            frames.append(item)
        elif (parts_of := PARTS[kind]) is not None:
            if kind in found:
                found[kind].append(item)
            else:
                found[kind] = [item]
            pending.extend(parts_of(item))
