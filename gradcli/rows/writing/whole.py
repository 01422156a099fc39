"""Tables that are written whole: answers, where they are no rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..needs import arrow_for


def parquet(
    text: Mapping[str, Sequence[str | None]], numbers: Mapping[str, Sequence[float | None]]
) -> bytes:
    """A Parquet file with these columns of text and of numbers. Raises GradcliError (E001) without
    pyarrow."""
    with arrow_for("Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        from .. import arrays
    columns = {name: arrays.texts(values) for name, values in text.items()}
    for name, values in numbers.items():
        gone = np.array([value is None for value in values], dtype=bool)
        found = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
        columns[name] = arrays.numbers(found, gone)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())
