"""Elementwise operations on primals: Python's scalars, arrays, and lanes."""

from __future__ import annotations

from typing import Any, NoReturn

from ...diagnostics import GradcliError
from ...ops.op import OpError
from ..backends.backend import broadcast_shapes, count, shape_of
from ..formulas.functions import array_function, scalar_function
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import describe, show_shape
from ..values.lanes import Lanes, narrow, with_rows
from .integers import INTEGERS, as_floats, is_integer, on_int_arrays, on_ints
from .list_arrays import SCALARS
from .rows.failing import fail_by_halves, row_of, tells_apart
from .rows.number_kinds import int_rows, separate_by_kind, with_ints, with_row_dtypes
from .rows.on_lanes import rows_contiguous
from .rows.separation import operation_group
from .structural import LARGE, refuse


def elementwise(run: Run, site: Site, primals: list[Any]) -> Any:
    """The elementwise op of `site` on primals. Python's scalars use scalar functions, everything
    else array functions."""
    try:
        return _elementwise(run, site, primals)
    except OpError as error:  # by a function that another package registered
        refuse(run, site, error)


def _elementwise(run: Run, site: Site, primals: list[Any], shown: list[Any] | None = None) -> Any:
    """`elementwise` without its handling of `OpError`. Messages describe `shown` if it is given,
    instead of `primals`."""
    op = site.op
    kinds = {type(p) for p in primals}
    if Lanes in kinds:
        return _elementwise_on_lanes(run, site, primals)
    if kinds <= SCALARS:
        if op.integers == "keep" and kinds <= INTEGERS:
            return on_ints(run, site, op, primals)
        if op.integers == "bool":
            return scalar_function(op)(*(map(float, primals) if float in kinds else primals))
        return run.real(scalar_function(op)(*map(float, primals)))
    shapes = [p.shape for p in primals if getattr(p, "shape", ())]
    if shapes:
        shape = shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast_shapes(shapes)
        if shape is None:
            _fail_broadcast(run, site, primals)
        if count(shape) >= LARGE:
            run.verify_allocation(
                8 * count(shape), f"an array of shape {show_shape(shape)}", site.span
            )
    if op.integers == "keep" and float not in kinds and all(map(is_integer, primals)):
        return on_int_arrays(run, site, op, primals)
    if op.integers == "float":  # before a formula computes with them
        primals = [as_floats(run, p) if is_integer(p) else p for p in primals]
    try:
        y = run.backend.settle(array_function(run.backend, op)(*primals))
    except TypeError:
        run.fail(
            "E301",
            (
                f"`{op.infix or op.name}` isn't defined for "
                f"{' and '.join(map(describe, shown or primals))}"
            ),
            site.span,
        )
    # by a formula that chose by a number, and read no array on that side
    lost = shapes and getattr(y, "shape", ()) != shape
    return run.backend.xp.full(shape, y) if lost else y


def _elementwise_on_lanes(run: Run, site: Site, primals: list[Any]) -> Lanes:
    """An elementwise op on lanes, as one operation on arrays with the rows last. Narrows `primals`
    to the rows that run."""
    group = operation_group(run, primals, site.span, site.of is not None)
    primals[:] = [narrow(p, group) for p in primals]
    shape = broadcast_shapes([p.shape for p in primals if getattr(p, "shape", ())])
    if shape is None:
        _fail_broadcast(run, site, primals)
    if site.op.name == "pow":
        separate_by_kind(run, primals)
    ints = int_rows(site.op, primals, group)
    weighed = with_row_dtypes(run, primals, site.op.integers == "float")
    try:
        y = _elementwise(run, site, [with_rows(p, group) for p in weighed], shown=primals)
    except GradcliError:

        def alone(row: int) -> Any:
            return _elementwise(run, site, [row_of(run, p, row) for p in primals])

        if tells_apart(run, group, primals):
            fail_by_halves(run, lambda: _elementwise_on_lanes(run, site, [*primals]), alone)
        if group.size == 1:  # its error is that of the row alone, which names its operands
            alone(0)
        raise
    whole, xp = (*shape, group.size), run.backend.xp
    value = Lanes(
        rows_contiguous(xp, y if shape_of(y) == whole else xp.broadcast_to(y, whole)), group
    )
    return value if ints is None else with_ints(run, value, ints)


def _fail_broadcast(run: Run, site: Site, primals: list[Any]) -> NoReturn:
    """Raises GradcliError (E302) for shapes that don't broadcast."""
    shapes = [show_shape(shape_of(p)) for p in primals]
    op = site.op
    label = (
        f"left is {shapes[0]}, right is {shapes[1]}"
        if len(shapes) == 2
        else f"the shapes are {', '.join(shapes)}"
    )
    what = f"`{op.infix}`" if op.infix else f"`{op.name}`"
    run.fail(
        "E302",
        f"shapes {' and '.join(shapes)} don't broadcast in {what}",
        site.span,
        label,
        "sizes must be equal, or 1, counted from the last axis; `reshape` or `expand_dims` can "
        "align them",
    )
