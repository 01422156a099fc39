"""The tokens of IR texts: names, ints, literals."""

from __future__ import annotations

import ast
import re
from typing import Any, NoReturn

_TOKEN = re.compile(
    r"(?:\s|;[^\n]*\n)*(?:(%\d+)|(->|[(){}\[\],:=@]|'[^'\n]*')|(-?(?:\d[\w.+-]*|inf|nan)(?![\w]))|([A-Za-z_]\w*)|(\S))"
)


class IRError(Exception):
    """A text isn't IR, or IR breaks a rule of the verifier."""


class Tokens:
    """The tokens of a text, and the position of the next one. Raises IRError."""

    def __init__(self, source: str) -> None:
        self.tokens: list[str] = []
        for match in _TOKEN.finditer(source):
            if match[5]:
                raise IRError(f"`{match[5]}` begins no token of IR")
            self.tokens.append(match[1] or match[2] or match[3] or match[4])
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self.accept(token):
                self.fail(f"`{token}`")

    def fail(self, wanted: str) -> NoReturn:
        before = " ".join(self.tokens[max(0, self.at - 5) : self.at])
        raise IRError(f"{wanted} is expected after `{before}`, and this is `{self.peek()}`")

    def option(self) -> Any:
        """A literal, or several of them."""
        if self.accept("("):
            items = []
            while not self.accept(")"):
                items.append(self.option())
                self.accept(",")
            return tuple(items)
        return self.literal()

    def literal(self) -> Any:
        text = self.next()
        try:
            return float(text) if text.lstrip("-") in ("inf", "nan") else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise IRError(f"`{text}` is no number, text or none") from None

    def integer(self) -> int:
        text = self.next()
        if not text.removeprefix("-").isdecimal():
            raise IRError(f"`{text}` is no int")
        return int(text)
