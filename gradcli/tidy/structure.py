"""The tokens of a program grouped by brackets and statements: what the layout is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .lexemes import Comment, Lexeme

_OPENERS = frozenset(["(", "[", "_DICT"])
_CLOSERS = frozenset([")", "]", "_DICT_END"])
_ENDS_BODY = frozenset(["}", "$END"])


@dataclass(slots=True)
class Element:
    """What stands between two commas; `comma` is the one after it."""

    items: list[Item]
    comma: Lexeme | None = None


class Bracket(NamedTuple):
    """`(…)`, `[…]`, or the braces of a dict."""

    open: Lexeme
    elements: list[Element]
    close: Lexeme


@dataclass(slots=True)
class Statement:
    """A statement with the comments above it and behind it. `joined`: it stands on the line of the
    statement before it, after a `;`."""

    items: list[Item]
    leading: list[Comment]
    blanks: int
    joined: bool
    trailing: Comment | None = None


@dataclass(slots=True)
class Body:
    """The statements of a block or a program; `opening` is a comment behind the brace, `ending` are
    the comments below the last statement."""

    statements: list[Statement] = field(default_factory=list)
    opening: Comment | None = None
    ending: list[Comment] = field(default_factory=list)


class Block(NamedTuple):
    """`{ … }` with statements. `inline`: it is written on one line."""

    open: Lexeme
    body: Body
    close: Lexeme
    inline: bool


Item = Lexeme | Bracket | Block


def first_lexeme(items: list[Item]) -> Lexeme:
    """The first token of some items."""
    return items[0] if isinstance(items[0], Lexeme) else items[0].open


def read_structure(lexemes: list[Lexeme]) -> Body:
    """The statements of a program whose tokens are well nested, as those of every program are that
    the parser accepts."""
    return _Reader(lexemes).body()


def _names(items: list[Item]) -> bool:
    """Whether the names of a `for` are being read, between which there are commas, too."""
    words = [item.kind for item in items if isinstance(item, Lexeme) and item.kind in ("for", "in")]
    return words[-1:] == ["for"]


class _Reader:
    """Reads tokens from left to right. Brackets and blocks nest so deep at most as the lexer
    allows."""

    def __init__(self, lexemes: list[Lexeme]) -> None:
        self.lexemes = lexemes
        self.at = 0

    def take(self) -> Lexeme:
        lexeme = self.lexemes[self.at]
        self.at += 1
        return lexeme

    @property
    def next(self) -> Lexeme:
        return self.lexemes[self.at]

    def body(self) -> Body:
        body = Body()
        while True:
            lexeme = self.next
            comments, lexeme.comments = lexeme.comments, []
            if comments and not comments[0].own_line:
                if body.statements:
                    body.statements[-1].trailing = comments.pop(0)
                else:
                    body.opening = comments.pop(0)
            if lexeme.kind in _ENDS_BODY:
                body.ending = comments
                return body
            previous = body.statements[-1:]
            joined = bool(previous) and lexeme.line == self.lexemes[self.at - 1].line
            joined = joined and not comments and previous[0].trailing is None
            body.statements.append(Statement([], comments, lexeme.blanks, joined))
            self._read_statement(body.statements[-1].items)

    def _read_statement(self, items: list[Item]) -> None:
        items.append(self._item())
        while self.next.kind not in _ENDS_BODY and not self.next.begins:
            items.append(self._item())

    def _item(self) -> Item:
        lexeme = self.take()
        if lexeme.kind in _OPENERS:
            return self._bracket(lexeme)
        if lexeme.kind != "{":
            return lexeme
        body = self.body()
        close = self.take()
        return Block(lexeme, body, close, inline=lexeme.line == close.line)

    def _bracket(self, open: Lexeme) -> Bracket:
        elements = [Element([])]
        while self.next.kind not in _CLOSERS:
            if self.next.kind == "," and not _names(elements[-1].items):
                elements[-1].comma = self.take()
                elements.append(Element([]))
            else:
                elements[-1].items.append(self._item())
        if not elements[-1].items:
            elements.pop()
        return Bracket(open, elements, self.take())
