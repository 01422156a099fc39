"""What all nodes of the syntax tree are made of: a span, and the height of the tree below."""

from __future__ import annotations

from ...diagnostics import Span
from ...structs import field
from ..tree import Tree

MAX_DEPTH = 400


class Node(Tree):
    """Everything in the tree: where it stands, and the height of the tree below it."""

    span: Span = field(kw_only=True, compare=False, repr=False)
    depth: int = field(kw_only=True, default=1, compare=False, repr=False)
