"""The constants that every program knows by name."""

from __future__ import annotations

import math

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
