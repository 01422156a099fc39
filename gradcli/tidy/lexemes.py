"""The tokens of a program with what stands between them: comments and blank lines.

The parser needs neither, so the lexer drops both. They are read again from the text between two
tokens, where a `#` can only begin a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..diagnostics import Source
from ..lang.lexer import Lexer

_BETWEEN = re.compile(r"#[^\n]*|\\\r?\n|\n")


@dataclass(slots=True)
class Comment:
    """A comment. `own_line`: nothing else stands on its line; `blanks` is how many empty lines
    stand above it."""

    text: str
    own_line: bool
    blanks: int


@dataclass(slots=True)
class Lexeme:
    """A token as it is written, with the comments before it. `line` counts lines, of which those
    that a backslash joins are one; `begins`: a statement ended before it; `blanks` is how many
    empty lines stand above it."""

    kind: str
    text: str
    start: int
    end: int
    line: int
    begins: bool = False
    blanks: int = 0
    comments: list[Comment] = field(default_factory=list)


def lexemes(source: Source) -> list[Lexeme]:
    """The tokens of a source, the last of the kind `$END`. Raises GradcliError."""
    found: list[Lexeme] = []
    line = end = 0
    begins = False
    for kind, _, start, stop in Lexer(source):
        if kind == "_END":
            begins = True
            continue
        lexeme = Lexeme(kind, source.text[start:stop], start, stop, line, begins)
        between = source.text[end:start]
        if "\n" in between or "#" in between:
            _read_between(between, lexeme, newlines=0 if found else 1)
        found.append(lexeme)
        line, end, begins = lexeme.line, stop, False
    return found


def _read_between(text: str, lexeme: Lexeme, newlines: int) -> None:
    """Finds the comments and the empty lines in the text before a token; `newlines` of them stand
    before that."""
    for match in _BETWEEN.finditer(text):
        if match[0][0] == "#":
            comment = Comment(_spaced(match[0].rstrip()), newlines > 0, max(0, newlines - 1))
            lexeme.comments.append(comment)
            newlines = 0
        elif match[0] == "\n":  # a backslash would join the lines
            newlines += 1
            lexeme.line += 1
    lexeme.blanks = max(0, newlines - 1)


def _spaced(comment: str) -> str:
    """A comment with a blank after its `#`, unless it is one that tools read, or a ruled line."""
    return f"# {comment[1:]}" if len(comment) > 1 and comment[1] not in " !:#" else comment
