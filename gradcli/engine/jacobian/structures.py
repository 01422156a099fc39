"""What a Jacobian is made by, as far as the structure of the trace decides it: the sweeps, and where its entries then stand.

Two runs that recorded the same operations on the same shapes have the same structure, so it is kept for the next.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from ..backends.backend import CPU, count, shape_of
from ..trace.records import Record
from ..trace.tape import Blank
from .colouring import colours, distinct, star, transposed
from .patterns import FULL, Pattern, merged
from .sparsity import Propagation, on_host

SEEDS = 2**16  # numbers in the seeds of one that are kept
KEPT = 2**24  # numbers in all structures that are kept, with what tells them apart


class Entries(NamedTuple):
    """The entries that aren't zero by structure, of the block by one source, row by row.

    rows, columns  the elements of the target and of the source, counted in C order
    places         where the entries stand in what the sweeps give, one after another
    positions      where they stand in the whole block
    """

    rows: Any
    columns: Any
    places: Any
    positions: Any


class Structure(NamedTuple):
    """The entries of a Jacobian, and the sweeps that they come from.

    back     whether these go back from the target; else forward from the sources
    sweeps   how many there are
    colour   of each element of the target, or of all sources: the sweep that carries it
    entries  by each source
    seeds    what the sweeps begin with, once they did (`seeds.py`)
    """

    back: bool
    sweeps: int
    colour: Any
    entries: list[Entries]
    seeds: dict[Any, Any]

    @property
    def size(self) -> int:
        seeds = min(self.sweeps * len(self.colour), SEEDS)
        return len(self.colour) + seeds + 4 * sum(len(entries.rows) for entries in self.entries)


_kept: OrderedDict[Any, tuple[Structure | None, int]] = OrderedDict()  # the last used last


def structure(
    records: list[Record], sources: dict[int, tuple[int, ...]], target: tuple[int, tuple[int, ...]], ends: set[int], mode: str
) -> Structure | None:
    """The structure of the derivatives of a target by sources, both numbers with their shapes, through these records; None
    where each element of the target may depend on all of the sources'.

    `mode` is "reverse", "forward", "auto" (whichever takes fewer sweeps) or "symmetric", for a gradient by its own source.
    """
    key = _key(records, sources, target, ends, mode)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key][0]
    propagation = Propagation(sources, ends)
    propagation.through(records)
    pattern = propagation.pattern(target[0])
    found = None
    if pattern is not FULL and len(pattern.columns) < len(pattern) * propagation.width:
        colouring = _symmetric(pattern) if mode == "symmetric" else _coloured(pattern, propagation.width, mode)
        found = _of_sources(pattern, colouring, list(map(count, sources.values())))
    _kept[key] = found, len(key) + (0 if found is None else found.size)
    while sum(size for _, size in _kept.values()) > KEPT:
        _kept.popitem(last=False)
    return found


class _Colouring(NamedTuple):
    """Sweeps back or forward, the colours of what they begin with; of each entry, which sweep it is read from, and at which
    element of what that gives."""

    back: bool
    colour: Any
    sweep: Any
    at: Any


def _coloured(pattern: Pattern, width: int, mode: str) -> _Colouring:
    rows, columns, longest = pattern.rows, pattern.columns, int(pattern.lengths.max(initial=0))
    back = distinct(pattern, width) if mode != "forward" else []
    forth = (
        distinct(transposed(pattern, width), len(pattern))
        if mode == "forward" or (mode == "auto" and colours(back) > longest)
        else []
    )
    if mode == "forward" or (forth and colours(forth) < colours(back)):
        colour = CPU.xp.asarray(forth, int)
        return _Colouring(False, colour, colour[columns], rows)
    colour = CPU.xp.asarray(back, int)
    return _Colouring(True, colour, colour[rows], columns)


def _symmetric(pattern: Pattern) -> _Colouring:
    """By a star colouring of the pattern with what mirrors it, and the diagonal: index sets may be larger than need be, and
    on one side only."""
    xp = CPU.xp
    n = len(pattern)
    rows, columns, diagonal = pattern.rows, pattern.columns, xp.arange(n)
    if 4 * len(columns) > n * n:
        return _Colouring(True, diagonal, rows, columns)
    whole = merged(xp.concatenate([rows, columns, diagonal]), xp.concatenate([columns, rows, diagonal]), n, n)
    found, several = star(whole)
    colour = xp.asarray(found, int)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    mirrored = xp.asarray([several[j] >> found[i] & 1 and i != j for i, j in pairs], bool)
    return _Colouring(True, colour, colour[xp.where(mirrored, columns, rows)], xp.where(mirrored, rows, columns))


def _of_sources(pattern: Pattern, colouring: _Colouring, sizes: list[int]) -> Structure:
    """The structure with the entries of each source by themselves."""
    back, colour, sweep, at = colouring
    rows, columns = pattern.rows, pattern.columns
    entries, first = [], 0
    for size in sizes:
        mine = slice(None) if len(sizes) == 1 else ((columns >= first) & (columns < first + size)).nonzero()
        own = columns[mine] - first
        places = sweep[mine] * size + at[mine] - first if back else sweep[mine] * len(pattern) + at[mine]
        entries.append(Entries(rows[mine], own, places, rows[mine] * size + own))
        first += size
    return Structure(back, int(colour.max(initial=-1)) + 1, colour, entries, {})


# ---- what decides the structure ----------------------------------------------------------------------------------------


def _key(
    records: list[Record], sources: dict[int, tuple[int, ...]], target: tuple[int, tuple[int, ...]], ends: set[int], mode: str
) -> Any:
    """All that the structure depends on: operations and their places, what reads what, shapes, indices."""
    names: dict[int, int] = {number: -1 - k for k, number in enumerate(sources)}
    parts: list[Any] = [mode, tuple(sources.values()), target[1], *[number in ends for number in sources]]
    for k, record in enumerate(records):
        number, site, in0, in1, a, b, y = record
        parts.append(site)
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
        if type(y) is float and (site.narrow or site.scalar):
            continue
        if site.op.elementwise:  # its operands have shapes that broadcasting brings to this one
            parts.append(shape_of(y))
            continue
        parts += (_shapes(y), *[_frozen(v, True) for v in a], _frozen(b))
    parts.append(names.get(target[0]))
    return tuple(parts)


def _shapes(value: Any) -> Any:
    return tuple([shape_of(part) for part in value]) if type(value) is list else shape_of(value)


def _frozen(value: Any, operand: bool = False) -> Any:
    """A value that tells options apart. Of an operand its shape; of one that holds indices, the indices."""
    kind = type(value)
    if operand and (kind is Blank or getattr(value, "dtype", None) is None or value.dtype.kind not in "iu"):
        return shape_of(value)
    if kind is dict:
        return tuple([(name, _frozen(item)) for name, item in value.items()])
    if kind is tuple or kind is list:
        return tuple([_frozen(item) for item in value])
    if kind is slice:
        return "slice", value.start, value.stop, value.step
    if kind is int or kind is float or kind is str or kind is bool or value is None or value is Ellipsis:
        return value
    if hasattr(value, "tobytes"):
        value = on_host(value)
        return value.shape, value.dtype.str, value.tobytes()
    return kind
