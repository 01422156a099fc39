"""Values from outside: how `--set`, `--inputs` and columns of rows fit a declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...lang import program
from ..backends.backend import CPU, INT_MAX, INT_MIN, dtype_name
from ..operations.list_arrays import plain_array
from ..trace.run import Run
from ..values.kinds import List, describe, is_number
from ..values.lanes import Lanes
from .declared_types import cast, dtype_of, fits, typed, verify_shape

_EXACT = 2**53  # up to here float64 holds every integer


def from_outside(run: Run, name: str, given: Any, inside: Any, node: program.Declare) -> Any:
    """Converts a value from outside to the declared dtype, else to that of the value in the
    program, else ints to floats. Raises GradcliError (E005) for what doesn't fit."""
    run.used_inputs.add(name)
    # numbers in another machine's order of bytes
    if getattr(given, "strides", None) and not given.dtype.isnative:
        given = given.astype(given.dtype.newbyteorder("="))
    is_array = type(given) is CPU.ndarray and run.backend is CPU and given.shape
    # there is nothing to convert
    if is_array and node.type is not None and dtype_name(given) == dtype_of(run, node.type):
        verify_shape(run, given.shape, node.type, node, "E005")
        return given

    def fail(message: str, help: str = "") -> Any:
        raise GradcliError(
            Diagnostic(
                "E005", f"the value given for `{name}` doesn't fit: {message}", node.span, help=help
            )
        )

    if isinstance(given, str) and given in ("nan", "inf", "-inf") and not isinstance(inside, str):
        given = float(given)
    if isinstance(given, str) or given is None or isinstance(given, dict):
        if isinstance(given, str) and (
            isinstance(inside, str) or (inside is None and node.type is None)
        ):
            return given
        return fail(f"it is {describe(given)}", "give a number, or a list of numbers")
    if isinstance(given, list):
        given = plain_array(run, _as_lists(given), lambda m, h: fail(m, h))
    if type(given) is int and not INT_MIN <= given <= INT_MAX:
        return fail("it doesn't fit into 64 bits", "write a float, such as `1e20`")
    if hasattr(given, "dtype"):
        if given.dtype.kind not in "biufc":
            return fail(f"its dtype is {given.dtype}", "arrays hold numbers only")
        if type(given) is not Lanes:
            given = run.backend.settle(run.backend.xp.asarray(given))
    if node.type is not None:
        _verify_digits(given, dtype_of(run, node.type), fail)
        return typed(
            run,
            _whole(run, given) if node.type.dtype == "int64" else given,
            node.type,
            node,
            "E005",
        )
    if not is_number(inside):
        kind = dtype_name(given)
        wanted = kind if kind in ("bool", "complex128") else run.settings.dtype
        _verify_digits(given, wanted, fail)
        return cast(run, given, wanted)
    wanted = dtype_name(inside)
    _verify_digits(given, wanted, fail)
    if wanted == "int64":
        given = _whole(run, given)
    if not fits(given, wanted):
        return fail(
            f"it is {describe(given)}, and the program's value is {describe(inside)}",
            _widen(name, wanted),
        )
    return cast(run, given, wanted)


def _verify_digits(given: Any, dtype: str, fail: Callable[[str, str], Any]) -> None:
    """Fails where an integer would change as a float64. (That float32 rounds is what one asks it
    for.)"""
    numbers = given.array if type(given) is Lanes else given
    if dtype != "float64" or not (
        type(numbers) is int or (hasattr(numbers, "dtype") and numbers.dtype.kind in "iu")
    ):
        return
    for number in (
        [numbers]
        if type(numbers) is int
        else numbers[(numbers >= _EXACT) | (numbers <= -_EXACT)].tolist()
    ):
        if int(float(number)) != number:
            fail(
                f"the integer {number} has more digits than a float64 holds",
                "declare it with `: int64`, or give a float",
            )


def _whole(run: Run, given: Any) -> Any:
    """Converts floats without a fraction to ints, as data columns and JSON often hold ints; returns
    anything else as it is."""
    if type(given) is float:
        return int(given) if given.is_integer() and abs(given) < 2.0**63 else given
    if not hasattr(given, "dtype") or given.dtype.kind != "f":
        return given
    if type(given) is Lanes:
        whole = _whole(run, given.array)
        return given if whole is given.array else Lanes(whole, given.group)
    whole = bool(((given == run.backend.xp.trunc(given)) & (abs(given) < 2.0**63)).all())
    return given.astype("int64") if whole else given


def _widen(name: str, wanted: str) -> str:
    return (
        f"write a float in the program, such as `{name} = 1.0`, if it can be one"
        if wanted == "int64"
        else ""
    )


def _as_lists(items: list[Any]) -> List:
    """Converts a nested Python list to the language's, with "nan" and "inf" as numbers."""
    numbers = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
    return List(
        [
            _as_lists(i) if isinstance(i, list) else numbers.get(i, i) if isinstance(i, str) else i
            for i in items
        ]
    )
