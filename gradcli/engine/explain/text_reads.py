"""What a program's text tells of a run: where it reads a variable, and whether that was executed;
and the places that may decide one of its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...lang import program
from ...lang.program.walks import own_nodes, statements
from ..analysis.requests import TAPE_REQUESTS, is_request, named_outputs
from ..trace.tape import Traced

# ---- where a variable is read --------------------------------------------------------------------


class Reads:
    """The reads in a program of which these statements were executed, by their identities."""

    def __init__(self, node: program.Program, executed: set[int]) -> None:
        self._node, self._executed = node, executed

    # ---- on paths that weren't taken -------------------------------------------------------------

    @cached_property
    def _skipped(self) -> dict[str, list[tuple[Span, Span | None, bool]]]:
        """Maps each name to its reads in statements that weren't executed, in the order of the
        text.

        A read is a span, its module, and whether the name is that of a member.
        """
        found: dict[str, list[tuple[Span, Span | None, bool]]] = {}
        pending: list[tuple[Any, bool, Span | None]] = [(self._node.body, True, None)]
        while pending:
            item, ran, module = pending.pop()
            if isinstance(item, program.Read):
                if not ran:
                    found.setdefault(item.slot.name, []).append((item.span, module, False))
            elif isinstance(item, program.Node | program.Argument):
                if isinstance(item, program.Statement):
                    ran = id(item) in self._executed
                if isinstance(item, program.Member) and not ran:
                    found.setdefault(item.name, []).append((item.span, module, True))
                if isinstance(item, program.ModuleLiteral):
                    module = item.span
                pending += [(getattr(item, field), ran, module) for field in item.FIELDS]
            elif isinstance(item, tuple) and not isinstance(item, Span):
                pending += [(child, ran, module) for child in reversed(item)]
        return found

    def skipped(self, path: str, declared: Span | None) -> Span | None:
        """Returns the first read, in a statement that wasn't executed, of a variable by its name,
        as a member, or in the module that declares it.
        """
        of, _, name = path.rpartition(".")
        for span, module, member in self._skipped.get(name, ()):
            own = module is not None and declared is not None and _contains(module, declared)
            if (member and of) or (not member and (own if of else module is None or own)):
                return span
        return None

    # ---- on the path that was taken --------------------------------------------------------------

    def executed(self, declared: Span | None) -> Span | None:
        """Returns the first read, in a statement that was executed, of the variable declared there
        at the top level, in functions too. What asks for a derivative by it doesn't read it.
        """
        slot = next(
            (
                item.slot.index
                for item in self._node.body
                if isinstance(item, program.Declare) and item.span == declared
            ),
            None,
        )
        pending: list[tuple[Any, int | None]] = [(self._node.body, slot)]
        while pending and slot is not None:
            item, at = pending.pop()
            if isinstance(item, program.Read):
                if item.slot.index == at:
                    return item.span
            elif isinstance(item, program.Function):
                held = {outer.index: inner.index for outer, inner in item.captures}
                pending += [(p.default, at) for p in reversed(item.parameters)]
                if at in held:
                    pending.append((item.body, held[at]))
            elif isinstance(item, program.Node | program.Argument):
                if not isinstance(item, program.Statement) or id(item) in self._executed:
                    pending += [(part, at) for part in reversed(_reading(item))]
            elif isinstance(item, tuple) and not isinstance(item, Span):
                pending += [(child, at) for child in reversed(item)]
        return None


def _reading(item: Any) -> list[Any]:
    """The parts of a node that are read, without the sources of a derivative that it asks for."""
    if isinstance(item, program.Watch | program.Attach):
        return []
    if isinstance(item, program.Apply) and is_request(item.op):
        return list(item.operands[:1])
    if isinstance(item, program.MethodCall) and item.name in TAPE_REQUESTS:
        return list(item.arguments[:1])
    return [getattr(item, field) for field in item.FIELDS]


def _contains(outer: Span, inner: Span) -> bool:
    return outer.source is inner.source and outer.start <= inner.start and inner.end <= outer.end


# ---- what may decide an output -------------------------------------------------------------------


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
