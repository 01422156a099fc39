"""Operator precedence: a flat list of operands and signs becomes a tree.

The tree is made by closing groups of one level each, from the tightest outwards, with a stack and
no recursion:

    or < and < not < comparisons < + - < * / // % @ < unary + - < **
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from . import syntax
from .lexer import Token

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER = range(1, 9)

LEVELS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">="], _COMPARE),
    **dict.fromkeys(["+", "-"], _SUM),
    **dict.fromkeys(["*", "/", "//", "%", "@"], _PRODUCT),
    "**": _POWER,
}


@dataclass(slots=True)
class _Group:
    """Operands and signs of one level that still grows. A prefix has a sign before its operand."""

    level: int
    operands: list[syntax.Expression] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    start: int = 0  # of the sign, for a prefix


def climb(parts: list[Any], source: Source) -> syntax.Expression:
    """The tree of `parts`: operands, and between and before them the tokens of signs."""
    groups: list[_Group] = []
    operand: syntax.Expression | None = None
    for part in parts:
        if not isinstance(part, tuple):
            operand = part
            continue
        if operand is None:
            _open_prefix(groups, part, source)
            continue
        sign = part[1]
        level = LEVELS[sign]
        while groups and (
            groups[-1].level > level or (groups[-1].level == level and level in (_NOT, _UNARY))
        ):
            operand = _close(groups.pop(), operand, source)
        if groups and groups[-1].level == level and level != _POWER:
            groups[-1].operands.append(operand)
            groups[-1].signs.append(sign)
        else:
            groups.append(_Group(level, [operand], [sign]))
        operand = None
    assert operand is not None
    while groups:
        operand = _close(groups.pop(), operand, source)
    return operand


def _open_prefix(groups: list[_Group], token: Token, source: Source) -> None:
    kind, sign, start, end = token
    level = _NOT if kind == "NOT" else _UNARY
    if groups and level == _NOT and groups[-1].level > _NOT:
        before = groups[-1].signs[-1]
        help = f"`not` binds weaker than `{before}`: write `{before} (not …)`"
        raise GradcliError(
            Diagnostic(
                "E105", f"`not` directly after `{before}`", Span(source, start, end), help=help
            )
        )
    if len(groups) >= syntax.MAX_DEPTH:
        raise too_deep(Span(source, start, end))
    groups.append(_Group(level, [], [sign], start))


def _close(group: _Group, last: syntax.Expression, source: Source) -> syntax.Expression:
    operands = (*group.operands, last)
    first = group.start if group.level in (_NOT, _UNARY) else operands[0].span.start
    span = Span(source, first, last.span.end)
    depth = 1 + max([operand.depth for operand in operands])
    if depth > syntax.MAX_DEPTH:
        raise too_deep(span)
    signs: Any = group.signs
    if group.level in (_NOT, _UNARY):
        return syntax.Unary(signs[0], last, span=span, depth=depth)
    if group.level == _POWER:
        return syntax.Power(operands[0], last, span=span, depth=depth)
    if group.level in (_AND, _OR):
        return syntax.Logical(signs[0], operands, span=span, depth=depth)
    kind = syntax.Comparison if group.level == _COMPARE else syntax.Arithmetic
    return kind(operands, tuple(signs), span=span, depth=depth)


def too_deep(span: Span) -> GradcliError:
    """The error for an expression that nests deeper than the limit."""
    at = Span(span.source, span.start, min(span.end, span.start + 1))
    return GradcliError(
        Diagnostic(
            "E402",
            f"this expression nests deeper than {syntax.MAX_DEPTH} levels",
            at,
            help="give a name to a part of it on a line of its own",
        )
    )
