"""Values as JSON's text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def text_of(value: Any) -> str | None:
    """Text as it is, and what JSON lines held as JSON."""
    return value if value is None or isinstance(value, str) else dumped(value)


def dumped(value: Any) -> str:
    """A value, with those within it, as JSON."""
    return json.dumps(_plain(value), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    """A value in what JSON has."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, complex):
        return {"re": _plain(value.real), "im": _plain(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
