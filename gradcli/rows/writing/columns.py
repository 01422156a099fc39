"""What writers take: columns of a block, and these as flat ones (`f.0`, `df/dx.1`, `z.re`) where a
format has no arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ..blocks import Array, Mask
from ..exact import EXACT
from .json_text import dumped


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a block: an array with the rows first, or an Arrow array. `mask` is True where
    there is no value.

    An object array holds text and None, or what JSON lines held, or arrays of different shapes.
    """

    name: str
    values: Any
    mask: Mask | None = None


class Writer(Protocol):
    """Appends blocks to a partial file; opened with a position, it goes on there."""

    def append(self, columns: Sequence[Column]) -> Any:
        """Writes one block, out to the operating system; returns the position after it, which JSON
        can hold.

        Raises OSError where the disk is full: what was finished before is still good.
        """

    def finish(self) -> None:
        """Makes the file whole, brings it to the disk and closes it; renaming it is up to the
        caller."""

    def close(self) -> None:
        """Lets go of a file that isn't finished, as it is."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A column of scalars."""

    name: str
    values: Any
    mask: Mask | None = None


def flattened(columns: Sequence[Column]) -> list[Flat]:
    """The columns with their arrays as one column an element. Raises GradcliError where rows differ
    in shape."""
    flats = [flat for column in columns for flat in _flat(column)]
    distinct([flat.name for flat in flats])
    return flats


def distinct(names: Sequence[str]) -> None:
    """Raises GradcliError where two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        hint = "leave it out of --keep, or rename the output"
        raise GradcliError(
            Diagnostic("E006", f"two columns to be written are named `{twice}`", help=hint)
        )


def _flat(column: Column) -> list[Flat]:
    values, mask = column.values, column.mask
    if not isinstance(values, np.ndarray):
        return [Flat(column.name, values, mask)]
    if values.dtype == object and any(isinstance(value, np.ndarray) for value in values):
        message = (
            f"`{column.name}` holds arrays of different shapes, which only JSON lines can show"
        )
        raise GradcliError(
            Diagnostic("E006", message, help="write to a file that ends with .jsonl")
        )
    parts = (
        [("", values)] if values.dtype.kind != "c" else [(".re", values.real), (".im", values.imag)]
    )
    flats = []
    for index in np.ndindex(values.shape[1:]):
        name = ".".join([column.name, *map(str, index)])
        at = (slice(None), *index)
        for suffix, part in parts:
            flats.append(
                Flat(name + suffix, part[at], mask if mask is None or mask.ndim == 1 else mask[at])
            )
    return flats


def as_numpy(values: Any, mask: Mask | None) -> tuple[Array, Mask | None]:
    """A column that may be an Arrow array as a NumPy one, and where there is no value: numbers and
    bools are 0 there, and all else is text."""
    if isinstance(values, np.ndarray):
        return values, mask
    from ..arrays import filled  # whoever made the array has pyarrow
    from .text import is_number, plain

    if values.null_count:
        gone = np.array(values.is_null())
        mask = gone if mask is None else mask | gone
    if not is_number(values.type):
        array = np.empty(len(values), dtype=object)
        array[:] = plain(values).to_pylist()
        return array, mask
    return np.asarray(filled(values, 0).to_numpy(zero_copy_only=False)), mask


def floats(name: str, numbers: Array, mask: Mask | None, why: str) -> Array:
    """Numbers as float64, nan where there is no value. Raises GradcliError where an integer would
    lose digits; `why` says why it would have to be a float64."""
    found = numbers.astype(np.float64)
    if numbers.dtype.kind in "iu" and (np.abs(found) >= EXACT).any():
        end = float(
            np.iinfo(numbers.dtype).max
        )  # which is the next power of two: no such integer comes back
        if (
            (found >= end) | (np.where(found < end, found, 0).astype(numbers.dtype) != numbers)
        ).any():
            message = f"`{name}` has integers of more digits than a float64 holds, and {why}"
            raise GradcliError(
                Diagnostic("E006", message, help="write to .csv, .jsonl or .parquet")
            )
    if mask is not None:
        found[mask] = np.nan
    return found


def as_json(values: Any) -> list[Any]:
    """The values of a column as JSON has them; none where one nests too deeply to be written."""
    if isinstance(values, np.ndarray):
        found = (values.astype(str) if values.dtype.kind in "Mm" else values).tolist()
    else:
        from .text import listed  # whoever made the array has pyarrow

        found = listed(values)
    return [_as_json(value) for value in found]


def _as_json(value: Any) -> Any:
    try:
        return json.loads(dumped(value))
    except RecursionError:
        return None


def same(what: str, first: Any, now: Any) -> None:
    """Raises GradcliError where a block's columns aren't those of the first block."""
    if first != now:
        message = (
            f"the columns of this block don't fit into {what}: they were {first}, now they are "
            f"{now}"
        )
        raise GradcliError(
            Diagnostic(
                "E006", message, help="JSON lines (.jsonl) can hold values of changing shapes"
            )
        )
