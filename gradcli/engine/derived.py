"""Which outputs of a program are computed from derivatives, as its text tells: constants have no history that could."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostics import Span
from ..lang import program

_TAPE_REQUESTS = frozenset(("gradient", "jacobian", "batch_jacobian"))


def derived_outputs(node: program.Program) -> set[str]:
    """The outputs whose expressions ask for a derivative, or read a name that one was assigned to."""
    assigned: list[tuple[set[int], Any]] = []
    outputs = list(node.results)
    for item in _walk(node.body):
        if isinstance(item, program.Assign):
            slots = {t.slot.index for t in _walk((item.target,)) if isinstance(t, program.NameTarget | program.EntryTarget)}
            assigned.append((slots, item.value))
        elif isinstance(item, program.Output):
            outputs += item.items
    derived: set[int] = set()
    while True:
        more = {k for slots, value in assigned for k in slots if k not in derived and _asks(value, derived)}
        if not more:
            return {name for name, value in outputs if _asks(value, derived)}
        derived |= more


def _asks(value: Any, derived: set[int]) -> bool:
    for item in _walk((value,)):
        if isinstance(item, program.Read) and item.slot.index in derived:
            return True
        if (
            isinstance(item, program.Apply)
            and item.op.category == "derivatives"
            and item.op.name not in ("detach", "stop_gradient")
        ):
            return True
        if isinstance(item, program.MethodCall) and item.name in _TAPE_REQUESTS:
            return True
    return False


def _walk(nodes: Any) -> Iterator[Any]:
    """Every node below, of the top level's frame: functions have frames, and so names, of their own."""
    pending = list(nodes)
    while pending:
        item = pending.pop()
        if isinstance(item, program.Function):
            continue
        if isinstance(item, program.Node | program.Argument):
            yield item
            pending.extend(getattr(item, name) for name in item.FIELDS if name != "span")
        elif isinstance(item, tuple) and not isinstance(item, Span):
            pending.extend(item)
