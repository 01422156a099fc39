"""Where comments go: before a token that can begin a line.

A comment may stand anywhere in a program, as in the middle of `x.sum()` over several lines. One
that stands where the style ends no line moves behind what is on that line.
"""

from __future__ import annotations

from .lexemes import Lexeme

_OPENERS = frozenset(["(", "[", "_DICT", "{"])
_CLOSERS = frozenset([")", "]", "_DICT_END", "}"])
_OPERANDS = frozenset(["NAME", "NUMBER", "STRING", "true", "false", "none", *_CLOSERS])
_SIGNS = frozenset(["SIGN", "OPERATOR", "~="])
_ASSIGNS = frozenset(["AUGMENT", "UPDATE"])


def place_comments(lexemes: list[Lexeme]) -> None:
    """Moves each comment to the next token that a line can begin with."""
    opened: list[str] = ["{"]
    for k in range(len(lexemes) - 1):
        lexeme, following = lexemes[k], lexemes[k + 1]
        if lexeme.comments and not _begins_line(lexemes, k, opened[-1]):
            following.comments[:0] = lexeme.comments
            lexeme.comments.clear()
            for comment in following.comments[1:]:
                comment.own_line = True
        if lexeme.kind in _OPENERS:
            opened.append(lexeme.kind)
        elif lexeme.kind in _CLOSERS:
            opened.pop()


def _begins_line(lexemes: list[Lexeme], k: int, bracket: str) -> bool:
    """Whether the layout can begin a line with the token at `k`, in brackets of a kind."""
    lexeme = lexemes[k]
    if k == 0 or lexeme.begins or lexeme.kind in _CLOSERS:
        return True
    before = lexemes[k - 1]
    if before.kind in _OPENERS or before.kind == ",":
        return True
    if lexeme.kind in ("if", "elif", "else"):
        return bracket != "{" or before.kind == "}"
    if before.kind == "=":
        is_keyword = bracket == "(" and lexemes[k - 2].kind == "NAME"
        return not is_keyword
    has_left = lexemes[k - 2].kind in _OPERANDS and not before.begins
    is_sign = before.kind in _SIGNS and before.text != "**" and has_left
    return is_sign or before.kind in _ASSIGNS
