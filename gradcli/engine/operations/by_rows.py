"""Structural operations on lanes: by the op's own rule for rows (`ops/rows.py`), or row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NoReturn

from ...diagnostics import GradcliError, Span
from ...ops import OPS
from ...ops.op import Op
from ..backends.backend import CPU
from ..trace.changes import keep_changes, reported, take_back, take_back_reports
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Group, Lanes, UnrelatedError, common, deepest, narrow, spread, with_rows
from .integers import is_integer

WHERE = OPS["where"]
# What these give of ints is what they give of floats of the same value.
_ALIKE = frozenset(("add", "sub", "mul", "neg", "pos", "abs", "square", "minimum", "maximum"))
# what a number of a row is alone, but float32: a number of Python's, which takes the width of what
# it meets
_WEAK = "dl?D"


def weighed_as_alone(run: Run, primals: Sequence[Any], floats: bool = False) -> Sequence[Any]:
    """Operands that give the dtype that they give a row alone: there a number is weak, and doesn't
    widen float32. `floats`: and numbers are floats."""
    if floats:
        primals = [_as_float(run, v) for v in primals]
    if not any(v.dtype.char in "fF" for v in primals if hasattr(v, "dtype")):
        return primals
    weak = [type(v) is Lanes and not v.shape and v.dtype.char in _WEAK for v in primals]
    strong = [
        v.dtype
        for v, is_weak in zip(primals, weak, strict=True)
        if not is_weak and hasattr(v, "dtype")
    ]
    dtype = run.backend.xp.result_type(*strong) if strong else None
    if dtype is None or dtype.char not in "fF" or not any(weak):
        return primals
    narrow = {"D": "complex64", "d": dtype, "l": dtype, "?": "bool"}
    return [
        Lanes(v.array.astype(narrow[v.dtype.char]), v.group) if is_weak else v
        for v, is_weak in zip(primals, weak, strict=True)
    ]


def _as_float(run: Run, value: Any) -> Any:
    """A number, or a number a row, that is an int or a bool as a float."""
    if type(value) in (int, bool):
        return run.real(float(value))
    if type(value) is not Lanes or value.shape or value.dtype.char not in "l?":
        return value
    return Lanes(value.array.astype(run.settings.dtype), value.group)


def part_by_kind(run: Run, primals: Sequence[Any]) -> None:
    """Parts the rows where a power of ints is an int in some and a float in others: its exponent is
    negative there."""
    exponent = primals[1]
    ints = all(
        type(v) in (int, bool) or (hasattr(v, "dtype") and v.dtype.kind in "bi") for v in primals
    )
    if ints and type(exponent) is Lanes:
        negative = (exponent.array < 0).reshape(-1, exponent.group.size).any(axis=0)
        if type(agreed(run, negative, exponent.group)) is Lanes:
            raise ApartError(exponent.group, negative.astype("int64"))


def of_one_kind(run: Run, value: Any) -> Any:
    """A value by the rows that run, all ints or all floats. Parts the rows where it is an int in
    some and a float in others."""
    if type(value) is not Lanes or value.ints is None:
        return value
    value = narrow(value, joint(run, (value,), None))
    if value.ints is not None:
        raise ApartError(value.group, value.ints.astype("int64"))
    return value


def ints_of(op: Op, primals: Sequence[Any], group: Group) -> Any:
    """The rows in which an elementwise op gives ints, where it gives floats in others; None where
    all rows give the same kind. Parts them where the op does more with ints than with floats of the
    same value."""
    ints = _all_ints(primals) if op.integers == "keep" else None
    if (
        ints is not None
        and op.name not in _ALIKE
        and not (op.name == "pow" and type(primals[1]) is int and primals[1] >= 0)
    ):
        raise ApartError(group, ints.astype("int64"))
    return ints


def _all_ints(primals: Sequence[Any]) -> Any:
    """The rows in which all operands are ints; None where that is all rows, or none."""
    ints = True
    for p in primals:
        ints = ints & (p.ints if type(p) is Lanes and p.ints is not None else is_integer(p))
    return None if type(ints) is bool or not ints.any() else ints


def with_ints(run: Run, y: Lanes, ints: Any) -> Lanes:
    """Floats that stand for ints in some rows. Parts these from the others where floats don't hold
    them exactly."""
    xp, array = run.backend.xp, y.array
    if bool((abs(array[..., ints]) >= 2 / xp.finfo(array.dtype).eps).any()):
        raise ApartError(y.group, ints.astype("int64"))
    return Lanes(
        xp.where(ints & (array == 0), 0.0, array), y.group, ints
    )  # an int has no negative zero


class ApartError(Exception):
    """Rows that can't go on together: what they do next depends on a value that must be one.
    `labels` numbers, for each row of `group`, which rows it can stay with."""

    def __init__(self, group: Group, labels: Any) -> None:
        super().__init__("the rows can't go on together")
        self.group, self.labels = group, labels


def parts_of(run: Run, group: Group, error: ApartError) -> list[Group]:
    """The rows of a group that can go on together, each sort by itself. Raises the error where it
    parts rows that these were made of."""
    if not error.group.within(group):
        raise error
    xp = run.backend.xp
    labels = xp.full(group.size, -1)  # of rows that are elsewhere already
    labels[slice(None) if error.group is group else error.group.way_to(group)] = error.labels
    parts = [group.rows(xp, labels == label) for label in xp.unique(labels).tolist()]
    assert len(parts) > 1, "rows that can go on together were parted"
    return parts


def by_sort(
    run: Run, group: Group | None, call: Callable[[], Any]
) -> Iterator[tuple[Group | None, Any]]:
    """What `call` gives for the rows of a group; once for each sort of these where they can't go on
    together, and aren't the rows that run. None is for what no rows differ in."""
    if group is None or group is run.group:
        yield group, call()
        return
    outside, divisions, so_far = run.group, len(run.changes), reported(run)
    run.group = group
    run.changes.append({})
    parts: list[Group] = []
    try:
        found = call()
        if run.changes[-1]:
            part_by(run, group)  # others didn't change it
        keep_changes(run, divisions)
    except ApartError as error:
        parts = parts_of(run, group, error)
        take_back_reports(run, so_far)
    finally:
        run.group = outside
        take_back(run, divisions)
    if not parts:
        yield group, found
    for part in parts:
        yield from by_sort(run, part, call)


