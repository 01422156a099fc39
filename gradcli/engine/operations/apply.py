"""The one seam that every operation goes through: `apply(run, site, operands, options)`.

It takes values of the language (traced or not), computes on their primals, refuses what can't fit,
turns every failure into a diagnostic at the site, and records the operation where an operand is
active. The closures for hot scalar operations (`scalar_closures.py`, `fusion.py`) do the same for
floats alone, and come here for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from ...ops import OPS
from ...ops.op import Op, OpError
from ..backends.backend import CPU, broadcast_shapes, count, dtype_name, is_scalar, shape_of
from ..formulas.functions import array_function, scalar_function
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.recording import record
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, Dual, level_of, primal
from ..values.kinds import List, Variable, deeper, describe, read, show_shape
from ..values.lanes import Lanes, narrow, with_rows
from .at_once import LARGE, at_once
from .by_rows import (
    agreed_value,
    in_order,
    ints_of,
    joint,
    on_lanes,
    part_by_kind,
    varies,
    weighed_as_alone,
    with_ints,
)
from .integers import INTEGERS, as_floats, is_integer, on_int_arrays, on_ints, verify_integers
from .overwriting import spare

_SCALARS = frozenset((float, int, bool))
_AS_THEY_ARE = frozenset((float, tuple, int, bool, Dual))
_STACKED = frozenset((tuple, Dual, Lanes))  # what only `stack` makes an array of
_NO_OPTIONS: Mapping[str, Any] = {}
STACK, WHERE, FLOAT32 = OPS["stack"], OPS["where"], OPS["float32"]


def apply(
    run: Run,
    site: Site,
    operands: tuple[Any, ...],
    options: Mapping[str, Any] = _NO_OPTIONS,
    over: bool = False,
) -> Any:
    """The op of `site` on values of the language; the result is traced where an operand is active.
    `over`: the first operand was computed for this alone, so that its array may be written over.

    Raises GradcliError at the site for operands that don't fit and results that can't.
    """
    op, trace = site.op, run.trace
    if (
        op.passes_floats
        and run.short_cuts
        and (y := at_once(run, site, operands, options, over)) is not None
    ):
        return y
    values = [v if type(v) in _AS_THEY_ARE else _operand(run, site, v) for v in operands]
    if run.level and (level := max(map(level_of, values), default=UNBOXED)) != UNBOXED:
        return _apply_at(run, site, values, options, level)
    primals = [v[0] if type(v) is tuple else v for v in values]
    if op.elementwise:
        y = elementwise(
            run, site, primals, spare(site, values, primals) if over and not trace.room else None
        )
    else:
        y = structural(
            run, site, primals, options if trace.room <= 0 else _without_writing(options)
        )
    active = tuple([k for k, v in enumerate(values) if type(v) is tuple])
    if not active and not trace.keeps_constants:
        if trace.sees_plain and isinstance(trace, KeepingTrace):
            trace.witness(site, primals, options, y)
        return List(y) if type(y) is list else y
    return record(trace, site, values, primals, options, y, active)


def _apply_at(
    run: Run, site: Site, values: list[Any], options: Mapping[str, Any], level: int
) -> Any:
    """The op on values of which the highest box is at `level`: what is done there, and the rest one
    level down."""
    below, active, trace = [], [], run.trace
    for k, v in enumerate(values):
        if level_of(v) == level:
            if type(v) is Dual:
                return run.dispatch.push(run, site, values, options, level)
            active.append(k)
            trace, v = v[2].trace, v[0]
        below.append(v)
    options = options if trace.room <= 0 else _without_writing(options)
    y = apply(run, site, tuple(below), options)
    return record(
        trace, site, values, below, options, y.items if type(y) is List else y, tuple(active)
    )


def _without_writing(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of an op that mustn't write into an operand, as its record keeps that."""
    return {**options, "inplace": False} if options.get("inplace") else options


# ---- operands ------------------------------------------------------------------------------------


def _operand(run: Run, site: Site, value: Any) -> Any:
    """A value as an operation takes it: variables read, lists made arrays, anything but numbers
    refused."""
    kind = type(value)
    if kind is tuple or kind in _SCALARS or kind is Dual:
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
    if value is None:
        help = "`none` is the absence of a value; check with `x == none`"
    run.fail("E301", f"{what} doesn't take {describe(value)}", site.span, help=help)


