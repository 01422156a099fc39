"""What all nodes of a resolved program are made of: a span, and slots for names."""

from __future__ import annotations

from ...diagnostics import Span
from ...frozen import Frozen, field, frozen


@frozen(kw_only=True)
class Node(Frozen):
    span: Span = field(compare=False)


@frozen
class Slot(Frozen):
    """Where a name lives in its frame. `cell`: the slot holds a box shared with inner functions."""

    index: int
    name: str
    cell: bool = False
