"""How text is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How text is drawn: with colour, with how many significant digits (None: as NumPy does), how
    wide (None: however wide it is), and whether long vectors are shown in full."""

    color: bool = False
    precision: int | None = None
    width: int | None = None
    full: bool = False


PLAIN = Style()
