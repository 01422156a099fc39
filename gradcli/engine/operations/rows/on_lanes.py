"""Structural operations on lanes, by the op's rule for rows (`ops/rows.py`) or row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ....diagnostics import GradcliError
from ....ops import OPS
from ....ops.op import Op
from ...trace.run import Run
from ...trace.tape import Site
from ...values.lanes import Group, Lanes, narrow
from .failing import fail_by_halves, fail_rows, row_of, tells_apart
from .number_kinds import all_ints, with_ints, with_row_dtypes
from .separation import SeparationError, operation_group

WHERE = OPS["where"]


def differ_between_rows(options: Mapping[str, Any]) -> bool:
    """Whether some option differs between rows."""
    return any(map(_differs, options.values()))


def _differs(value: Any) -> bool:
    return type(value) is Lanes or (type(value) in (list, tuple) and any(map(_differs, value)))


def on_lanes(
    run: Run,
    site: Site,
    primals: list[Any],
    options: Mapping[str, Any],
    compute: Callable[..., Any],
) -> Any:
    """The structural op of `site` where operands or options are lanes. Narrows `primals` to the
    rows that run.

    `compute(primals, options, function)` computes the op on arrays, with `function` in place of its
    own if that is given.
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
    group = operation_group(run, (*primals, *varying), site.span, site.of is not None)
    primals[:] = [narrow(p, group) for p in primals]
    if (
        op.category != "casting"
        and (ints := all_ints([p for p in primals if p is not None])) is not None
    ):
        raise SeparationError(group, ints.astype("int64"))
    if op is WHERE:
        primals[1:] = with_row_dtypes(run, primals[1:])
    if varying:
        options = narrowed(options, group)
    if op.rows is None or (varying and "index" not in options):
        return _row_by_row(run, primals, options, group, compute)
    try:
        y = by_rule(op, primals, options, group, compute)
    except ByRowError:
        return _row_by_row(run, primals, options, group, compute)
    except GradcliError as error:
        # Which rows have an index beyond its range, `verify_index` has told.
        if tells_apart(run, group, primals) and "index" not in options:
            fail_by_halves(
                run,
                lambda: on_lanes(run, site, [*primals], options, compute),
                _by_itself(run, primals, options, compute),
            )
        if error.diagnostics[0].code in _SHAPE_ERRORS:  # a row by itself reports its own shapes
            _row_by_row(run, primals, options, group, compute)
        raise
    return (
        [Lanes(rows_contiguous(xp, part), group) for part in y]
        if type(y) is list
        else Lanes(rows_contiguous(xp, y), group)
    )


def narrowed(options: Mapping[str, Any], group: Group) -> dict[str, Any]:
    """The options with the rows of a group."""
    return {name: _map(lambda v: narrow(v, group), value) for name, value in options.items()}


def by_rule(
    op: Op,
    primals: list[Any],
    options: Mapping[str, Any],
    group: Group,
    compute: Callable[..., Any],
) -> Any:
    """The op computed by its rule for rows on operands and options of a group, as an array with
    the rows last; `compute` as in `on_lanes`. Raises `ByRowError` where the rule doesn't handle
    these operands."""
    laned = [type(p) is Lanes for p in primals]

    def function(xp: Any, *arrays: Any, **options: Any) -> Any:
        y = op.rows(xp, partial(op.compute, xp), arrays, laned, options, group.size)  # type: ignore[misc, arg-type]
        if y is NotImplemented:
            raise ByRowError
        return y

    arrays = [p.array if own else p for p, own in zip(primals, laned, strict=True)]
    return compute(arrays, options, function)


_SHAPE_ERRORS = ("E304", "E320")


def rows_contiguous(xp: Any, y: Any) -> Any:
    """The array with its rows contiguous in memory, or broadcast from one, as later operations want
    them. Few rows of large values, as in sweeps from several seeds, stay as they are. Complex
    numbers get the width that they have in a single row."""
    if y.dtype.char == "F" and y.ndim == 1:
        return y.astype("complex128")
    few = y.size > y.shape[-1] ** 2
    return y if few or y.strides[-1] in (y.dtype.itemsize, 0) else xp.ascontiguousarray(y)


class ByRowError(Exception):
    """The op's rule for rows doesn't handle these operands."""


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    return tuple([function(v) for v in value]) if type(value) is tuple else function(value)


def _row_by_row(
    run: Run,
    primals: list[Any],
    options: Mapping[str, Any],
    group: Group,
    compute: Callable[..., Any],
) -> Any:
    """The op computed for one row after another. Separates rows whose results differ in shape or
    dtype."""
    xp, alone = run.backend.xp, _by_itself(run, primals, options, compute)
    try:
        results = [alone(k) for k in range(group.size)]
    except GradcliError:
        if tells_apart(run, group, primals):
            fail_rows(run, xp.arange(group.size), alone)
        raise
    several = type(results[0]) is list
    table = [[xp.asarray(part) for part in (y if several else [y])] for y in results]
    forms: dict[Any, int] = {}
    labels = [
        forms.setdefault(tuple([(part.shape, part.dtype) for part in row]), len(forms))
        for row in table
    ]
    if len(forms) > 1:
        raise SeparationError(group, xp.asarray(labels))
    parts = [
        Lanes(xp.stack([row[i] for row in table], axis=-1), group) for i in range(len(table[0]))
    ]
    return parts if several else parts[0]


def _by_itself(
    run: Run, primals: list[Any], options: Mapping[str, Any], compute: Callable[..., Any]
) -> Callable[[int], Any]:
    """The op for a row by itself, which draws what it would draw then."""
    drawn = run.draws

    def alone(k: int) -> Any:
        run.draws = drawn
        row = partial(row_of, run, k=k)
        return compute(
            [row(p) for p in primals], {name: _map(row, v) for name, v in options.items()}
        )

    return alone
