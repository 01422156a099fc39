"""Sequences: what `for` and variadic builtins go over, and lists of numbers as arrays.

A sequence is a list, or a window of items that are read when a loop comes to them, so that kernels
and the interpreter go over it alike. The bounds of a `range` may differ between rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Protocol

from ...diagnostics import Span
from ...ops import OPS
from ..backends.backend import is_scalar, shape_of
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, describe, read
from ..values.lanes import Lanes, with_rows
from .access import read_index
from .apply import to_array
from .rows.number_kinds import uniform_kind
from .rows.separation import operation_group, uniform_bool


class Source(Protocol):
    """A sequence of so many items."""

    size: int

    def item(self, k: int) -> Any: ...


class Listed:
    """The items of a list."""

    __slots__ = ("items", "size")

    def __init__(self, items: list[Any]) -> None:
        self.items, self.size = items, len(items)

    def item(self, k: int) -> Any:
        return self.items[k]


class Rows:
    """The rows of an array, or the elements of one of one axis."""

    __slots__ = ("_run", "_site", "size", "value")

    def __init__(self, run: Run, site: Site, value: Any, size: int) -> None:
        self._run, self._site, self.value, self.size = run, site, value, size

    def item(self, k: int) -> Any:
        return read_index(self._run, self._site, self.value, (k,))


class Counted:
    """Ints from 0 on."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def item(self, k: int) -> int:
        return k