def part_off(run: Run) -> None:
    """Parts the rows that run from the others, where what they do next is kept for all rows as
    one."""
    if run.group is not None and run.parts_rows:
        part_by(run, run.group)


def part_by(run: Run, group: Group) -> None:
    """Parts the rows of a group from the others, if there are others."""
    whole = group.outermost()
    if group is whole:
        return
    labels = run.backend.xp.zeros(whole.size, "int64")
    labels[group.way_to(whole)] = 1
    if not bool(labels.all()):
        raise ApartError(whole, labels)


def apart_by(run: Run, group: Group, indices: Iterable[Any]) -> NoReturn:
    """Parts the rows of a group: those of each of `indices` from the others."""
    labels = run.backend.xp.zeros(group.size, "int64")
    for k, index in enumerate(indices):
        labels[index] = k
    raise ApartError(group, labels)


def apart(run: Run, value: Lanes) -> NoReturn:
    """Parts the rows by a value that decides a shape, or what is done next."""
    unique, flat = run.backend.xp.unique, value.array.reshape(-1, value.group.size)
    if len(flat) > 1 and run.backend is CPU:
        labels = unique(flat, axis=1, return_inverse=True)[1].reshape(-1)
    else:  # CuPy would compare whole rows one by one, and wait for each
        labels = unique(flat[0], return_inverse=True)[1]
        for numbers in flat[1:]:
            labels = unique(
                labels * value.group.size + unique(numbers, return_inverse=True)[1],
                return_inverse=True,
            )[1]
    raise ApartError(value.group, labels)


