"""Adding up at indices, where an index may name an element several times: what goes back through
picking elements."""

from __future__ import annotations

from typing import Any


def add_at(xp: Any, total: Any, index: Any, values: Any) -> None:
    """Adds `values` to `total[index]` in place. CuPy's `add.at` takes real floats, and of the whole
    numbers unsigned ones."""
    kind = total.dtype.kind
    if kind == "f" or xp.__name__ == "numpy":
        xp.add.at(total, index, values)
    elif kind == "c":
        values = xp.asarray(values)
        xp.add.at(total.real, index, values.real)
        xp.add.at(total.imag, index, values.imag)
    else:  # whose sums have the same bits, modulo 2**64
        xp.add.at(total.view("uint64"), index, xp.asarray(values, "int64").view("uint64"))
