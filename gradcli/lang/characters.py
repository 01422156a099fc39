"""What a character means that no token starts with, and what to write instead."""

from __future__ import annotations

import re
import unicodedata

from ..diagnostics import Diagnostic, Source, Span

_INSTEAD = {
    "^": "write `**` for a power",
    "'": 'strings stand in double quotes: `"text"`',
    "`": 'strings stand in double quotes: `"text"`',
    "\u201c": 'strings stand in straight double quotes: `"text"`',
    "\u201d": 'strings stand in straight double quotes: `"text"`',
    "&": "write `and`; of arrays, `logical_and(a, b)`",
    "|": "write `or`; of arrays, `logical_or(a, b)`; the absolute value is `abs(x)`",
    "!": "write `not x`, or `a != b`",
    "~": "the language has no bit operations; `~=` stands in `expect`",
    "$": "names stand without `$`",
    "?": "write `a if condition else b`",
    "\\": "a `\\` joins lines only as the very last character of its line",
    "\u00d7": "write `*`",
    "\u00b7": "write `*`",
    "\u00f7": "write `/`",
    "\u2212": "write `-`, the sign on the keyboard",
    "\u2013": "write `-`, the sign on the keyboard",
    "\u2014": "write `-`, the sign on the keyboard",
    "\u221a": "write `sqrt(x)`",
    "\u2264": "write `<=`",
    "\u2265": "write `>=`",
    "\u2260": "write `!=`",
    "\u221e": "write `inf`",
    "\u00b2": "write `**2`",
    "\u00b3": "write `**3`",
    "\u00a0": "this is a no-break space; write a plain one",
    "\0": "a file in UTF-16 has such characters: save it as UTF-8",
    "\r": "lines end in a newline, or a carriage return and a newline",
}
_TOGETHER = {"&&": "write `and`", "||": "write `or`"}


def explain_character(source: Source, offset: int) -> Diagnostic:
    """The error for a character that no token starts with."""
    text = source.text
    character = text[offset]
    if text.startswith('f"', offset):
        return explain_character(source, offset + 1)
    if character == '"':
        end = text.find("\n", offset)
        span = Span(source, offset, len(text) if end < 0 else end)
        return Diagnostic(
            "E103",
            "this string is never closed",
            span,
            help='a string ends with `"` on the line where it begins',
        )
    if (character.isdigit() and character.isascii()) or (
        character == "." and text[offset + 1 : offset + 2].isdigit()
    ):
        return _explain_number(source, offset)
    pair = text[offset : offset + 2]
    if pair in _TOGETHER:
        return Diagnostic(
            "E102",
            f"`{pair}` is not an operator",
            Span(source, offset, offset + 2),
            help=_TOGETHER[pair],
        )
    span = Span(source, offset, offset + 1)
    help = _INSTEAD.get(character, "")
    if character == "^":
        return Diagnostic("E102", "`^` is not an operator", span, help=help)
    return Diagnostic("E102", f"{_describe(character)} means nothing here", span, help=help)


def _describe(character: str) -> str:
    name = unicodedata.name(
        character, "a control character" if ord(character) < 160 else "an unnamed character"
    )
    if character.isprintable() and not character.isspace():
        return (
            f"`{character}`"
            if character.isascii()
            else f"`{character}` (U+{ord(character):04X}, {name.lower()})"
        )
    return f"the character U+{ord(character):04X} ({name.lower()})"


_MALFORMED = re.compile(r"([0-9][0-9_.]*|\.[0-9_]+)(\w*)")


def _explain_number(source: Source, offset: int) -> Diagnostic:
    """A number with a name directly after it: `2x`, `0x1F`, `1e`, `1__0`."""
    match = _MALFORMED.match(source.text, offset)
    number, word = match.groups() if match else (source.text[offset], "")
    span = Span(source, offset, match.end() if match else offset + 1)
    misplaced = re.search(r"_(?![0-9])|\._", number)
    if not word and not misplaced and span.end < len(source.text):
        return explain_character(source, span.end)  # such as in `2×3`
    if misplaced:
        return Diagnostic("E104", "an underscore in a number stands between two digits", span)
    if number == "0" and word[:1] in ("x", "X", "b", "B", "o", "O"):
        return Diagnostic("E104", "numbers are decimal", span)
    if word in ("e", "E"):
        return Diagnostic(
            "E104",
            "the exponent of this number is missing",
            span,
            help=f"write `{number}e-3`, or `{number}*e`",
        )
    if word[:1] in ("l", "L", "f", "F", "u", "U") and len(word) == 1:
        return Diagnostic(
            "E104",
            "a number has no suffix for its type",
            span,
            help=f"write `{number}`, or `{number}*{word}`",
        )
    return Diagnostic(
        "E104",
        "a name directly after a number",
        span,
        help=f"write `{number}*{word}` for the product",
    )