def to_array(run: Run, site: Site, value: List) -> Any:
    """A list of numbers (nested lists: of rows) as an array, by stacking; gradients flow into its
    elements."""

    def fail(message: str, help: str) -> NoReturn:
        run.fail("E302", message, site.span, help=help)

    items = value.items
    if _has_boxes(items, 0):
        stack = Site(STACK, site.span, (), site.of)
        parts = tuple(
            [to_array(run, site, i) if type(i) is List else _number(i, fail) for i in items]
        )
        y = apply(run, stack, parts, {"axis": 0})
        widened = run.settings.dtype == "float32" and dtype_name(primal(y)) == "float64"
        return apply(run, stack.derived(FLOAT32), (y,)) if widened else y
    return plain_array(run, value, fail)


def plain_array(run: Run, value: List, fail: Callable[[str, str], Any]) -> Any:
    """A list as an array without a history. `fail(message, help)` is called for a ragged list and
    for what isn't a number."""
    xp = run.backend.xp
    nested = _nested(value, fail)
    try:
        array = xp.array(nested, dtype=float if not nested else None)
    except (ValueError, TypeError):
        return fail(
            "the rows of the list differ in length, so it is no array",
            "give all rows the same length",
        )
    except OverflowError:
        return fail("a number of the list doesn't fit into 64 bits", "write a float, such as `2.0`")
    if array.dtype == object or array.dtype.kind not in "biufc":
        return fail(
            "the rows of the list differ in length, so it is no array",
            "give all rows the same length",
        )
    if run.settings.dtype == "float32" and array.dtype == "float64":
        array = array.astype("float32")
    return array.astype("int64") if array.dtype.kind == "u" else array


def _nested(value: List, fail: Callable[[str, str], Any]) -> list[Any]:
    nested: list[Any] = []
    for item in value:
        item = primal(read(item))
        nested.append(_nested(item, fail) if type(item) is List else _number(item, fail))
    return nested


def _number(item: Any, fail: Callable[[str, str], Any]) -> Any:
    """An item of a list that is to be an array, which it can be if it is a number or an array."""
    value = primal(read(item))
    if not (type(value) in _SCALARS or type(value) is complex or hasattr(value, "dtype")):
        fail(f"a list with {describe(value)} in it is no array", "arrays hold numbers only")
    return item


def _has_boxes(items: list[Any], depth: int) -> bool:
    for item in items:
        if type(item) in _STACKED or (type(item) is Variable and type(item.box) in _STACKED):
            return True
        if type(item) is List and _has_boxes(item.items, deeper(depth)):
            return True
    return False


# ---- elementwise ---------------------------------------------------------------------------------


def elementwise(run: Run, site: Site, primals: list[Any], out: Any = None) -> Any:
    """An elementwise op on primals: scalars of Python by their own functions, anything else as
    arrays, into `out` if given."""
    try:
        return _elementwise(run, site, primals, out)
    except OpError as error:  # of a function that another package registered
        refuse(run, site, error)


def _elementwise(
    run: Run, site: Site, primals: list[Any], out: Any = None, shown: list[Any] | None = None
) -> Any:
    """`shown` are the operands as messages describe them."""
    op = site.op
    kinds = {type(p) for p in primals}
    if Lanes in kinds:
        return _elementwise_on_lanes(run, site, primals)
    if kinds <= _SCALARS:
        if op.integers == "keep" and kinds <= INTEGERS:
            return on_ints(run, site, op, primals)
        if op.integers == "bool":
            return scalar_function(op)(*(map(float, primals) if float in kinds else primals))
        return run.real(scalar_function(op)(*map(float, primals)))
    if (
        out is None
        and op.integers != "bool"
        and run.backend is CPU
        and (alike := _alike(primals)) is not None
    ):
        y = array_function(CPU, op)(*primals)
        if type(y) is CPU.xp.ndarray and y.shape == alike and y.dtype.char == "d":
            return y
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
        if out is not None:
            return array_function(run.backend, op)(*primals, out=out)
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
    lost = (
        shapes and getattr(y, "shape", ()) != shape
    )  # by a formula that chose by a number, and read no array on that side
    return run.backend.xp.full(shape, y) if lost else y


def _alike(primals: list[Any]) -> tuple[int, ...] | None:
    """The shape of operands that are float64 arrays of one shape, and floats, which need nothing
    verified nor converted; None for any others, and for what is so large that there may be no room
    for it."""
    array, found = CPU.xp.ndarray, None
    for p in primals:
        if type(p) is array and p.dtype.char == "d":
            if p.shape != found:
                if found is not None or p.size >= LARGE or not p.shape:
                    return None
                found = p.shape
        elif type(p) is not float:
            return None
    return found


