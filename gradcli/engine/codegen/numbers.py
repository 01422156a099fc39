"""Numbers as Python has them: those in float32 are NumPy's, as in the interpreter."""

from __future__ import annotations

from typing import Any

from ..backends.backend import CPU
from ..ir.instructions import Constant
from ..ir.types import F32


def float32(value: Any) -> Any:
    """A number in float32. An int is a float before."""
    return CPU.xp.float32(float(value) if type(value) is int else value)


def number_of(made: Constant) -> Any:
    """The number of a constant."""
    return float32(made.value) if made.result.type == F32 else made.value
