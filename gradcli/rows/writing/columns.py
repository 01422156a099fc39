"""What writers take: columns of a block, and these as flat ones (`f.0`, `df/dx.1`, `z.re`) where a format has no arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ..blocks import Mask


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a block: an array with the rows first, or an Arrow array. `mask` is True where there is no value.

    An object array holds text and None, or what JSON lines held, or arrays of different shapes.
    """

    name: str
    values: Any
    mask: Mask | None = None


class Writer(Protocol):
    """Appends blocks to a partial file; opened with a position, it goes on there."""

    def append(self, columns: Sequence[Column]) -> Any:
        """Writes one block, out to the operating system; returns the position after it, which JSON can hold.

        Raises OSError where the disk is full: what was finished before is still good.
        """

    def finish(self) -> None:
        """Makes the file whole, brings it to the disk and closes it; renaming it is up to the caller."""

    def close(self) -> None:
        """Lets go of a file that isn't finished, as it is."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A column of scalars."""

    name: str
    values: Any
    mask: Mask | None = None


def flattened(columns: Sequence[Column]) -> list[Flat]:
    """The columns with their arrays as one column an element. Raises GradcliError where rows differ in shape."""
    flats = [flat for column in columns for flat in _flat(column)]
    distinct([flat.name for flat in flats])
    return flats


def distinct(names: Sequence[str]) -> None:
    """Raises GradcliError where two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        hint = "leave it out of --keep, or rename the output"
        raise GradcliError(Diagnostic("E006", f"two columns to be written are named `{twice}`", help=hint))


def _flat(column: Column) -> list[Flat]:
    values, mask = column.values, column.mask
    if not isinstance(values, np.ndarray):
        return [Flat(column.name, values, mask)]
    if values.dtype == object and any(isinstance(value, np.ndarray) for value in values):
        message = f"`{column.name}` holds arrays of different shapes, which only JSON lines can show"
        raise GradcliError(Diagnostic("E006", message, help="write to a file that ends with .jsonl"))
    parts = [("", values)] if values.dtype.kind != "c" else [(".re", values.real), (".im", values.imag)]
    flats = []
    for index in np.ndindex(values.shape[1:]):
        name = ".".join([column.name, *map(str, index)])
        at = (slice(None), *index)
        for suffix, part in parts:
            flats.append(Flat(name + suffix, part[at], mask if mask is None or mask.ndim == 1 else mask[at]))
    return flats


def text_of(value: Any) -> str | None:
    """Text as it is, and what JSON lines held as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def same(what: str, first: Any, now: Any) -> None:
    """Raises GradcliError where a block's columns aren't those of the first block."""
    if first != now:
        message = f"the columns of this block don't fit into {what}: they were {first}, now they are {now}"
        raise GradcliError(Diagnostic("E006", message, help="JSON lines (.jsonl) can hold values of changing shapes"))
