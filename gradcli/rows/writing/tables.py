"""Columns of a block as an Arrow record batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .. import compute as pc
from ..arrays import null, numbers, texts
from .columns import Column, flattened
from .json_text import text_of


def batch_of(columns: Sequence[Column]) -> Any:
    """The record batch of the flat columns. Text is `string`, numbers keep their types; what is
    masked is null."""
    flats = flattened(columns)
    arrays = [array_of(flat.values, flat.mask) for flat in flats]
    return pa.record_batch(arrays, names=[flat.name for flat in flats])


def array_of(values: Any, mask: Any = None) -> Any:
    """One column of scalars as an Arrow array."""
    if not isinstance(values, np.ndarray):
        return values if mask is None else pc.if_else(numbers(mask), null(values.type), values)
    if values.dtype == object:
        return texts([text_of(value) for value in values.tolist()], mask)
    return numbers(values, mask)
