"""What the items of an expression are, as far as the layout asks."""

from __future__ import annotations

from .lexemes import Lexeme
from .structure import Block, Bracket, Element, Item, first_lexeme


def is_(item: Item, *kinds: str) -> bool:
    """Whether an item is a token of one of these kinds."""
    return isinstance(item, Lexeme) and item.kind in kinds


def is_group(item: Item) -> bool:
    """Whether an item is something in parentheses."""
    return isinstance(item, Bracket) and item.open.kind == "("


def is_number(element: Element) -> bool:
    """Whether an element is a number, perhaps with a sign, and without a comment."""
    *signs, last = element.items
    lexemes = [item for item in [*element.items, element.comma] if isinstance(item, Lexeme)]
    is_plain = is_(last, "NUMBER") and all(is_(sign, "SIGN") for sign in signs)
    return is_plain and not any(lexeme.comments for lexeme in lexemes)


def is_row(element: Element) -> bool:
    """Whether an element is a list, such as a row of a matrix."""
    item = element.items[0]
    return len(element.items) == 1 and isinstance(item, Bracket) and item.open.kind == "["


def is_function(items: list[Item]) -> bool:
    """Whether an expression is a function without a name, with its body."""
    return is_(items[0], "fn") and len(items) > 2 and isinstance(items[1], Bracket)


def is_comprehension(element: Element) -> bool:
    """Whether an element is what stands in the brackets of a comprehension."""
    return any(is_(item, "for") for item in element.items)


def is_hugged(bracket: Bracket) -> bool:
    """Whether the one element stands directly in the brackets: a list, a dict, or a function with
    a block."""
    element = bracket.elements[0]
    has_comments = first_lexeme(element.items).comments or bracket.close.comments
    if len(bracket.elements) > 1 or element.comma is not None or has_comments:
        return False
    if is_function(element.items):
        return isinstance(element.items[2], Block)
    return (
        len(element.items) == 1
        and isinstance(element.items[0], Bracket)
        and not is_group(element.items[0])
    )
