"""Names of flat columns: `x.0`, `x.1` are a vector x, `w.0.1` an element of a matrix, `z.re` and
`z.im` a complex number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .blocks import Array, Block, Mask
from .exact import changed

MAX_AXES = 32  # of the value of a row; NumPy has a few more
_FLAT = re.compile(rf"(.+?)((?:\.(?:0|[1-9][0-9]{{0,9}})){{0,{MAX_AXES}}})(\.re|\.im)?", re.DOTALL)


@dataclass(slots=True)
class Cells:
    """One column as it was read: values, a mask of those that are missing, and why rows (by index)
    can't be read."""

    values: Array
    missing: Mask | None = None
    rejected: dict[int, str] = field(default_factory=dict)


class Layout(NamedTuple):
    """The columns that hold a name's elements, in row-major order, with its shape; of complex ones,
    first all real parts."""

    columns: list[str]
    shape: tuple[int, ...] = ()
    is_complex: bool = False


def grouped(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns' names, with flat ones that are complete under the one name that they share."""
    own = set(columns)
    bases = {
        column: name
        for name, place in _places(columns).items()
        if name not in own
        for column in place.columns
    }
    return tuple(dict.fromkeys(bases.get(column, column) for column in columns))


def layout(name: str, columns: tuple[str, ...]) -> Layout | None:
    """Where the values of `name` are; None where it is no column, nor a complete set of flat
    ones."""
    return _places(columns).get(name)


@lru_cache(maxsize=64)  # each range asks again
def _places(columns: tuple[str, ...]) -> dict[str, Layout]:
    """Where the values are of each name that there is: of complete sets of flat columns, and of all
    columns."""
    families: dict[str, dict[tuple[str, tuple[int, ...]], str]] = {}
    for column in columns:
        base, index, part = _split(column)
        if base != column:
            families.setdefault(base, {})[part, index] = column
    complete = {
        base: place for base, family in families.items() if (place := _complete(family)) is not None
    }
    return complete | {column: Layout([column]) for column in columns}


def _split(column: str) -> tuple[str, tuple[int, ...], str]:
    match = _FLAT.fullmatch(column)
    if match is None:
        return column, (), ""
    return match[1], tuple(int(k) for k in match[2].split(".")[1:]), match[3] or ""


def _complete(family: Mapping[tuple[str, tuple[int, ...]], str]) -> Layout | None:
    """The layout of flat columns, by their part and index; None where one is missing, or too many
    are there."""
    parts = {part for part, _ in family}
    indices = [index for part, index in family if part == max(parts)]
    if parts not in ({""}, {".re", ".im"}) or len({len(index) for index in indices}) != 1:
        return None
    shape = tuple(max(axis) + 1 for axis in zip(*indices, strict=True))
    if math.prod(shape) * len(parts) != len(family):
        return None
    wanted = [
        (part, index)
        for part in sorted(parts, reverse=True)
        for index in product(*map(range, shape))
    ]
    if any(key not in family for key in wanted):
        return None
    return Layout([family[key] for key in wanted], shape, len(parts) == 2)


def complex_of(real: Array, imag: Array) -> Array:
    """Complex numbers of their parts, as these are: `real + 1j * imag` would make nan of an
    infinite one."""
    values = np.empty(real.shape, np.complex128)
    values.real, values.imag = real, imag
    return values


def gather(name: str, where: Layout, cells: Mapping[str, Cells]) -> Cells:
    """The flat columns of a name as one. A row that has some of its elements but not all is
    rejected."""
    parts = [cells[column] for column in where.columns]
    if len(parts) == 1 and not where.shape:
        return parts[0]
    if any(part.values.dtype == object or part.values.ndim > 1 for part in parts):
        return _hopeless(parts, f"the flat columns of `{name}` hold lists themselves")
    if where.is_complex and any(part.values.dtype.kind == "c" for part in parts):
        return _hopeless(parts, f"the flat columns of `{name}` hold complex numbers themselves")
    stacked = np.array([part.values for part in parts])  # rows last, as the engine computes
    rejected: dict[int, str] = {}
    for column, part in zip(reversed(where.columns), reversed(parts), strict=True):
        rejected |= part.rejected
        if where.is_complex or stacked.dtype.kind in "fc":
            rejected |= {
                row: f"column `{column}`: {why}" for row, why in changed(part.values).items()
            }
    if where.is_complex:
        stacked = complex_of(*np.split(stacked, 2))
    n = stacked.shape[1]
    values = np.moveaxis(stacked.reshape(*where.shape, n), -1, 0)
    if all(part.missing is None for part in parts):
        return Cells(values, None, rejected)
    masks = np.array(
        [np.zeros(n, bool) if part.missing is None else part.missing for part in parts]
    )
    count = masks.sum(axis=0)
    for row in np.flatnonzero((count > 0) & (count < len(parts))).tolist():
        empty = where.columns[int(masks[:, row].argmax())]
        rejected.setdefault(row, f"column `{empty}` has no value, other elements of `{name}` have")
    missing = count == len(parts)
    return Cells(values, missing if missing.any() else None, rejected)


def layouts(names: Iterable[str], columns: tuple[str, ...]) -> dict[str, Layout]:
    """Where the values of those of the names are that there are."""
    places = _places(columns)
    return {name: places[name] for name in names if name in places}


def fill(block: Block, where: Mapping[str, Layout], cells: Mapping[str, Cells]) -> None:
    """Puts columns for the program into a block, and lets no row that is rejected count as one with
    missing values."""
    for name, place in where.items():
        found = gather(name, place, cells)
        block.columns[name] = found.values
        for row, reason in found.rejected.items():
            block.rejected.setdefault(row, reason)
        if found.missing is not None:
            block.missing[name] = found.missing
    lost = list(block.rejected)
    for name, mask in list(block.missing.items()):
        mask[lost] = False
        if not mask.any():
            del block.missing[name]


def objects(values: list[Any]) -> Array:
    """A list as an array of Python objects, lists within it too."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _hopeless(parts: Sequence[Cells], reason: str) -> Cells:
    n = len(parts[0].values)
    return Cells(np.full(n, np.nan), None, dict.fromkeys(range(n), reason))