def agreed_value(run: Run, value: Any) -> Any:
    """The one value of lanes that decide a shape, or what is done next. Parts the rows where they
    differ."""
    if type(value) is not Lanes:
        return value
    value = narrow(value, joint(run, (value,), None))
    array = value.array
    if not value.group.size:
        return run.backend.settle(run.backend.xp.zeros(value.shape, value.dtype))
    if not bool((array == array[..., :1]).all()):
        apart(run, value)
    return run.backend.settle(array[..., 0].copy())


def joint(run: Run, values: Any, span: Span | None, inner: bool = False) -> Group:
    """The group that an operation on these values runs on: the one that runs; with `inner`, as in
    derivatives, it may be one inside. Raises GradcliError (E307) where some of its rows lack a
    value."""
    try:
        group = deepest(values, run.group)
    except UnrelatedError:
        group = None
    if group is None or not (inner or run.group is None or group is run.group):
        part_by_lack(run, values)
        run.fail(
            "E307",
            "a value that only some rows have meets others",
            span,
            help="assign the name on every path that leads here",
        )
    return group


def part_by_lack(run: Run, values: Any) -> None:
    """Parts the rows that have a value from those that run and lack it, if there are both. Where
    one of these reads it, it has none by itself. If all have it, as rows opened inside them, the
    rows that run are parted from the others."""
    for value in values:
        if (
            type(value) is Lanes
            and run.group is not None
            and (whole := common(value.group, run.group)) not in (None, value.group)
        ):
            labels = run.backend.xp.zeros(whole.size, "int64")
            labels[value.group.way_to(whole)] = 1
            if whole is not run.group and bool(labels.all()):
                labels[run.group.way_to(whole)] = 2
            if not bool((labels == labels[0]).all()):
                raise ApartError(whole, labels)


class RowRange:
    """A `range` whose bounds differ between rows: each row leaves at its own end."""

    def __init__(self, run: Run, bounds: list[Any], span: Span) -> None:
        start, self.stop, self.step = (
            bounds if len(bounds) == 3 else (*([0] if len(bounds) == 1 else []), *bounds, 1)
        )
        self.run, self.start, self.span = run, start, span

    def __iter__(self) -> Iterator[Any]:
        start, step = self.start, self.step
        if type(start) is not Lanes and type(step) is not Lanes:
            yield from count(start, step)
        group = joint(self.run, (start, step), self.span)
        first, by = with_rows(start, group), with_rows(step, group)
        for k in count():
            yield Lanes(first + k * by, group)

    def has(self, item: Any) -> Any:
        """Which of the rows that run still have this item: True or False where they agree."""
        group = joint(self.run, (item, self.stop, self.step), self.span)
        item, stop, step = (with_rows(v, group) for v in (item, self.stop, self.step))
        return agreed(
            self.run, self.run.backend.xp.where(step > 0, item < stop, item > stop), group
        )


def agreed(run: Run, bools: Any, group: Group) -> Any:
    """What rows of bools say together: True, False, or lanes where they differ."""
    count = int(run.backend.xp.count_nonzero(bools))
    return bool(count) if count in (0, group.size) else Lanes(bools, group)


def varies(options: Mapping[str, Any]) -> bool:
    """Whether an option differs between rows."""
    return any(map(_varies, options.values()))


def _varies(value: Any) -> bool:
    return type(value) is Lanes or (type(value) in (list, tuple) and any(map(_varies, value)))


