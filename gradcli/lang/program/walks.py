"""Walks over the resolved tree: the nodes below others, the statements and the cells of a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from .expressions import Argument, Function, FunctionParameter, ModuleLiteral
from .nodes import Node, Slot
from .statements import (
    ExpectError,
    For,
    If,
    Import,
    Pause,
    Program,
    Record,
    Statement,
    Tape,
    While,
)


class _Parts(dict[type, "Callable[[Any], tuple[Any, ...]] | None"]):
    """What takes a kind of node apart: into the fields in which there may be others. None for what
    is no node."""

    def __missing__(self, kind: Any) -> Callable[[Any], tuple[Any, ...]] | None:
        parts: Callable[[Any], tuple[Any, ...]] | None = None
        if issubclass(kind, Node | Argument | FunctionParameter):
            names = kind.FIELDS
            parts = (
                attrgetter(*names)
                if len(names) > 1
                else lambda node: tuple([getattr(node, name) for name in names])
            )
        self[kind] = parts  # once only, for other threads
        return parts


PARTS = _Parts()
_BLOCKS = While | For | ExpectError | Tape | Pause | Record
_OWN_FRAMES = frozenset((Function, Program))


def own_nodes(nodes: Any, closed: frozenset[type] = _OWN_FRAMES) -> Iterator[Any]:
    """Every node below, but for those of `closed` kinds and what is in them: functions and imported
    programs, which have frames, and so names, of their own."""
    pending = list(nodes)
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is tuple:
            pending.extend(item)
        elif kind not in closed and (parts := PARTS[kind]) is not None:
            yield item
            pending.extend(parts(item))


def inside(statement: Statement) -> Iterator[Statement]:
    """The statements in a statement, but for those nested deeper, in the order of the text."""
    if isinstance(statement, If):
        for _, branch in statement.branches:
            yield from branch
        yield from statement.otherwise
    elif isinstance(statement, _BLOCKS):
        yield from statement.body


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement of a frame, wherever it is nested, in the order of the text."""
    for statement in body:
        yield statement
        yield from statements(inside(statement))


def own_cells(body: Any, parameters: tuple[FunctionParameter, ...] = ()) -> set[int]:
    """The slots of a frame that hold cells, as the nodes of its body mention them (inner functions
    have their own frames)."""
    found = {p.slot.index for p in parameters if p.slot.cell}
    pending: list[Any] = list(body)
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is tuple:
            pending.extend(node)
        elif kind is Slot:
            if node.cell:
                found.add(node.index)
        elif kind is Import:
            pending.append(node.slot)  # the imported program has a frame of its own
        elif kind is ModuleLiteral:
            pending.append(node.function)  # the members are slots of its frame
        elif kind is Function:
            found.update([outer.index for outer, _ in node.captures])
            pending.extend([p.default for p in node.parameters])
        elif (parts := PARTS[kind]) is not None:
            pending.extend(parts(node))
    return found
