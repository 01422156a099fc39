"""Applying an operation: every operation of a program goes through `apply`.

It takes values of the language, traced or not, computes on their primals, reports every failure as
a diagnostic at the site, and records the operation if an operand is active. Operations on floats,
which are the most frequent, are tried first: nothing has to be checked or converted for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ...diagnostics import Diagnostic, GradcliError
from ...ops import OPS
from ...ops.op import OpError
from ..backends.backend import dtype_name, is_complex
from ..formulas.functions import scalar_function
from ..trace.keeping import KeepingTrace
from ..trace.recording import record
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..values.boxes import UNBOXED, Dual, level_of, primal
from ..values.kinds import List, Variable, describe
from ..values.lanes import Lanes
from .elementwise import elementwise
from .list_arrays import SCALARS, has_boxes, number, plain_array
from .rows.failing import of_all_rows
from .rows.on_lanes import differ_between_rows
from .rows.separation import uniform_value
from .structural import structural

_AS_THEY_ARE = frozenset((float, tuple, int, bool, Dual))
WHOLE = 4  # operations on numbers, which take about as long as one on whole arrays, however small
ELEMENTS = 128  # of arrays, on which an operation is as much work as one on numbers
_NO_OPTIONS: Mapping[str, Any] = {}
STACK, FLOAT32 = OPS["stack"], OPS["float32"]


def apply(
    run: Run,
    site: Site,
    operands: tuple[Any, ...],
    options: Mapping[str, Any] = _NO_OPTIONS,
) -> Any:
    """Applies the op of `site` to values of the language. The result is traced if an operand is
    active.

    Raises GradcliError at the site for operands that don't fit and results that can't be.
    """
    op, trace = site.op, run.trace
    if op.passes_floats and (y := apply_to_floats(run, site, operands)) is not None:
        return y
    values = [v if type(v) in _AS_THEY_ARE else _operand(run, site, v) for v in operands]
    if op.of_complex is not None and is_complex(primal(values[0])):
        site = site.other(op := op.of_complex, site.of)
    if run.group is not None and options and differ_between_rows(options):
        options = _for_rules(run, values, options)
    if run.level and (level := max(map(level_of, values), default=UNBOXED)) != UNBOXED:
        return _apply_at(run, site, values, options, level)
    primals = [v[0] if type(v) is tuple else v for v in values]
    if op.elementwise:
        y = elementwise(run, site, primals)
    else:
        y = structural(run, site, primals, options if trace.room <= 0 else without_writing(options))
        run.work += WHOLE
    run.work += max([getattr(v, "size", 0) for v in (*primals, y)]) // ELEMENTS
    active = tuple([k for k, v in enumerate(values) if type(v) is tuple])
    if not active and not trace.keeps_constants:
        if trace.sees_plain and isinstance(trace, KeepingTrace):
            trace.witness(site, primals, options, y)
        return List(y) if type(y) is list else y
    return record(trace, site, values, primals, options, y, active)


def _for_rules(run: Run, values: list[Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of an operation that is differentiated, whose rule needs axes and counts as ints:
    separates rows for which these differ. The rules of indices take those of rows."""
    if "index" in options or all(level_of(value) == UNBOXED for value in values):
        return options

    def uniform(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(uniform, value))
        return uniform_value(run, value)

    return {name: uniform(value) for name, value in options.items()}


def apply_to_floats(run: Run, site: Site, operands: tuple[Any, ...]) -> Any:
    """The result of an op that maps floats to floats, where each operand is a float or an int, or
    one that the current trace has recorded, and not all are ints. None for other operands."""
    trace = run.trace
    primals: list[Any] = []
    inputs: list[Traced] = []
    active: tuple[int, ...] = ()
    floats = 0
    for k, value in enumerate(operands):
        if type(value) is Variable:
            value = value.box
        if type(value) is tuple:
            if value[2].trace is not trace:
                return None
            inputs.append(value)
            active += (k,)
            value = value[0]
        if type(value) is float:
            floats += 1
        elif type(value) is not int:
            return None
        primals.append(value)
    if not floats or run.settings.dtype != "float64":
        return None
    if not inputs and trace.sees_plain:
        return None
    if (function := site.on_floats) is None:
        function = site.on_floats = scalar_function(site.op)
    try:
        y = function(*(primals if floats == len(primals) else map(float, primals)))
    except OpError:  # by a function that another package registered: `elementwise` reports it
        return None
    if type(y) is not float:
        return None
    if not inputs or trace.segment is None:
        return y
    site = site.on(active)
    if site.inline_operands:
        return trace.record(site, inputs, primals[0], primals[1] if primals[1:] else None, y, y)
    return trace.record(site, inputs, tuple(primals), {}, y, y)


def _apply_at(
    run: Run, site: Site, values: list[Any], options: Mapping[str, Any], level: int
) -> Any:
    """Applies the op to values whose outermost boxes are of `level`: takes these off, applies it
    one level below, and records the result or gives it a tangent at this level."""
    below, active, trace = [], [], run.trace
    for k, v in enumerate(values):
        if level_of(v) == level:
            if type(v) is Dual:
                return run.dispatch.push(run, site, values, options, level)
            active.append(k)
            trace, v = v[2].trace, v[0]
        below.append(v)
    options = options if trace.room <= 0 else without_writing(options)
    y = apply(run, site, tuple(below), options)
    return record(
        trace, site, values, below, options, y.items if type(y) is List else y, tuple(active)
    )


def without_writing(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options without `inplace`, for operands that a record keeps."""
    return {**options, "inplace": False} if options.get("inplace") else options


# ---- operands ------------------------------------------------------------------------------------


def _operand(run: Run, site: Site, value: Any) -> Any:
    """A value as an operand: reads variables, converts lists to arrays, and refuses anything but
    numbers (E301)."""
    kind = type(value)
    if kind is tuple or kind in SCALARS or kind is Dual:
        return value
    if kind is Variable:
        return _operand(run, site, value.box)
    if kind is List:
        value = to_array(run, site, value)
        kind = type(value)
    if kind is complex or kind is tuple or kind is Dual:
        return value
    if hasattr(value, "dtype"):
        if value.dtype.char != "?" or not site.op.counts_bools:
            return value
        return (
            Lanes(value.array.astype("int64"), value.group)
            if kind is Lanes
            else value.astype("int64")
        )
    what = f"`{site.op.infix}`" if site.op.infix else f"`{site.op.name}`"
    help = "write a number instead" if type(value) in (str, dict) else ""
    if type(value) is str and site.op.name in ("add", "mod"):
        help = 'a text with values in it is `f"x = {x:.3f}"`'
    if value is None:
        help = "`none` is the absence of a value; check with `x == none`"
    refused = Diagnostic("E301", f"{what} doesn't take {describe(value)}", site.span, help=help)
    raise of_all_rows(run, GradcliError(refused))


def to_array(run: Run, site: Site, value: List) -> Any:
    """A list of numbers, or nested lists of them, as an array. Where items are traced it is a
    recorded `stack`, so gradients flow into them."""

    def fail(message: str, help: str) -> NoReturn:
        run.fail("E302", message, site.span, help=help)

    items = value.items
    if has_boxes(items, 0):
        stack = Site(STACK, site.span, (), site.of)
        parts = tuple(
            [to_array(run, site, i) if type(i) is List else number(i, fail) for i in items]
        )
        y = apply(run, stack, parts, {"axis": 0})
        widened = run.settings.dtype == "float32" and dtype_name(primal(y)) == "float64"
        return apply(run, stack.in_derivative(FLOAT32), (y,)) if widened else y
    return plain_array(run, value, fail)
