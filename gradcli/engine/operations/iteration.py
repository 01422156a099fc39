"""Sequences: what `for` and variadic builtins iterate over, and lists of numbers as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...ops import OPS
from ..backends.backend import is_scalar, shape_of
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, describe, read
from ..values.lanes import Lanes
from .apply import to_array
from .rows.number_kinds import uniform_kind
from .rows.ranges import RowRange
from .sequences import Counted, Listed, Rows, Source, Window, Zipped

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
