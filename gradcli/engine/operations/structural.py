"""Structural operations on primals: those that are not elementwise, on arrays and on lanes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from ...ops import OPS
from ...ops.op import Op, OpError
from ..backends.backend import CPU, count, generator_of, is_scalar, shape_of
from ..trace.changes import note
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import describe, show_shape
from ..values.lanes import Lanes
from .integers import is_integer, verify_integers
from .rows.on_lanes import differ_between_rows, on_lanes
from .rows.separation import uniform_value

WHERE = OPS["where"]
LARGE = 2**21  # elements: smaller arrays are allocated without checking the free memory


def structural(run: Run, site: Site, primals: list[Any], options: Mapping[str, Any]) -> Any:
    """The structural op of `site` on primals. Failures of its `compute` become diagnostics at the
    site."""
    if (
        Lanes in map(type, primals)
        or site.op.category == "lanes"
        or (run.group is not None and differ_between_rows(options))
    ):
        return on_lanes(run, site, primals, options, partial(_compute, run, site))
    return _compute(run, site, primals, options)


def _compute(
    run: Run, site: Site, primals: list[Any], options: Mapping[str, Any], function: Any = None
) -> Any:
    """The op on arrays, by its `compute`, or by `function(xp, *primals, **options)`, its rule for
    many rows."""
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
        # other functions on whole arrays take no numbers there
        if run.backend is not CPU and op is not WHERE:
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
    # floats of ints are the run's
    narrow = run.settings.dtype == "float32" and op.narrows and all(map(is_integer, primals))
    return (
        [run.backend.settle(part, narrow) for part in y]
        if type(y) is list
        else run.backend.settle(y, narrow)
    )


def refuse(run: Run, site: Site, error: OpError) -> NoReturn:
    """Reports that the op of `site` can't handle its operands; inside a derivative, with the name
    of the op that is differentiated."""
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
    """The options, completed by the dtype and the generator that creation and random ops take from
    the run."""
    if op.category == "random":
        # rows that have drawn different numbers of times separate
        run.draws = uniform_value(run, run.draws)
        generator = generator_of(run.settings.seed, run.draws)
        note(run, "draws")
        run.draws += 1
        return {**options, "dtype": run.settings.dtype, "generator": generator}
    if op.category == "making":
        return {**options, "dtype": run.settings.dtype}
    return options
