"""What values and derivatives are called in text: `f`, `∂f/∂x`, `∂²Σy/∂x∂z`."""

from __future__ import annotations

import re
from itertools import groupby

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def operand(name: str) -> str:
    """A name, or the text of an expression in parentheses."""
    return name if re.fullmatch(r"[\w.]+(\[[^\]]*\][\w.]*)*", name) else f"({name})"


def derivative(of: str, by: tuple[str, ...], summed: bool) -> str:
    """The derivative of a value, or of the sum of its elements, by names."""
    below = "".join(f"∂{operand(name)}{_power(len(list(group)))}" for name, group in groupby(by))
    return f"∂{_power(len(by))}{'Σ' if summed else ''}{operand(of)}/{below}"


def _power(n: int) -> str:
    return "" if n == 1 else str(n).translate(_SUPERSCRIPTS)
