"""Disturbing results by rounding errors, to see how many of their digits can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.backend import CPU, shape_of
from ..values.lanes import Lanes

ROUNDING = 2.0**-52


def rounding(seed: int, eps: float = ROUNDING) -> Callable[[Any], Any]:
    """A disturbance by a rounding error: each number up or down by about a unit in its last place,
    as one of this precision."""
    xp = CPU.xp
    random = xp.random.default_rng(seed)

    def disturb(value: Any) -> Any:
        if type(value) is list:
            return [disturb(part) for part in value]
        if type(value) is Lanes:
            return Lanes(disturb(value.array), value.group)
        kind = getattr(
            getattr(value, "dtype", None),
            "kind",
            "f" if type(value) is float else "c" if type(value) is complex else "",
        )
        if kind not in ("f", "c"):
            return value
        shape = shape_of(value)
        up = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        if kind == "f":
            return value * (up if shape else float(up))
        across = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        return value.real * up + 1j * (value.imag * across)

    return disturb
