"""How text is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How text is drawn: with colour, with how many significant digits (None: as NumPy does)."""

    color: bool = False
    precision: int | None = None


PLAIN = Style()
