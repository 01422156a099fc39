"""What float64 and int64 can't hold, and how a cell looks in a message."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

from ..diagnostics import Diagnostic, GradcliError
from .blocks import Array

EXACT = 2.0**53  # from here on float64 doesn't hold every integer
MAX_INT = 2**63 - 1
_SHOWN = 40
_INTEGER = re.compile(r"[+-]?[0-9]+")


def lost(text: str) -> str:
    """Why a number that is written like this can't be a float64: it is too large for one, or so
    small that it would be 0, or an integer whose digits would change. "" where it can; other digits
    are rounded, as everywhere.

    A float64 keeps an integer if it is shown with the same digits, the fewest that tell it from its
    neighbours.
    """
    number = float(text)
    if math.isinf(number):
        return "" if "n" in text.lower() else f"{shown(text)} is too large for a float64"
    if number == 0:
        return (
            f"{shown(text)} is too small for a float64, which would be 0"
            if _has_value(text)
            else ""
        )
    if (
        abs(number) < EXACT
        or not _INTEGER.fullmatch(text)
        or Decimal(repr(number)) == Decimal(text)
    ):
        return ""
    return f"the integer {shown(text)} has more digits than a float64 holds"


def may_vanish(text: bytes) -> bool:
    """Whether a number in this text may be so small that a float64 makes it 0."""
    data = np.frombuffer(text, np.uint8)
    for letter in b"eE":
        at = (
            np.flatnonzero(data[:-4] == letter)
            if bytes([letter, ord("-")]) in text
            else np.zeros(0, np.intp)
        )
        at = at[data[at + 1] == ord("-")]
        if np.all(
            [(data[at + k] >= ord("0")) & (data[at + k] <= ord("9")) for k in (2, 3, 4)], axis=0
        ).any():
            return True
    return b"0" * 300 in text


def _has_value(text: str) -> bool:
    """Whether a digit before the exponent isn't 0."""
    return any(c in "123456789" for c in text.lower().partition("e")[0])


def changed(values: Array) -> dict[int, str]:
    """The rows (the last axis) with an integer that doesn't keep its digits as a float64, and what
    is wrong with the first."""
    if values.dtype.kind not in "iu":
        return {}
    # Not abs: the smallest integer has no positive counterpart.
    large = np.argwhere((values >= EXACT) | (values <= -EXACT)).tolist()
    found = ((place[-1], int(values[tuple(place)])) for place in large)
    return {row: why for row, value in reversed(list(found)) if (why := lost(str(value)))}


def no_numbers(column: str, kind: object) -> GradcliError:
    """The error of a column of a type that is none of numbers."""
    called = f"column `{column}`" if column else "the array"
    message = f"{called} holds {kind}, which isn't a number"
    return GradcliError(Diagnostic("E005", message, help="convert it to numbers, or leave it out"))


def too_large(column: str) -> str:
    """Why an unsigned integer is rejected."""
    return f"column `{column}`: an integer is larger than {MAX_INT}, the largest int"


def shown(text: str) -> str:
    """A cell in a message; half a character is written as JSON has it."""
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
