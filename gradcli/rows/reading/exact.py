"""What float64 can't hold, and how a cell looks in a message."""

from __future__ import annotations

import math
from decimal import Decimal

EXACT = 2.0**53  # from here on float64 doesn't hold every integer
_SHOWN = 40


def survives(value: int) -> bool:
    """Whether an integer keeps its digits as a float64, as shown with the fewest that tell it from others."""
    number = nearest(value)
    return math.isinf(number) or Decimal(repr(number)) == value


def nearest(value: int) -> float:
    """The float64 next to an integer of any size."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def too_long(text: str) -> str:
    """Why an integer is rejected."""
    return f"the integer {text} has more digits than a float64 holds"


def shown(text: str) -> str:
    """A cell in a message."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
