"""What stands beside what on a line: which operators divide an expression, and where blanks are."""

from __future__ import annotations

from typing import NamedTuple

from ..lang.operators import LEVELS
from .lexemes import Lexeme
from .shapes import is_
from .structure import Block, Bracket, Item

_OPERANDS = frozenset(["NAME", "NUMBER", "STRING", "TEXT", "true", "false", "none"])
_POWER = LEVELS["**"]
_CLOSE = LEVELS["=="]  # `~=` compares
_CALLED = _OPERANDS | {"fn"}  # what `(` touches
_GIVEN = ("backward", "within")  # the other words that arguments or parameters follow


def is_operand(item: Item) -> bool:
    """Whether an operand can end with this item, so that a sign after it has two operands."""
    return not isinstance(item, Lexeme) or item.kind in _OPERANDS


class Chain(NamedTuple):
    """Operands and the signs between them."""

    parts: list[list[Item]]
    signs: list[Lexeme]


def chain(items: list[Item]) -> Chain:
    """An expression divided at its weakest operators; one part where it has none but `**`."""
    levels = [_level(items, k) for k in range(len(items))]
    level = min(levels)
    if level == _POWER:
        return Chain([items], [])
    parts: list[list[Item]] = [[]]
    signs: list[Lexeme] = []
    for item, its_level in zip(items, levels, strict=True):
        if its_level == level and isinstance(item, Lexeme):
            signs.append(item)
            parts.append([])
        else:
            parts[-1].append(item)
    return Chain(parts, signs)


def _level(items: list[Item], k: int) -> int:
    """How tightly the operator at `k` binds; that of `**` where there is none between operands."""
    item = items[k]
    if k == 0 or not isinstance(item, Lexeme) or not is_operand(items[k - 1]):
        return _POWER
    return _CLOSE if item.kind == "~=" else LEVELS.get(item.text, _POWER)


def gap(items: list[Item], k: int) -> str:
    """What stands before the item at `k` where the line goes on: a blank, or nothing."""
    before, item = items[k - 1], items[k]
    if isinstance(item, Block):
        return " "
    if isinstance(item, Bracket):
        return "" if _touches(items, k) else " "
    if (
        item.text == "**"
        or is_(before, ".")
        or (isinstance(before, Lexeme) and before.text == "**")
    ):
        return ""
    if item.kind == ".":
        return " " if is_(before, "NUMBER") else ""  # `2.x` would be another number
    if item.kind == ":" or is_(before, "SIGN"):
        return ""
    return " "


def _touches(items: list[Item], k: int) -> bool:
    """Whether the bracket at `k` stands directly behind what is before it."""
    before, bracket = items[k - 1], items[k]
    if is_(before, "SIGN") or (isinstance(before, Lexeme) and before.text == "**"):
        return True
    if isinstance(bracket, Bracket) and bracket.open.kind == "(":
        return not is_(items[0], "tape") and (is_(before, *_CALLED) or isinstance(before, Bracket))
    return is_operand(before)


def takes_comma(before: Item | None, bracket: Bracket) -> bool:
    """Whether a comma may stand after the last element: not behind what parentheses group, nor in
    a domain. `before` is what stands before the bracket."""
    if bracket.open.kind != "(":
        return True
    return isinstance(before, Bracket) or (before is not None and is_(before, *_CALLED, *_GIVEN))
