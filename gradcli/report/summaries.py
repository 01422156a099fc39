"""How `why` and `trace` show values and places: arrays in a few numbers, lines of programs."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Span, printable
from .style import Style
from .text import show
from .values import is_array, plain

BAD, NAME, DIM, OFF = "\x1b[1;31m", "\x1b[1;36m", "\x1b[2m", "\x1b[0m"


def place(span: Span | None, file: str) -> str:
    """The line, with the name of the file unless it is this one."""
    if span is None:
        return ""
    return (
        str(span.line) if span.source.name == file else f"{printable(span.source.name)}:{span.line}"
    )


def brief(value: Any, style: Style) -> str:
    """A number, or the summary of an array, as text; "" for None."""
    if value is None:
        return ""
    if not hasattr(value, "low"):
        return one_line(value, style)
    shape = f"({', '.join(map(str, value.shape))}{',' if len(value.shape) == 1 else ''})"
    if value.nonfinite:
        return f"{shape} {value.nonfinite} not finite"
    low, high = show(value.low, style.precision), show(value.high, style.precision)
    return f"{shape} {low}" if low == high else f"{shape} {low} … {high}"


def one_line(value: Any, style: Style) -> str:
    """A number or an array as text on one line."""
    if is_array(value) and getattr(value, "size", 1) > 30:
        return f"an array of shape {tuple(value.shape)}"
    return " ".join(show(value, style.precision, 10_000).split())


def painter(style: Style) -> Any:
    """Colours text by a code, where there is colour."""
    return lambda code, text: f"{code}{text}{OFF}" if style.color and code else text


def number(value: Any) -> Any:
    """A number, or the summary of an array, as JSON has it."""
    if not hasattr(value, "low"):
        return plain(value)
    return {
        "shape": list(value.shape),
        "min": plain(value.low),
        "max": plain(value.high),
        "zeros": value.zeros,
        "nonfinite": value.nonfinite,
    }


def where(span: Span | None) -> dict[str, Any]:
    """A place as JSON has it."""
    if span is None:
        return {"file": None, "line": None, "column": None}
    line, column = span.source.position(span.start)
    return {"file": span.source.name, "line": line, "column": column}
