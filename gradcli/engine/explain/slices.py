"""The places in a program's text that may decide one of its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...lang import program
from ...lang.program.walks import own_nodes, statements
from ..analysis.requests import named_outputs
from ..trace.tape import Traced


class _Piece(NamedTuple):
    """A statement of the top level: the names that it assigns, by their slots, or the outputs that
    it gives; and the expressions that it reads, with those that decide whether it is executed."""

    assigned: set[int | str]
    read: list[Any]


def places_of(node: program.Program, name: str) -> list[Span] | None:
    """The expressions at the top level that a name, or an output, may come from, with the
    conditions around them; None where that can't be told from the text."""
    if node.has_modules or any(isinstance(item, program.Update) for item in _all_nodes(node.body)):
        return None
    outputs = [value for output, value in named_outputs(node) if output == name]
    slot = node.names.get(name)
    if not outputs and slot is None:
        return None
    needed: set[int | str] = {name} if slot is None else {name, slot.index}
    read = list(outputs)
    pieces = [*_pieces(node.body, [])]
    places: list[Span] = []
    while True:
        places += [part.span for part in read]
        needed |= _reads(read)
        taken = [p for p in pieces if not needed.isdisjoint(p.assigned)]
        if not taken:
            return places
        pieces = [p for p in pieces if needed.isdisjoint(p.assigned)]
        read = [part for piece in taken for part in piece.read]


def is_in(use: tuple[Traced, Span], places: Iterable[Span]) -> bool:
    """Whether something was decided in one of these places, or in a function called there."""
    (_, number, segment), span = use
    calls = segment.calls_to(number)
    at = calls[-1].span if calls else span
    return any(
        place.source is at.source and place.start <= at.start and at.end <= place.end
        for place in places
    )


def _pieces(body: Iterable[Any], around: list[Any]) -> Iterator[_Piece]:
    for item in body:
        if isinstance(item, program.Assign | program.Augment):
            yield _Piece(_slots(item.target), [item.target, item.value, *around])
        elif isinstance(item, program.Declare):
            yield _Piece({item.slot.index}, [*([item.value] if item.value else []), *around])
        elif isinstance(item, program.If):
            conditions = [condition for condition, _ in item.branches]
            for _, branch in item.branches:
                yield from _pieces(branch, [*around, *conditions])
            yield from _pieces(item.otherwise, [*around, *conditions])
        elif isinstance(item, program.While):
            yield from _pieces(item.body, [*around, item.condition, *_ends(item.body)])
        elif isinstance(item, program.For):
            yield _Piece(_slots(item.target), [item.iterable, *around])
            yield from _pieces(item.body, [*around, item.iterable, *_ends(item.body)])
        elif isinstance(item, program.Tape | program.Pause | program.Record):
            yield from _pieces(item.body, around)
        elif isinstance(item, program.Output):
            yield _Piece({name for name, _ in item.items}, around)


def _ends(body: Iterable[Any]) -> Iterator[Any]:
    """The conditions that decide whether a turn of a loop, or the loop, ends early."""
    for item in statements(body):
        if isinstance(item, program.If) and any(
            isinstance(part, program.Break | program.Continue) for part in statements((item,))
        ):
            yield from (condition for condition, _ in item.branches)


def _slots(target: Any) -> set[int | str]:
    return {
        item.slot.index
        for item in own_nodes((target,))
        if isinstance(item, program.NameTarget | program.EntryTarget)
    }


def _reads(nodes: Iterable[Any]) -> set[int]:
    """The names of the top level that expressions read, in functions too."""
    found: set[int] = set()
    for item in own_nodes(tuple(nodes)):
        if isinstance(item, program.Read | program.EntryTarget):
            found.add(item.slot.index)
        elif isinstance(item, program.FunctionLiteral):
            found.update([outer.index for outer, _ in item.function.captures])
            found |= _reads(p.default for p in item.function.parameters)
    return found


def _all_nodes(body: Any) -> Iterator[Any]:
    """Every node of a program, those of functions among them."""
    return own_nodes(body, frozenset())
