"""Where the parser stopped: the token that doesn't fit, and what stands around it."""

from __future__ import annotations

from typing import NamedTuple

from ..diagnostics import Diagnostic, Source, Span
from .lexer import Token


class Place(NamedTuple):
    """Where the parser stopped."""

    source: Source
    token: Token  # the one that doesn't fit
    before: Token  # the one before it
    line: str  # the text of its line up to the token
    open: str  # the innermost open bracket, or ""
    opened_at: int
    expected: frozenset[str]

    @property
    def rest(self) -> str:
        """The text from the token on, as far as its line goes."""
        return self.source.text[self.token[2] :].split("\n", 1)[0][:200]

    def error(
        self,
        message: str,
        help: str = "",
        span: Span | None = None,
        code: str = "E101",
        label: str = "",
    ) -> Diagnostic:
        start = (
            self.before[3] if self.token[0] == "$END" else self.token[2]
        )  # not on an empty line behind the program
        at = span or Span(self.source, start, max(self.token[3], start + 1))
        return Diagnostic(code, message, at, label=label, help=help)

    def before_span(self) -> Span:
        return Span(self.source, self.before[2], self.before[3])


def describe(token: Token) -> str:
    """A token in the words of a message."""
    kind, text, _, _ = token
    if kind == "$END":
        return "the end of the program"
    if kind == "_END":
        return "`;`" if text == ";" else "the end of the line"
    if kind in ("NAME", "NUMBER", "STRING"):
        return f"the {kind.lower()} `{text[:40]}`"
    return f"`{text}`"


def span_of(place: Place) -> Span:
    return Span(place.source, place.token[2], place.token[3])


def rest_of_statement(place: Place) -> Span:
    return Span(place.source, place.before[3] - len(place.line.strip()), place.before[3])
