"""Weights, directions and cotangents: numbers of size about 1 that nothing in a program lines up
with, the same each time.

They are hashes of their positions (splitmix64; Steele, Lea and Flood, OOPSLA 2014), because loading
NumPy's generators takes longer than many a check.
"""

from __future__ import annotations

import math
from typing import Any

from ...engine.backends.backend import CPU

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MASK = 2**64 - 1
LIMIT = 2**32  # numbers of one stream


class Scatter:
    """A stream of such numbers; each request takes the next ones. A shape of () gives a float."""

    def __init__(self, stream: int, substream: int = 0) -> None:
        self.at = (stream * LIMIT + substream * (LIMIT // 16)) & MASK

    def sizes(self, shape: tuple[int, ...]) -> Any:
        """Numbers between 0.5 and 1.5."""
        return 0.5 + self._fractions(shape)

    def numbers(self, shape: tuple[int, ...]) -> Any:
        """Numbers between 0.5 and 1.5 in size, of either sign."""
        fractions = 2.0 * self._fractions(shape) - 1.0  # the sign, and then the size
        xp = CPU.xp
        return (
            xp.copysign(0.5 + abs(fractions), fractions)
            if shape
            else math.copysign(0.5 + abs(fractions), fractions)
        )

    def _fractions(self, shape: tuple[int, ...]) -> Any:
        n = math.prod(shape)
        begin, self.at = self.at + 1, self.at + n
        if not shape:
            return _mixed_number(begin * GOLDEN & MASK) / 2.0**64
        x = (CPU.xp.arange(n, dtype="uint64") + CPU.xp.uint64(begin & MASK)) * CPU.xp.uint64(GOLDEN)
        x = (x ^ (x >> 30)) * FIRST
        x = (x ^ (x >> 27)) * SECOND
        return ((x ^ (x >> 31)) / 2.0**64).reshape(shape)


def _mixed_number(x: int) -> int:
    x = (x ^ (x >> 30)) * FIRST & MASK
    x = (x ^ (x >> 27)) * SECOND & MASK
    return x ^ (x >> 31)
