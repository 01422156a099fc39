"""Gradients of Python functions by values that a tape watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli import Tape


def gradient(function: Callable[..., Any], *points: Any) -> Any:
    """The gradients of a function of values that are watched."""
    with Tape() as t:
        values = [t.watch(point) for point in points]
        y = function(*values)
    found = t.gradient(y, values)
    return found[0] if len(found) == 1 else found
