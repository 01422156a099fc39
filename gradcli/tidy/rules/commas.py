"""Rules about commas that may not be meant as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic, Span
from ...lang import syntax
from ..facts import Facts
from ..findings import Finding

_WHOLE = re.compile(r"(?<![\w.])\d+$")
_PART = re.compile(r"\d+(?:e[+-]?\d+)?(?![\w.])|\d{3}\.\d*(?!\w)")  # decimals; or a group


def decimal(facts: Facts) -> Iterator[Finding]:
    """W406: `x = 3,14` is a list, whose author may mean 3.14; `1,234.5` may mean 1234.5."""
    kinds = syntax.Assign, syntax.Declare, syntax.Return, syntax.Print, syntax.Output, syntax.Expect
    for node, _ in facts.of(*kinds):
        pair = _pair(node)
        if pair is None:
            continue
        left, right = (part.span for part in pair)
        whole, part = _WHOLE.search(left.text), _PART.match(right.text)
        if whole and part and facts.source.text[left.end : right.start] == ",":
            span = Span(facts.source, left.end - len(whole[0]), right.start + part.end())
            message = f"`{span.text}` is two values"
            meant = f"{whole[0]}{'_' if '.' in part[0] else '.'}{part[0]}"
            help = f"write `{meant}`, or a blank behind the comma"
            yield Finding(Diagnostic("W406", message, span, help=help))


def _pair(node: Any) -> tuple[Any, Any] | None:
    """The two expressions that a statement divides by a comma outside of brackets, to one target
    where it assigns; None where it has others."""
    if isinstance(node, syntax.Expect):
        return None if node.message is None else (node.close_to or node.value, node.message)
    if isinstance(node, syntax.Assign) and isinstance(node.target, syntax.ListDisplay):
        return None
    value = getattr(node, "value", None)
    items = value.items if isinstance(value, syntax.ListDisplay) and value.bare else ()
    items = items or getattr(node, "items", ())
    return (items[0], items[1]) if len(items) == 2 else None
