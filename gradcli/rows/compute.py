"""Arrow's functions of columns, which are loaded when the first one is called: that takes longer
than a small batch does."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    return getattr(pyarrow.compute, name)
