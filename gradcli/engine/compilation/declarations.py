"""Declarations: `var`, `frozen` and `const` at the top level and in modules. A value, also one from
outside, is converted to the dtype of its declaration, and must have its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...diagnostics import Diagnostic, GradcliError
from ...lang import program
from ...ops import OPS
from ..analysis.declared import declared_names
from ..backends.backend import CPU, INT_MAX, INT_MIN, dtype_name, shape_of
from ..operations.apply import to_array
from ..operations.list_arrays import plain_array, verify_unsigned
from ..operations.rows.separation import separate_running_rows
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..values.boxes import primal
from ..values.contents import contents
from ..values.kinds import Instance, List, Variable, describe, is_number, read, set_slot, show_shape
from ..values.lanes import Lanes
from .compiler import Compiler
from .paths import compile_part

# ---- declared types ------------------------------------------------------------------------------


_OF_PYTHON = {bool: "b", int: "i", float: "f", complex: "c"}
_KINDS = {"float64": "f", "float32": "f", "int64": "i", "bool": "b", "complex128": "c"}


def dtype_of(run: Run, spec: program.TypeSpec) -> str:
    return run.settings.dtype if spec.dtype == "float" else spec.dtype


def typed(run: Run, value: Any, spec: program.TypeSpec, node: program.Declare, code: str) -> Any:
    """Converts a value to its declared dtype. Raises GradcliError where dtype or shape don't
    fit."""
    dtype = dtype_of(run, spec)
    if not fits(value, dtype):
        run.fail(
            code,
            f"`{node.slot.name}` is declared {dtype}, and the value is {describe(value)}",
            node.span,
        )
    verify_shape(run, shape_of(value), spec, node, code)
    return cast(run, value, dtype)


def fits(value: Any, dtype: str) -> bool:
    """Whether a value is a number, or an array of numbers, of no wider kind than a dtype is."""
    kind = value.dtype.kind if hasattr(value, "dtype") else _OF_PYTHON.get(type(value))
    return kind is not None and "bifc".index(kind) <= "bifc".index(_KINDS[dtype])


def verify_shape(
    run: Run, shape: tuple[int, ...], spec: program.TypeSpec, node: program.Declare, code: str
) -> None:
    if spec.shape is ...:
        return
    declared, name = spec.shape or (), node.slot.name

    def refuse() -> NoReturn:
        text = f"`{name}` is declared with shape {_show_declared(declared)}"
        run.fail(code, f"{text}, and the value has {show_shape(shape)}", node.span)

    if len(declared) != len(shape):
        refuse()
    for wanted, n in zip(declared, shape, strict=True):
        if isinstance(wanted, str):
            first = run.sizes.setdefault(wanted, (n, node.span))
            if first[0] != n:
                run.fail(
                    code,
                    (
                        f"`{wanted}` is {n} in the shape {show_shape(shape)} of `{name}`, and "
                        f"{first[0]} elsewhere"
                    ),
                    node.span,
                    help=f"`{wanted}` got its size at {first[1]}",
                )
        elif wanted is not None and wanted != n:
            refuse()


def _show_declared(shape: tuple[int | str | None, ...]) -> str:
    sizes = ", ".join("_" if n is None else str(n) for n in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def cast(run: Run, value: Any, dtype: str) -> Any:
    """Converts a number or array to a dtype that can hold it."""
    if dtype_name(value) == dtype:
        return value
    if type(value) is Lanes:
        return Lanes(value.array.astype(dtype), value.group)
    if shape_of(value):
        # arrays are never changed while anybody else holds them
        return value.astype(dtype, copy=False)
    if dtype == "float32":
        return run.backend.xp.float32(value)
    scalar = {"float64": float, "int64": int, "bool": bool, "complex128": complex}[dtype](value)
    return scalar


# ---- values from outside -------------------------------------------------------------------------


_EXACT = 2**53  # up to here float64 holds every integer
_NOT_FINITE = {text: float(text) for text in ("nan", "inf", "-inf")}


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

    if isinstance(given, str) and given in _NOT_FINITE and not isinstance(inside, str):
        given = _NOT_FINITE[given]
    is_free = inside is None and node.type is None  # it may also be a text
    if isinstance(given, str) and (isinstance(inside, str) or is_free):
        return given
    given = _as_numbers(run, given, fail)
    if node.type is not None:
        wanted = dtype_of(run, node.type)
    elif is_number(inside):
        wanted = dtype_name(inside)
    else:
        kind = given.dtype.kind if hasattr(given, "dtype") else _OF_PYTHON[type(given)]
        wanted = {"b": "bool", "c": "complex128"}.get(kind, run.settings.dtype)
    _verify_digits(given, wanted, fail)
    if wanted == "int64":
        given = _whole(run, given)
    if node.type is not None:
        return typed(run, given, node.type, node, "E005")
    if is_number(inside) and not fits(given, wanted):
        widen = f"write a float in the program, such as `{name} = 1.0`, if it can be one"
        return fail(
            f"it is {describe(given)}, and the program's value is {describe(inside)}",
            widen if wanted == "int64" else "",
        )
    return cast(run, given, wanted)


def _as_numbers(run: Run, given: Any, fail: Callable[[str, str], Any]) -> Any:
    """A value from outside as a number or an array of the run. Fails where it is neither."""
    if isinstance(given, str | dict) or given is None:
        fail(f"it is {describe(given)}", "give a number, or a list of numbers")
    if isinstance(given, list):
        given = plain_array(run, _as_lists(given), fail)
    if hasattr(given, "dtype"):
        if given.dtype.kind not in "biufc":
            fail(f"its dtype is {given.dtype}", "arrays hold numbers only")
        if type(given) is not Lanes:
            verify_unsigned(given, fail)
            given = run.backend.settle(run.backend.xp.asarray(given))
    if type(given) is int and not INT_MIN <= given <= INT_MAX:
        fail("it doesn't fit into 64 bits", "write a float, such as `1e20`")
    return given


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


def _as_lists(items: list[Any]) -> List:
    """Converts a nested Python list to the language's, with "nan" and "inf" as numbers."""

    def item(given: Any) -> Any:
        if isinstance(given, list):
            return _as_lists(given)
        return _NOT_FINITE.get(given, given) if isinstance(given, str) else given

    return List(list(map(item, items)))


