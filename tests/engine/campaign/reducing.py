"""Makes a program small that fails in some way: as little of it as still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gradcli.diagnostics import Source
from gradcli.lang import syntax
from gradcli.lang.parser import parse
from gradcli.lang.printer import print_module

Fails = Callable[[str], bool]


def reduced(text: str, fails: Fails) -> str:
    """A small program that `fails`, made of one that does.

    Each step deletes statements or items, puts a part of a statement or an expression in its place,
    or a simpler number; none that is left would do.
    """
    text = printed(parse(Source("small.tg", text)))
    first = 0
    while True:
        for k, smaller in enumerate(islice(candidates(text), first, None), first):
            if _size(smaller) < _size(text) and fails(smaller):
                text, first = smaller, k  # those before it were tried just now
                break
        else:
            if first == 0:
                return text
            first = 0


def printed(tree: syntax.Module) -> str:
    return print_module(tree)


def _size(text: str) -> tuple[int, str]:
    return len(text), text


def candidates(text: str) -> Iterator[str]:
    """Programs with a part left out or made simpler, the largest parts first."""
    tree = parse(Source("small.tg", text))
    pending: list[tuple[Any, Callable[[Any], Any]]] = [(tree, lambda new: new)]
    while pending:
        below: list[tuple[Any, Callable[[Any], Any]]] = []
        for node, around in pending:
            for simpler in _simpler(node):
                try:
                    smaller = printed(around(simpler))
                except (AttributeError, IndexError, KeyError, TypeError):
                    continue  # a node without what it needs
                yield smaller
            below += _parts(node, around)
        pending = below


def _with(node: Any, field: str, value: Any) -> Any:
    named = {name: getattr(node, name) for name in type(node).NAMES}
    return type(node)(**{**named, field: value})


def _parts(node: Any, around: Callable[[Any], Any]) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """The nodes right below one, each with what puts another one in its place in the program."""

    def placed(field: str, k: int | None = None) -> Callable[[Any], Any]:
        def put(new: Any) -> Any:
            if k is None:
                return around(_with(node, field, new))
            items = getattr(node, field)
            made = new if isinstance(new, list) else [new]
            return around(_with(node, field, (*items[:k], *made, *items[k + 1 :])))

        return put

    for field in type(node).FIELDS:
        value = getattr(node, field)
        if isinstance(value, syntax.Node):
            yield value, placed(field)
        elif isinstance(value, tuple):
            for k, item in enumerate(value):
                if isinstance(item, syntax.Node):
                    yield item, placed(field, k)


def _simpler(node: Any) -> Iterator[Any]:
    """What may stand in the place of a node: a list is several statements."""
    for field in type(node).FIELDS:
        value = getattr(node, field)
        if isinstance(value, tuple) and not isinstance(node, CHAINS):
            for start, stop in _stretches(len(value)):
                yield _with(node, field, value[:start] + value[stop:])
        elif isinstance(value, syntax.Node) and field in ("otherwise", "value", "rule", "default"):
            yield _with(node, field, None)
    if isinstance(node, CHAINS) and len(node.operands) > 2:
        for k in range(len(node.operands)):
            operands = node.operands[:k] + node.operands[k + 1 :]
            place = max(k - 1, 0)
            signs = node.signs[:place] + node.signs[place + 1 :]
            yield type(node)(operands, signs, span=node.span)
    if isinstance(node, syntax.If):
        yield from [list(branch.body.statements) for branch in node.branches]
        yield [] if node.otherwise is None else list(node.otherwise.statements)
    elif isinstance(getattr(node, "body", None), syntax.Block):
        yield list(node.body.statements)
    elif isinstance(node, syntax.Number):
        if node.value not in (0, 1):
            yield from [_number(node.span, value) for value in (0, 1, 2, 1.5)]
    elif isinstance(node, EXPRESSIONS):
        yield from _operands(node)
        yield from [_number(node.span, value) for value in (1.0, 2)]


def _stretches(length: int) -> Iterator[tuple[int, int]]:
    """Of a list of this length: all, halves, quarters, and single items."""
    size = length
    while size:
        for start in range(0, length, size):
            yield start, min(start + size, length)
        size //= 2


CHAINS = (syntax.Arithmetic, syntax.Comparison)
EXPRESSIONS = (
    syntax.Name, syntax.ListDisplay, syntax.Comprehension, syntax.Member, syntax.Call, syntax.Index,
    syntax.Unary, syntax.Power, syntax.Arithmetic, syntax.Comparison, syntax.Logical,
    syntax.Conditional, syntax.DictDisplay,
)  # fmt: skip


def _operands(node: Any) -> Iterator[Any]:
    """The expressions right below one."""
    for part, _ in _parts(node, lambda new: new):
        inner = part.value if isinstance(part, syntax.Argument | syntax.Entry) else part
        if isinstance(inner, (*EXPRESSIONS, syntax.Number, syntax.Function)):
            yield inner


def _number(span: Any, value: float) -> syntax.Number:
    kind = "int" if type(value) is int else "float"
    return syntax.Number(value, kind, repr(value), span=span)
