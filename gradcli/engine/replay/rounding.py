"""Random rounding errors, which show how many digits of a result can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.backend import CPU, shape_of
from ..values.lanes import Lanes

ROUNDING = 2.0**-52


def eps_of(value: Any) -> float:
    """The machine epsilon of a value's dtype."""
    return 2.0**-23 if getattr(value, "dtype", None) in ("float32", "complex64") else 2.0**-52


def smallest(eps: float) -> float:
    """The smallest number of a precision; what would be smaller is rounded to it, or to 0."""
    return 2.0**-1074 if eps < 1e-10 else 2.0**-149


def rounding(seed: int, eps: float = ROUNDING) -> Callable[[Any], Any]:
    """A function that disturbs each number but 0 by up to about one unit in its last place, for
    numbers of this precision."""
    xp, least = CPU.xp, smallest(eps)
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
        by = random.uniform(-1.0, 1.0, shape)
        if kind == "f":
            moved = value * (1.0 + eps * by) + (value != 0) * (least * by)
            return moved if shape else float(moved)
        up = 1.0 + eps * by
        across = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        return value.real * up + 1j * (value.imag * across)

    return disturb
