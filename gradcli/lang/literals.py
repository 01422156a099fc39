"""The values of numbers and strings."""

from __future__ import annotations

import re
from typing import Literal

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from .lexer import Token

_MAX_INT = 2**63 - 1
_NOT_ZERO = re.compile(r"[0.]*[1-9]")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}


def number_value(
    token: Token, source: Source
) -> tuple[int | float | complex, Literal["int", "float", "complex"]]:
    """The value of a number's token, and which type of number it is."""
    _, text, start, end = token
    digits = text.replace("_", "")
    if digits[0] == "0" and digits[1:2].isdigit():
        raise _error(
            "E104",
            "a number doesn't begin with 0",
            source,
            start,
            end,
            help=f"write `{digits.lstrip('0') or '0'}`",
        )
    if digits.isdigit():
        # The length comes first: Python refuses to convert thousands of digits.
        if len(digits) > 19 or int(digits) > _MAX_INT:
            raise _error(
                "E104",
                "this integer is too large",
                source,
                start,
                min(end, start + 40),
                label=f"integers have 64 bits, up to {_MAX_INT}",
                help="write a float, such as `1e20`",
            )
        return int(digits), "int"
    imaginary = digits[-1] in "jJ"
    value = float(digits[:-1] if imaginary else digits)
    if value == float("inf"):
        raise _error(
            "E104",
            "this number is too large for a float",
            source,
            start,
            end,
            help="write `inf` if you mean infinity",
        )
    if value == 0 and _NOT_ZERO.match(digits):
        message = "this number is too small for a float, which would be 0"
        raise _error("E104", message, source, start, end, help="write `0.0` if you mean zero")
    return (complex(0.0, value), "complex") if imaginary else (value, "float")


def string_value(token: Token, source: Source) -> str:
    """The text that a string's token stands for."""
    _, text, start, _ = token
    if "\\" not in text:
        return text[1:-1]

    def unescape(match: re.Match[str]) -> str:
        at = start + match.start()
        if match[4] is not None:
            if match[4] not in _ESCAPES:
                raise _error(
                    "E103",
                    f"`\\{match[4]}` is not an escape",
                    source,
                    at,
                    at + 2,
                    help="a backslash is written `\\\\`",
                )
            return _ESCAPES[match[4]]
        code = int(match[1] or match[2] or match[3], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise _error("E103", f"U+{code:X} is not a character", source, at, at + len(match[0]))
        return chr(code)

    return _ESCAPE.sub(unescape, text[:-1])[1:]


def _error(
    code: str, message: str, source: Source, start: int, end: int, label: str = "", help: str = ""
) -> GradcliError:
    return GradcliError(Diagnostic(code, message, Span(source, start, end), label=label, help=help))
