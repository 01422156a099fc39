"""What float64 and int64 can't hold, and how a cell looks in a message."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from .blocks import Array

EXACT = 2.0**53  # from here on float64 doesn't hold every integer
MAX_INT = 2**63 - 1
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


def changed(values: Array) -> dict[int, int]:
    """The rows (the last axis) with an integer that doesn't keep its digits as a float64, and the first such."""
    if values.dtype.kind not in "iu":
        return {}
    # Not abs: the smallest integer has no positive counterpart.
    large = np.argwhere((values >= EXACT) | (values <= -EXACT)).tolist()
    found = ((place[-1], int(values[tuple(place)])) for place in large)
    return {row: value for row, value in reversed(list(found)) if not survives(value)}


def too_long(text: str) -> str:
    """Why an integer is rejected."""
    return f"the integer {text} has more digits than a float64 holds"


def too_large(column: str) -> str:
    """Why an unsigned integer is rejected."""
    return f"column `{column}`: an integer is larger than {MAX_INT}, the largest int"


def shown(text: str) -> str:
    """A cell in a message."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