class Zipped:
    """Lists of items of several sequences, up to the end of the shortest."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts, self.size = parts, min([part.size for part in parts], default=0)

    def item(self, k: int) -> List:
        return List([part.item(k) for part in self.parts])


class Window:
    """The items of a sequence from `start` on, before `stop`; all of them, if nothing else is said.
    A slice of it is a window, too."""

    __slots__ = ("source", "start", "stop")

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        self.source, self.start = source, start
        self.stop = source.size if stop is None else stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, part: slice) -> Window:
        places = range(self.start, self.stop)[part]
        return Window(self.source, places.start, max(places.start, places.stop))

    def __iter__(self) -> Iterator[Any]:
        if type(self.source) is Listed:
            return iter(self.source.items[self.start : self.stop])
        return _Items(self.source, self.start, self.stop)


class _Items:
    """An iterator that knows how many items are left."""

    __slots__ = ("_at", "_item", "_stop")

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self._item, self._at, self._stop = source.item, start, stop

    def __iter__(self) -> _Items:
        return self

    def __next__(self) -> Any:
        k = self._at
        if k >= self._stop:
            raise StopIteration
        self._at = k + 1
        return self._item(k)

    def __length_hint__(self) -> int:
        return self._stop - self._at


class RowRange:
    """A `range` whose bounds differ between rows; each row leaves the loop at its own end."""

    def __init__(self, run: Run, bounds: list[Any], span: Span) -> None:
        start, self.stop, self.step = (
            bounds if len(bounds) == 3 else (*([0] if len(bounds) == 1 else []), *bounds, 1)
        )
        self.run, self.start, self.span = run, start, span

    def __iter__(self) -> Iterator[Any]:
        start, step = self.start, self.step
        if type(start) is not Lanes and type(step) is not Lanes:
            yield from count(start, step)
        group = operation_group(self.run, (start, step), self.span)
        first, by = with_rows(start, group), with_rows(step, group)
        for k in count():
            yield Lanes(first + k * by, group)

    def has(self, item: Any) -> Any:
        """Which of the rows that run have this item in their range: True or False where all or none
        have it, otherwise lanes of bools."""
        group = operation_group(self.run, (item, self.stop, self.step), self.span)
        item, stop, step = (with_rows(v, group) for v in (item, self.stop, self.step))
        return uniform_bool(
            self.run, self.run.backend.xp.where(step > 0, item < stop, item > stop), group
        )


# ---- what a value is gone through as -------------------------------------------------------------


GETITEM = OPS["getitem"]


def iterate(run: Run, value: Any, span: Span) -> list[Any] | Window:
    """What `for` goes over in a value: the items of a list, the rows of an array, the keys of a
    dict. Plain numbers are in a list. Raises GradcliError (E319) for a value that has none."""
    value = read(value)
    inner = primal(value)
    if type(inner) is List:
        return list(inner)
    if type(inner) is dict:
        return list(inner)
    if shape_of(inner):
        if (
            value is inner
            and hasattr(inner, "tolist")
            and inner.ndim == 1
            and inner.dtype.char in "dl?D"
        ):
            return inner.tolist()  # type: ignore[no-any-return]
        return Window(Rows(run, Site(GETITEM, span), value, inner.shape[0]))
    run.fail(
        "E319",
        f"{describe(value)} has no elements to go through",
        span,
        help="use `range(n)`, a list or an array",
    )


def unpacked(run: Run, site: Site, value: Any) -> list[Any]:
    """The operands of a variadic builtin that is called with one list of them, or with one array
    whose rows they are."""
    value = read(value)
    inner = primal(value)
    if type(inner) is List or shape_of(inner):
        return list(iterate(run, value, site.span))
    return [value]


def bounds(run: Run, site: Site, operands: list[Any]) -> range | RowRange:
    """The ints of `range(...)`. Raises GradcliError for anything but one to three ints."""
    numbers = [uniform_kind(run, primal(read(o))) for o in operands]
    for number in numbers:
        if type(number) is not int and not (
            type(number) is Lanes and number.dtype.kind == "i" and not number.shape
        ):
            run.fail(
                "E311",
                f"`range` takes ints, and this is {describe(number)}",
                site.span,
                help="convert with `int64(…)`",
            )
    if len(numbers) > 3:
        run.fail("E308", f"`range` takes 1 to 3 ints, {len(numbers)} given", site.span)
    if len(numbers) == 3 and (
        numbers[2] == 0 or (type(numbers[2]) is Lanes and not numbers[2].array.all())
    ):
        run.fail("E311", "the step of `range` is 0", site.span)
    if Lanes in map(type, numbers):
        return RowRange(run, numbers, site.span)
    return range(*numbers)


def zipped(run: Run, site: Site, operands: list[Any]) -> Window:
    """The lists of `zip(...)`."""
    return Window(Zipped([_source(run, o, site) for o in operands]))


def enumerated(run: Run, site: Site, operands: list[Any]) -> Window:
    """The pairs of `enumerate(...)`."""
    source = _source(run, operands[0], site)
    return Window(Zipped([Counted(source.size), source]))


def _source(run: Run, value: Any, site: Site) -> Source:
    items = value if isinstance(value, Window) else iterate(run, value, site.span)
    return items.source if isinstance(items, Window) else Listed(items)


# Builtins that `for` iterates over lazily; anywhere else they give lists.
LAZY: dict[str, Callable[[Run, Site, list[Any]], Any]] = {
    "range": bounds,
    "zip": zipped,
    "enumerate": enumerated,
}


# ---- lists as arrays -----------------------------------------------------------------------------


def with_arrays(run: Run, site: Site, value: Any) -> Any:
    """An argument in which every list of numbers, or of rows of equal length, is an array."""
    value = read(value)
    if type(value) is List:
        if _list_shape(value) is not None:
            return to_array(run, site, value)
        return List([with_arrays(run, site, item) for item in value])
    return (
        {key: with_arrays(run, site, item) for key, item in value.items()}
        if type(value) is dict
        else value
    )


def _list_shape(value: Any) -> tuple[int, ...] | None:
    """The shape that nested lists of numbers have as an array; None where they are ragged or hold
    anything else."""
    value = read(value)
    if type(value) is not List:
        return () if is_scalar(primal(value)) else None
    shapes = {_list_shape(item) for item in value} or {()}
    shape = shapes.pop()
    return None if shape is None or shapes else (len(value), *shape)
