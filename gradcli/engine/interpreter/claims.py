"""What an `expect` claims: whether it holds, and the values that decided that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...diagnostics import shortened
from ...lang import program
from ...lang.program.walks import own_nodes
from ..compilation.compiler import Compiler
from ..operations.equality import compare
from ..trace.tape import Site
from ..values.kinds import UNSET, is_callable, show, slot_value

_MAX_SHOWN = 4

Pairs = list[tuple[str, Any]]  # texts with their values

# Whether a claim holds, and what gives the values to show once it doesn't.
Claim = Callable[[list[Any]], tuple[Any, Callable[[list[Any]], Pairs]]]


def compile_claim(c: Compiler, node: program.Expression) -> Claim:
    """The closure of a claim. A comparison shows its operands, anything else the names in it."""
    if isinstance(node, program.Apply) and node.op.integers == "bool" and len(node.operands) == 2:
        return _comparison(c, node)
    value, names = c.value(node), list(_names(node))

    def claim(frame: list[Any]) -> tuple[Any, Callable[[list[Any]], Pairs]]:
        return value(frame), lambda frame: _known(
            [(n.slot.name, slot_value(frame, n.slot)) for n in names]
        )

    return claim


def _comparison(c: Compiler, node: program.Apply) -> Claim:
    site = Site(node.op, node.span)
    left, right = [(o, c.value(o)) for o in node.operands if o is not None]

    def claim(frame: list[Any]) -> tuple[Any, Callable[[list[Any]], Pairs]]:
        a, b = left[1](frame), right[1](frame)
        pairs = [
            (operand.span.brief, value)
            for operand, value in ((left[0], a), (right[0], b))
            if not isinstance(operand, program.Constant)
        ]
        return compare(frame[0], site, a, b), lambda frame: _known(pairs)

    return claim


def _names(node: program.Expression) -> Iterator[program.Read]:
    """The names that an expression reads, each once, in order."""
    found: dict[int, program.Read] = {}
    for inner in own_nodes([node]):
        if isinstance(inner, program.Read):
            found.setdefault(inner.slot.index, inner)
    yield from sorted(found.values(), key=lambda read: read.span.start)


def _known(pairs: Pairs) -> Pairs:
    return [
        (text, value) for text, value in pairs if value is not UNSET and not is_callable(value)
    ][:_MAX_SHOWN]


def listed(pairs: Pairs) -> str:
    """What a message shows of the values that decided a claim."""
    return ", ".join(
        [f"`{text}` is {shortened(' '.join(show(value).split()))}" for text, value in pairs]
    )
