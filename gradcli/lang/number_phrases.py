"""Numbers as they are written elsewhere, and what to write here instead: rows of the table in
phrases.py."""

from __future__ import annotations

import re
from collections.abc import Callable

_OUTSIDE = r"^[^\[\](){},\"]*?(?<![\w.])"  # of brackets, up to a number


def _grouped(match: re.Match[str]) -> str:
    digits = match["n"].replace(match["s"], "_")
    return f"write `{digits}{(match['part'] or '').replace(',', '.')}`"


NUMBERS: tuple[tuple[str, str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"\b(?P<n>\d+\.?\d*|\.\d+)[dD](?P<e>[+-]?\d+)\b",
        "an exponent is written with `e`",
        lambda m: f"write `{m['n']}e{m['e']}`",
    ),
    (
        r"\b0[xX](?P<n>[0-9a-fA-F]{1,16})\b",
        "numbers are decimal",
        lambda m: f"write `{int(m['n'], 16)}`",
    ),
    (
        r"\b\d{1,3}(?:,\d{3})+(?:\.\d*)?",
        "a number has no commas",
        lambda m: f"write `{m[0].replace(',', '_')}`",
    ),
    (
        rf"{_OUTSIDE}\b(?P<at>(?P<n>\d{{1,3}}(?:(?P<s>[. '’])\d{{3}})(?:(?P=s)\d{{3}})*)"
        rf"(?P<part>,\d+)?)\b",
        "the digits of a number are grouped by `_`",
        _grouped,
    ),
    (
        rf"{_OUTSIDE}(?P<at>\b(?P<n>\d+),(?P<part>\d+(?:[eE][+-]?\d+)?)\b)[^,]*$",
        "a number has a decimal point",
        lambda m: f"write `{m['n']}.{m['part']}`; a list stands in brackets",
    ),
    (
        r"\b(?P<n>\d+\.?\d*(?:[eE][+-]?\d+)?)(?:im|i|I)\b",
        "the imaginary unit is `j`",
        lambda m: f"write `{m['n']}j`",
    ),
    (
        r"\b(?P<n>\d+\.?\d*)_[A-Za-z]\w*\b",
        "a number has no suffix for its type",
        lambda m: f"write `{m['n']}`",
    ),
)
