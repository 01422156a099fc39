"""The structure of a Jacobian: which sweeps compute it, and where its entries are in their results.

Two runs that recorded the same operations on the same shapes have the same structure, so it is
cached.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from ..backends.backend import CPU, count, shape_of
from ..trace.pullbacks import Linearized
from ..trace.recording import Blank
from ..trace.records import Record
from ..values.lanes import Group
from .colouring import colours, distinct, star, transposed
from .patterns import FULL, Pattern, merged
from .probes import on_host
from .row_patterns import group_of, identity
from .sparsity import Propagation

KEPT = 2**24  # numbers in all cached structures and their keys, at most


class Entries(NamedTuple):
    """The entries of the block by one source that aren't structurally zero, row by row.

    rows, columns  the elements of the target and of the source, counted in C order
    places         the places of the entries in the concatenated results of the sweeps
    positions      their places in the dense block
    """

    rows: Any
    columns: Any
    places: Any
    positions: Any


class Structure(NamedTuple):
    """The entries of a Jacobian, and the sweeps that compute them.

    back     whether the sweeps go backward from the target; else forward from the sources
    sweeps   the number of sweeps
    colour   the sweep that carries each element of the target, or of all sources
    entries  the entries by each source
    """

    back: bool
    sweeps: int
    colour: Any
    entries: list[Entries]

    @property
    def size(self) -> int:
        return len(self.colour) + 4 * sum(len(entries.rows) for entries in self.entries)


_kept: OrderedDict[Any, tuple[Structure | None, int]] = OrderedDict()  # least recently used first


def structure(
    records: list[Record],
    sources: dict[int, tuple[int, ...]],
    target: tuple[int, tuple[int, ...]],
    ends: set[int],
    mode: str,
    outside: bool,
) -> Structure | None:
    """Returns the structure of the derivatives of a target by sources, both given by number and
    shape, and `outside` of all rows or not.

    None if each element of the target may depend on all elements of the sources. `mode` is
    "reverse", "forward", "auto" (whichever needs fewer sweeps) or "symmetric", for a gradient by
    its own source.
    """
    key = _key(records, sources, target, ends, mode, outside)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key][0]
    propagation = Propagation(sources, ends, outside)
    propagation.through(records)
    pattern = propagation.pattern(target[0])
    found = None
    if pattern is not FULL and len(pattern.columns) < len(pattern) * propagation.width:
        colouring = (
            _symmetric(pattern)
            if mode == "symmetric"
            else _coloured(pattern, propagation.width, mode)
        )
        found = _of_sources(pattern, colouring, list(map(count, sources.values())))
    _kept[key] = found, len(key) + (0 if found is None else found.size)
    while sum(size for _, size in _kept.values()) > KEPT:
        _kept.popitem(last=False)
    return found


class _Colouring(NamedTuple):
    """The colours of the rows or columns, and for each entry the sweep and the element of its
    result that hold it.
    """

    back: bool
    colour: Any
    sweep: Any
    at: Any


def _coloured(pattern: Pattern, width: int, mode: str) -> _Colouring:
    rows, columns, longest = pattern.rows, pattern.columns, int(pattern.lengths.max(initial=0))
    back = distinct(pattern, width) if mode != "forward" else []
    forward = (
        distinct(transposed(pattern, width), len(pattern))
        if mode == "forward" or (mode == "auto" and colours(back) > longest)
        else []
    )
    if mode == "forward" or (forward and colours(forward) < colours(back)):
        colour = CPU.xp.asarray(forward, int)
        return _Colouring(False, colour, colour[columns], rows)
    colour = CPU.xp.asarray(back, int)
    return _Colouring(True, colour, colour[rows], columns)


def _symmetric(pattern: Pattern) -> _Colouring:
    """Returns a star colouring of the pattern united with its transpose and the diagonal.

    Both are added because index sets may be larger than necessary, and on one side only.
    """
    xp = CPU.xp
    n = len(pattern)
    rows, columns, diagonal = pattern.rows, pattern.columns, xp.arange(n)
    if 4 * len(columns) > n * n:
        return _Colouring(True, diagonal, rows, columns)
    whole = merged(
        xp.concatenate([rows, columns, diagonal]), xp.concatenate([columns, rows, diagonal]), n, n
    )
    found, several = star(whole)
    colour = xp.asarray(found, int)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    mirrored = xp.asarray([several[j] >> found[i] & 1 and i != j for i, j in pairs], bool)
    return _Colouring(
        True, colour, colour[xp.where(mirrored, columns, rows)], xp.where(mirrored, rows, columns)
    )


def _of_sources(pattern: Pattern, colouring: _Colouring, sizes: list[int]) -> Structure:
    """Returns the structure, with the entries split by source."""
    back, colour, sweep, at = colouring
    rows, columns = pattern.rows, pattern.columns
    entries, first = [], 0
    for size in sizes:
        mine = (
            slice(None)
            if len(sizes) == 1
            else ((columns >= first) & (columns < first + size)).nonzero()
        )
        own = columns[mine] - first
        places = (
            sweep[mine] * size + at[mine] - first if back else sweep[mine] * len(pattern) + at[mine]
        )
        entries.append(Entries(rows[mine], own, places, rows[mine] * size + own))
        first += size
    return Structure(back, int(colour.max(initial=-1)) + 1, colour, entries)


# ---- the key of a structure ----------------------------------------------------------------------


def _key(
    records: list[Record],
    sources: dict[int, tuple[int, ...]],
    target: tuple[int, tuple[int, ...]],
    ends: set[int],
    mode: str,
    outside: bool,
) -> Any:
    """Returns all that determines the structure: operations and which of their operands are active,
    their inputs, shapes, indices, and rows that have elements of their own.
    """
    names: dict[int, int] = {number: -1 - k for k, number in enumerate(sources)}
    groups: dict[Group, int] = {}
    parts: list[Any] = [
        mode,
        outside,
        tuple(sources.values()),
        target[1],
        *[number in ends for number in sources],
    ]
    for k, record in enumerate(records):
        number, site, in0, in1, a, b, y, _ = record
        parts += (site.op, site.operands)
        if in1 is not None:
            parts += (names.get(in0), names.get(in1))
        elif type(in0) is int:
            parts.append(names.get(in0))
        else:
            parts.append(tuple([names.get(n) for n in in0]))
        if number in names:
            parts.append(names[number])
        else:
            names[number] = k
        if type(y) is float and site.inline_operands:
            continue
        if outside and (group := group_of(record)) is not None:
            parts.append(identity(record, group, groups))
        if site.op.elementwise:  # its operands broadcast to this shape
            parts.append(shape_of(y))
            continue
        parts += (_shapes(y), *[_frozen(v, True) for v in a], _frozen(b))
    parts.append(names.get(target[0]))
    return tuple(parts)


def _shapes(value: Any) -> Any:
    return tuple([shape_of(part) for part in value]) if type(value) is list else shape_of(value)


def _frozen(value: Any, operand: bool = False) -> Any:
    """Returns a hashable key of a value: of an operand its shape, or its elements if they are
    indices.
    """
    kind = type(value)
    if isinstance(value, Linearized):
        return value.code
    if operand and (
        kind is Blank or getattr(value, "dtype", None) is None or value.dtype.kind not in "iu"
    ):
        return shape_of(value)
    if kind is dict:
        return tuple([(name, _frozen(item)) for name, item in value.items()])
    if kind is tuple or kind is list:
        return tuple([_frozen(item) for item in value])
    if kind is slice:
        return "slice", value.start, value.stop, value.step
    if (
        kind is int
        or kind is float
        or kind is str
        or kind is bool
        or value is None
        or value is Ellipsis
    ):
        return value
    if hasattr(value, "tobytes"):
        value = on_host(value)
        return value.shape, value.dtype.str, value.tobytes()
    return kind
