"""Ranges and families as the command line writes them: `x=-3:3`, `a=0.5,1,2`."""

from __future__ import annotations

import math
import re
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ..constants import constant
from .results import Axis

_PART = re.compile(r"(.+?)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")


def parse_axis(text: str) -> Axis:
    """The axis that `--over` gives: `NAME=LOW:HIGH`. Raises GradcliError (E001, E005)."""
    name, _, ends = text.partition("=")
    label, (low, colon, high) = name.strip(), ends.partition(":")
    if not (label and colon and low.strip() and high.strip()):
        raise _wrong(f"--over: expected NAME=LOW:HIGH, got `{text}`", "write `--over x=-3:3`")
    axis = Axis(label, *_place(label), _number(low, label), _number(high, label))
    if not math.isfinite(axis.width):
        raise _wrong(
            f"--over: the range of `{label}` isn't finite: {ends.strip()}", "write numbers"
        )
    if not axis.low < axis.high:
        raise _wrong(
            f"--over: the range of `{label}` is empty: {ends.strip()}", "LOW is below HIGH"
        )
    return axis


def parse_column(text: str) -> Axis:
    """The axis of a plot of data: a column, `NAME`, with a range where it is `NAME=LOW:HIGH`."""
    if "=" in text:
        axis = parse_axis(text)
        return Axis(axis.label, axis.label, (), axis.low, axis.high)
    name = text.strip()
    return Axis(name, name, (), math.nan, math.nan)


def parse_family(text: str) -> tuple[str, list[float]]:
    """The name and the values that `--for` gives: `NAME=VALUE,…`. Raises GradcliError."""
    name, equals, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not (name.strip() and equals and all(parts)):
        raise _wrong(f"--for: expected NAME=VALUE,..., got `{text}`", "write `--for a=0.5,1,2`")
    return name.strip(), [_number(part, name.strip()) for part in parts]


def _place(label: str) -> tuple[str, tuple[int, ...]]:
    """The variable that a label is about, and the index of its element."""
    found = _PART.fullmatch(label)
    return (found[1], tuple(map(int, found[2].split(",")))) if found else (label, ())


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        value: Any = constant(text.strip(), name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(f"the value given for `{name}` isn't a number: {text.strip()}", "", "E005")
    return float(value)


def _wrong(message: str, help: str, code: str = "E001") -> GradcliError:
    return GradcliError(Diagnostic(code, message, help=help))
