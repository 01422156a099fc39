"""Places as editors count them: lines from 0, and columns in units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}  # bytes of a unit
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class Position(NamedTuple):
    line: int
    column: int


class Positions:
    """The lines of a text, which end where the protocol says: at `\\n`, `\\r\\n` and `\\r`."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self._text, self._encoding = text, encoding
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self._text[self._starts[line] : offset]))

    def offset(self, position: Position) -> int:
        """The offset of a position; one behind the end of its line or text is taken for the end."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        end = _LINE_END.search(self._text, start)
        line = self._text[start : end.start() if end else None]
        if line.isascii():
            return start + min(position.column, len(line))
        column = 0
        for k, character in enumerate(line):
            if column >= position.column:
                return start + k
            column += self._units(character)
        return start + len(line)

    def _units(self, text: str) -> int:
        if text.isascii():
            return len(text)
        encoded = text.encode(_CODECS[self._encoding], "surrogatepass")
        return len(encoded) // _WIDTHS[self._encoding]
