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
from ..values.kinds import show, show_shape

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
        return checked_int(y) if type(y) is int else run.real(y)
    except OverflowError:
        _fail_overflow(run, site, f"{_formula(site.op, primals)} doesn't fit into 64 bits")
    except ZeroDivisionError:
        _fail_division(run, site, _formula(site.op, primals))


def _formula(op: Op, primals: list[Any]) -> str:
    """An operation with its operands, as a program would write it."""
    shown = [show(primal) for primal in primals]
    if op.infix and len(shown) == 2:
        return f"{shown[0]} {op.infix} {shown[1]}"
    return f"-{shown[0]}" if op.name == "neg" else f"{op.name}({', '.join(shown)})"


def _fail_overflow(run: Run, site: Site, label: str) -> NoReturn:
    name = site.op.infix or site.op.name
    help = "write a float, such as `2.0`"
    run.fail("E305", f"int overflow in `{name}`", site.span, label, help)


def _fail_division(run: Run, site: Site, label: str) -> NoReturn:
    name = site.op.infix or site.op.name
    help = "with floats, `1.0 / 0.0` is inf"
    run.fail("E306", f"int division by zero in `{name}`", site.span, label, help)


def on_int_arrays(run: Run, site: Site, op: Op, primals: list[Any]) -> Any:
    """An op that keeps ints, on int arrays. Raises GradcliError for overflow and division by 0."""
    xp = run.backend.xp
    ints = [xp.asarray(p, "int64") for p in primals]
    if op.name in ("floordiv", "mod", "fmod") and not xp.all(ints[1]):
        zeros = xp.argwhere(ints[1] == 0)[0].tolist()
        at = f"element {show_shape(tuple(zeros))} of the right one" if zeros else "the right one"
        _fail_division(run, site, f"{at} is 0")
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
    label = f"a result of about {largest:.4g} doesn't fit into 64 bits"
    if largest > INT_MAX * 1.01:
        _fail_overflow(run, site, label)
    try:
        for value in CPU.xp.asarray(exact(), dtype=object).ravel():
            checked_int(int(value))
    except OverflowError:
        _fail_overflow(run, site, label)
