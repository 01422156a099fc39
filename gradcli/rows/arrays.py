"""Arrow arrays and scalars out of NumPy arrays and text, made of their buffers.

`pyarrow.array` and `pyarrow.scalar` do the same, but look for pandas first; where it is installed,
importing it takes longer than a whole small job.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from .blocks import Array, Mask


def numbers(values: Array, mask: Mask | None = None) -> Any:
    """An array of numbers or bools as an Arrow array, null where the mask is True."""
    if values.dtype.kind not in "biuf" or not values.dtype.isnative:
        return pa.array(values, mask=mask)
    valid = None if mask is None or not mask.any() else _bits(~mask)
    data = _bits(values) if values.dtype.kind == "b" else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])


def texts(values: Sequence[str | None], mask: Mask | None = None) -> Any:
    """Texts as an Arrow array; None, and what is masked, is null."""
    if mask is not None:
        values = [
            None if gone else value for value, gone in zip(values, mask.tolist(), strict=True)
        ]
    encoded = [b"" if value is None else value.encode() for value in values]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
    there = np.array([value is not None for value in values], dtype=bool)
    buffers = [
        None if there.all() else _bits(there),
        pa.py_buffer(offsets),
        pa.py_buffer(b"".join(encoded)),
    ]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers).cast(pa.string())


def literal(text: str) -> Any:
    """A text that is the same in each row."""
    return texts([text])[0]


def filled(array: Any, value: float) -> Any:
    """An Arrow array with a value where it has null."""
    return (
        array.fill_null(numbers(np.array([value]))[0].cast(array.type))
        if array.null_count
        else array
    )


def null(kind: Any) -> Any:
    """No value, of a type."""
    return pa.nulls(1, kind)[0]


def _bits(flags: Array) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
