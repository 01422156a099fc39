"""Many rows at once. A lane value has one extra, last axis, the rows; that it has is its type, never read off a shape.

Per-row scalars, vectors and matrices then broadcast against each other as they are, and `shape` counts without the rows.
A shared array of rank 1 or more gets a last axis of 1 where it meets lanes. Elementwise operations take lanes, forwards and
backwards; a sweep that is asked from outside sums over the rows for what they share.
"""

from __future__ import annotations

from typing import Any


class Lanes:
    """A value a row: `array` has the value's axes, and the rows last."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape[:-1]
        return shape

    @property
    def rows(self) -> int:
        return int(self.array.shape[-1])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __repr__(self) -> str:
        return f"<{self.rows} rows of {self.dtype}, shape {self.shape}>"


def with_rows(value: Any) -> Any:
    """A value as an array beside lanes: theirs with the rows, a shared one with a last axis of 1, a number as it is."""
    if type(value) is Lanes:
        return value.array
    is_array = hasattr(value, "strides") and value.ndim  # and no Blank, which stands for a value that nobody reads
    return value[..., None] if is_array else value
