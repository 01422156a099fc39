"""What `trace` answers: plain dataclasses, for the reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..diagnostics import CallSite, Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Source:
    """A variable. `number` is negative; `cotangent` is the derivative by it, None where there is
    none."""

    number: int
    name: str
    span: Span | None
    value: Any
    cotangent: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One record of the trace.

    op         its name; `of` the operation whose derivative it is a part of, "" for the program's
    operands   those on the trace by their numbers, others as text
    inputs     the numbers of operands, each once, and `partials` the derivatives by them; None for
               one that is no number and no array of them
    text       what the program says there
    value      a number, or an array in a few numbers; None for several results
    shape      of the result; None for several
    size       bytes of the result
    cotangent  the derivative of the targets by the result; None where no sweep comes here
    active     whether gradients pass
    """

    number: int
    op: str
    of: str
    operands: tuple[int | str, ...]
    inputs: tuple[int, ...]
    span: Span
    calls: tuple[CallSite, ...]
    text: str
    value: Any
    shape: tuple[int, ...] | None
    size: int
    partials: tuple[Any, ...]
    cotangent: Any
    active: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, folded: its `iterations`, the number of their operations and the bytes of these, and
    what was done in the last one."""

    span: Span
    text: str
    iterations: int
    operations: int
    size: int
    body: tuple[Entry, ...]


Entry: TypeAlias = Operation | Loop


@dataclass(slots=True)
class Traced:
    """What was recorded of one program.

    targets     the numbers of what cotangents are of, by name
    earlier     for numbers that folded loops don't show, and something shown reads: those of the
                same operations in the last iteration
    operations  how many there are, folded or not, and `size` the bytes of their results
    """

    file: str
    sources: list[Source] = field(default_factory=list)
    entries: Sequence[Entry] = ()
    targets: dict[str, list[int]] = field(default_factory=dict)
    earlier: dict[int, int] = field(default_factory=dict)
    operations: int = 0
    size: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return max([0, *(d.exit_code for d in self.diagnostics)])


def shown(entries: Sequence[Entry]) -> Iterator[Operation]:
    """The operations in entries, and in their loops, in order."""
    for entry in entries:
        if isinstance(entry, Loop):
            yield from shown(entry.body)
        else:
            yield entry