def on_lanes(
    run: Run,
    site: Site,
    primals: list[Any],
    options: Mapping[str, Any],
    compute: Callable[..., Any],
) -> Any:
    """A structural op on primals, or options, of which some are lanes; `primals` get the rows that
    run.

    `compute(primals, options, function)` is the op on arrays, or `function` in its place.
    """
    op, xp = site.op, run.backend.xp
    if op.category == "lanes":
        assert op.compute is not None
        y = op.compute(xp, *primals, **options)
        return y if type(y) is not Lanes or y.ints is None else with_ints(run, y, y.ints)
    options = {name: tuple(v) if type(v) is list else v for name, v in options.items()}
    varying = [
        v
        for value in options.values()
        for v in (value if type(value) is tuple else (value,))
        if type(v) is Lanes
    ]
    group = joint(run, (*primals, *varying), site.span, site.of is not None)
    primals[:] = [narrow(p, group) for p in primals]
    if (
        op.category != "casting"
        and (ints := _all_ints([p for p in primals if p is not None])) is not None
    ):
        raise ApartError(group, ints.astype("int64"))
    if op is WHERE:
        primals[1:] = weighed_as_alone(run, primals[1:])
    laned = [type(p) is Lanes for p in primals]
    if varying:
        options = {name: _map(lambda v: narrow(v, group), value) for name, value in options.items()}
    by_index = "index" in options and op.rows is not None
    if op.rows is None or (varying and not by_index):
        return _row_by_row(run, primals, options, group, compute)

    def function(xp: Any, *arrays: Any, **options: Any) -> Any:
        y = op.rows(xp, partial(op.compute, xp), arrays, laned, options, group.size)  # type: ignore[misc, arg-type]
        if y is NotImplemented:
            raise _ByRowError
        return y

    try:
        y = compute(
            [p.array if own else p for p, own in zip(primals, laned, strict=True)],
            options,
            function,
        )
    except _ByRowError:
        return _row_by_row(run, primals, options, group, compute)
    except GradcliError as error:
        if error.diagnostics[0].code in _OF_SHAPES:  # the message of a row alone has its own shapes
            _row_by_row(run, primals, options, group, compute)
        raise
    return (
        [Lanes(in_order(xp, part), group) for part in y]
        if type(y) is list
        else Lanes(in_order(xp, y), group)
    )


_OF_SHAPES = ("E304", "E320")


def in_order(xp: Any, y: Any) -> Any:
    """The array with its rows side by side in memory (or one that stands for all), as all that
    comes next wants them; but few rows of large values, as sweeps from several seeds have them,
    stay one behind another. Complex numbers are as wide as they are alone."""
    if y.dtype.char == "F" and y.ndim == 1:
        return y.astype("complex128")
    few = y.size > y.shape[-1] ** 2
    return y if few or y.strides[-1] in (y.dtype.itemsize, 0) else xp.ascontiguousarray(y)


class _ByRowError(Exception):
    """The rule for rows has nothing for these operands."""


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    return tuple([function(v) for v in value]) if type(value) is tuple else function(value)


def _row_by_row(
    run: Run,
    primals: list[Any],
    options: Mapping[str, Any],
    group: Group,
    compute: Callable[..., Any],
) -> Any:
    xp, settle = run.backend.xp, run.backend.settle
    drawn = run.draws
    results = []
    for k in range(group.size):
        run.draws = drawn  # every row draws what it would alone
        row = partial(_row, settle, k)
        results.append(
            compute([row(p) for p in primals], {name: _map(row, v) for name, v in options.items()})
        )
    several = type(results[0]) is list
    table = [[xp.asarray(part) for part in (y if several else [y])] for y in results]
    forms: dict[Any, int] = {}
    labels = [
        forms.setdefault(tuple([(part.shape, part.dtype) for part in row]), len(forms))
        for row in table
    ]
    if len(forms) > 1:
        raise ApartError(group, xp.asarray(labels))
    parts = [
        Lanes(xp.stack([row[i] for row in table], axis=-1), group) for i in range(len(table[0]))
    ]
    return parts if several else parts[0]


def _row(settle: Any, k: int, value: Any) -> Any:
    return settle(value.array[..., k].copy()) if type(value) is Lanes else value


def rows_of(run: Run, value: Any) -> Lanes:
    """A value as lanes of the rows that run."""
    assert run.group is not None
    return spread(run.backend.xp, value, run.group)