# ---- declarations --------------------------------------------------------------------------------


STACK = OPS["stack"]


def compile_declare(c: Compiler, node: program.Declare) -> Callable[[list[Any]], None]:
    slot, name = node.slot, node.slot.name
    value = None if node.value is None else compile_part(c, node.value)
    ends = (
        []
        if node.domain is None
        else [c.expression(end) for end in (node.domain.low, node.domain.high)]
    )
    path_of, in_module = c.path(node.slot), c.in_module

    def declare(frame: list[Any]) -> None:
        run, path = frame[0], path_of(frame)
        separate_running_rows(run)
        given = None if value is None else value(frame, path)
        if node.kind == "const" and path not in run.inputs and node.type is None:
            given = _with_history(run, given, node)
            if primal(given) is not given:  # a constant name for a value that depends on variables
                set_slot(frame, slot, given)
                return
        state = None if value is None else _own(run, given, node)
        if state is not None and node.type is not None:
            state = typed(run, state, node.type, node, "E313")
        if path in run.inputs:
            state = from_outside(run, path, run.inputs[path], state, node)
        elif value is None:
            run.fail(
                "E004",
                f"`{path}` has no value",
                node.span,
                f"it must come from outside{_and_others(run, path)}",
                node.meant
                or (
                    f'give it with `--set {path}=…`, in Python with `run({{"{path}": …}})`, or '
                    f"write `{node.kind} {name} = …`"
                ),
            )
        if node.kind != "const" and not is_number(state):
            _refuse_instances(run, state, node)
        variable: Any = Variable(path, node.kind, node.span, state)
        if node.kind == "const" and not (
            run.trace.keeps_all and (is_number(state) or type(state) is str)
        ):
            variable = state
        else:
            attach(run, variable)
            if node.domain is not None and run.domains is not None:
                low, high = (primal(read(end(frame))) for end in ends)
                run.domains.append((variable, low, high, node.domain.span))
            if not in_module:  # whoever holds an instance holds its variables
                run.declared[path] = variable
        set_slot(frame, slot, variable)

    return declare


def _and_others(run: Run, path: str) -> str:
    """What else the program needs from outside, and isn't given."""
    needed = dict.fromkeys(declared_names(run.compiled.program, needed=True))
    others = [f"`{name}`" for name in needed if name != path and name not in run.inputs]
    return f", and so must {', '.join(others)}" if others else ""


def _refuse_instances(run: Run, state: Any, node: program.Declare) -> None:
    for _, part in contents(state, ""):
        if type(part) is Instance:
            help = f"write `{node.slot.name} = …`: the variables are in the instance"
            run.fail(
                "E312", f"the state of a variable can't hold {describe(part)}", node.span, help=help
            )


def _with_history(run: Run, value: Any, node: program.Declare) -> Any:
    """The value of a `const` as it is, or as an array if it is a list of numbers."""
    value = read(value)
    if type(value) is List and not _holds_things(value):
        return to_array(run, Site(STACK, node.span), value)
    return value


def _own(run: Run, value: Any, node: program.Declare) -> Any:
    """Takes the history off a declared value, and makes a list of numbers an array."""
    value = primal(read(value))
    if type(value) is List and not _holds_things(value):
        return plain_array(run, value, lambda m, h: run.fail("E302", m, node.span, help=h))
    return value


def _holds_things(value: List) -> bool:
    """Whether a list holds anything but numbers, so that it stays a list (of variables, strings,
    …)."""
    return any(
        _holds_things(i) if type(i) is List else not is_number(primal(i)) for i in value.items
    )