def _elementwise_on_lanes(run: Run, site: Site, primals: list[Any]) -> Lanes:
    """The same a row at a time, on arrays that have the rows last; `primals` get the rows that
    run."""
    group = joint(run, primals, site.span, site.of is not None)
    primals[:] = [narrow(p, group) for p in primals]
    shape = broadcast_shapes([p.shape for p in primals if getattr(p, "shape", ())])
    if shape is None:
        _fail_broadcast(run, site, primals)
    if site.op.name == "pow":
        part_by_kind(run, primals)
    ints = ints_of(site.op, primals, group)
    weighed = weighed_as_alone(run, primals, site.op.integers == "float")
    y = _elementwise(run, site, [with_rows(p, group) for p in weighed], shown=primals)
    whole, xp = (*shape, group.size), run.backend.xp
    value = Lanes(in_order(xp, y if shape_of(y) == whole else xp.broadcast_to(y, whole)), group)
    return value if ints is None else with_ints(run, value, ints)


def _fail_broadcast(run: Run, site: Site, primals: list[Any]) -> NoReturn:
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


# ---- structural ----------------------------------------------------------------------------------


def structural(run: Run, site: Site, primals: list[Any], options: Mapping[str, Any]) -> Any:
    """A structural op on primals. Failures of its `compute` become diagnostics at the site."""
    if (
        Lanes in map(type, primals)
        or site.op.category == "lanes"
        or (run.group is not None and varies(options))
    ):
        return on_lanes(run, site, primals, options, partial(_compute, run, site))
    return _compute(run, site, primals, options)


def _compute(
    run: Run, site: Site, primals: list[Any], options: Mapping[str, Any], function: Any = None
) -> Any:
    """The op on arrays, by its `compute`, or by `function(xp, *primals, **options)` that does the
    same for many rows."""
    op, xp = site.op, run.backend.xp
    options = _with_context(run, op, options)
    try:
        if op.result_shape is not None and function is None:
            shape = op.result_shape(
                *map(shape_of, primals),
                **{k: v for k, v in options.items() if k not in ("dtype", "generator")},
            )
            if count(shape) >= LARGE:
                run.verify_allocation(
                    8 * count(shape), f"an array of shape {show_shape(tuple(shape))}", site.span
                )
        if (
            run.backend is not CPU and op is not WHERE
        ):  # other functions on whole arrays take no numbers there
            primals = [run.backend.scalar(p) if is_scalar(p) else p for p in primals]
        function = function or op.compute
        y = function(xp, *primals, **options)
        if op.integers == "keep" and getattr(y, "dtype", None) is not None and y.dtype.kind == "i":
            estimate = function(xp, *[xp.asarray(p, "float64") for p in primals], **options)
            exact = run.backend.exact
            verify_integers(
                run, site, y, estimate, lambda: function(CPU.xp, *map(exact, primals), **options)
            )
    except OpError as error:
        refuse(run, site, error)
    except MemoryError:
        run.fail(
            "E405", f"`{op.name}` ran out of memory", site.span, help="make the arrays smaller"
        )
    except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        run.fail("E320", f"`{op.name}`: {message}", site.span, _operand_shapes(primals))
    narrow = (
        run.settings.dtype == "float32" and op.narrows and all(map(is_integer, primals))
    )  # floats of ints are the run's
    return (
        [run.backend.settle(part, narrow) for part in y]
        if type(y) is list
        else run.backend.settle(y, narrow)
    )


def refuse(run: Run, site: Site, error: OpError) -> NoReturn:
    """Reports what the op of `site` can't do with its operands; inside a derivative, whose that
    is."""
    code = "E304" if site.op.category == "linear algebra" else "E320"
    message = (
        error.message
        if site.of is None
        else f"{error.message}, in the derivative of `{site.of.name}`"
    )
    run.fail(code, message, site.span, error.label, error.help)


def _operand_shapes(primals: list[Any]) -> str:
    return ", ".join(describe(p) for p in primals if p is not None)[:160]


def _with_context(run: Run, op: Op, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options, with what creation and random ops take from the run."""
    if op.category == "random":
        # A generator made from (seed, number of the draw) has no state but that number. It is
        # NumPy's on every device, so that a seed gives the same numbers everywhere.
        random = CPU.xp.random
        run.draws = agreed_value(
            run, run.draws
        )  # rows that have drawn more often than others go on apart
        generator = random.Generator(random.Philox([run.settings.seed, run.draws]))
        note(run, "draws")
        run.draws += 1
        return {**options, "dtype": run.settings.dtype, "generator": generator}
    if op.category == "making":
        return {**options, "dtype": run.settings.dtype}
    return options
