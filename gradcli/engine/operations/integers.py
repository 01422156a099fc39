"""Operations on ints: results have 64 bits on every backend, and overflow is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...ops.op import Op
from ..backends.backend import CPU, INT_MAX, checked_int
from ..formulas import scalars
from ..formulas.functions import array_function
from ..trace.run import Run
from ..trace.tape import Site

INTEGERS = frozenset((int, bool))


def is_integer(value: Any) -> bool:
    return type(value) in INTEGERS or (hasattr(value, "dtype") and value.dtype.kind in "bi")


def as_floats(run: Run, value: Any) -> Any:
    """An int or an array of ints as floats of the run's dtype. A Python int becomes a Python float,
    which doesn't widen arrays."""
    if type(value) in INTEGERS:
        return run.real(float(value))
    return value.astype(run.settings.dtype)


def on_ints(run: Run, site: Site, op: Op, primals: list[Any]) -> Any:
    """An op that keeps ints, on Python ints. Raises GradcliError for overflow and division by 0."""
    try:
        y = scalars.INTEGER[op.name](*map(int, primals))
    except OverflowError:
        run.overflow(op.infix or op.name, site.span)
    except ZeroDivisionError:
        _fail_division(run, site)
    return run.integer(y, op.infix or op.name, site.span) if type(y) is int else run.real(y)


def _fail_division(run: Run, site: Site) -> NoReturn:
    name = site.op.infix or site.op.name
    run.fail(
        "E306",
        f"int division by zero in `{name}`",
        site.span,
        help="with floats, `1.0 / 0.0` is inf",
    )


def on_int_arrays(run: Run, site: Site, op: Op, primals: list[Any]) -> Any:
    """An op that keeps ints, on int arrays. Raises GradcliError for overflow and division by 0."""
    xp = run.backend.xp
    ints = [xp.asarray(p, "int64") for p in primals]
    if op.name in ("floordiv", "mod", "fmod") and not xp.all(ints[1]):
        _fail_division(run, site)
    if op.name == "pow" and xp.any(ints[1] < 0):
        ints = [xp.asarray(p, run.settings.dtype) for p in primals]
    function = array_function(run.backend, op)
    y = function(*ints)
    if y.dtype.kind == "i":
        estimate = function(*[i.astype("float64") for i in ints])
        verify_integers(run, site, y, estimate, lambda: _exactly(run, op, ints))
    return run.backend.settle(y)


def _exactly(run: Run, op: Op, ints: list[Any]) -> Any:
    """The result of the op in Python's ints, which don't overflow."""
    return CPU.xp.frompyfunc(scalars.INTEGER[op.name], len(ints), 1)(*map(run.backend.exact, ints))


def verify_integers(run: Run, site: Site, y: Any, estimate: Any, exact: Callable[[], Any]) -> None:
    """Raises an overflow error where `y` wrapped around. `estimate` is the result in floats, and
    `exact` computes it in Python's ints."""
    xp = run.backend.xp
    if not getattr(y, "size", 1):
        return
    largest = float(xp.max(xp.abs(estimate)))
    if largest < INT_MAX / 2:
        return
    if largest > INT_MAX * 1.01:
        run.overflow(site.op.infix or site.op.name, site.span)
    try:
        for value in CPU.xp.asarray(exact(), dtype=object).ravel():
            checked_int(int(value))
    except OverflowError:
        run.overflow(site.op.infix or site.op.name, site.span)
