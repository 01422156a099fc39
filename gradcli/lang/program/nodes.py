"""What all nodes of a resolved program are made of: a span, and slots for names."""

from __future__ import annotations

from ...diagnostics import Span
from ...structs import field
from ..tree import Tree


class Node(Tree):
    """Everything that has a place in the text."""

    span: Span = field(kw_only=True, compare=False)


class Slot(Tree):
    """Where a name lives in its frame. `cell`: the slot holds a box shared with inner functions."""

    index: int
    name: str
    cell: bool = False
