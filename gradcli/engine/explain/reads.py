"""The places where a program's text reads a variable, and whether they were executed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ..analysis.requests import TAPE_REQUESTS, is_request


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
