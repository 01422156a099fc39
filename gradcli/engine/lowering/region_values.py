"""Values of the language as the numbers of a region, and back. Numbers of arrays that are traced,
or have tangents, are recorded elements of these."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any

from ...ops import OPS
from ..backends.backend import CPU
from ..ir.types import OF_DTYPE
from ..operations.apply import apply, to_array
from ..regions.arrays import is_stored
from ..regions.kinds import ArrayOf, Kind, ListOf, MaybeOf, MixedKind, RecordOf, StoredOf
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, level_of, primal
from ..values.kinds import List

GETITEM = OPS["getitem"]
MISSING = object()


def numbers_of(run: Run, site: Site, value: Any) -> list[Any]:
    """The numbers of a number or an array, row by row; an array of many elements as it is, and a
    list of many numbers as an array."""
    if type(value) is List:
        return [CPU.xp.array(value.items)]
    array = primal(value)
    if type(array) is not CPU.ndarray or is_stored(array.shape, OF_DTYPE[array.dtype.name]):
        return [value]
    if level_of(value) == UNBOXED:
        return array.ravel().tolist()  # type: ignore[no-any-return]
    element = site.in_derivative(GETITEM)
    places = CPU.xp.ndindex(array.shape)
    return [apply(run, element, (value,), {"index": place}) for place in places]


def held_of(run: Run, site: Site, kind: Kind, numbers: Iterator[Any]) -> Any:
    """A number, an array, a list or a dict, of the next numbers; MISSING for what may not be there
    and isn't."""
    if isinstance(kind, ListOf):
        return List([held_of(run, site, item, numbers) for item in kind.items])
    if isinstance(kind, RecordOf):
        items = [held_of(run, site, item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, StoredOf) and kind.listed:
        return List(next(numbers).tolist())
    if isinstance(kind, MaybeOf):
        is_there, held = next(numbers), held_of(run, site, kind.kind, numbers)
        return held if is_there else MISSING
    if isinstance(kind, MixedKind):
        is_int, whole, real = islice(numbers, 3)
        return whole if is_int else real
    if not isinstance(kind, ArrayOf):
        return next(numbers)
    items = list(islice(numbers, prod(kind.shape)))
    if max(map(level_of, items)) == UNBOXED:
        return CPU.xp.array(items).reshape(kind.shape)
    for size in reversed(kind.shape[1:]):
        items = [List(items[k : k + size]) for k in range(0, len(items), size)]
    return to_array(run, site, List(items))
