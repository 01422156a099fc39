"""Declarations: `var`, `frozen`, `const`, their values from outside, their declared types; and
`:=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...lang import program
from ...lang.program.walks import own_nodes
from ...ops import OPS
from ..backends.backend import CPU, INT_MAX, INT_MIN, dtype_name, shape_of
from ..operations.access import read_index
from ..operations.apply import to_array
from ..operations.list_arrays import plain_array
from ..operations.rows.separation import separate_running_rows
from ..operations.scalar_calls import apply_to_scalars
from ..operations.writing import write
from ..trace.changes import note
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site, primal
from ..trace.variables import attach
from ..values.kinds import (
    FRAME_HEAD,
    UNSET,
    Instance,
    List,
    Variable,
    contents,
    describe,
    is_number,
    read,
    show_shape,
)
from ..values.lanes import Lanes
from .compiler import Compiler
from .indexing import compile_items
from .paths import compile_part

SETITEM, STACK = OPS["setitem"], OPS["stack"]
_EXACT = 2**53  # up to here float64 holds every integer
_KINDS = {"float64": "f", "float32": "f", "int64": "i", "bool": "b", "complex128": "c"}


def compile_declare(c: Compiler, node: program.Declare) -> Callable[[list[Any]], None]:
    k, name, cell = node.slot.index + FRAME_HEAD, node.slot.name, node.slot.cell
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
                _bind(frame, k, cell, given)
                return
        state = None if value is None else _own(run, given, node)
        if state is not None and node.type is not None:
            state = _typed(run, state, node.type, node, "E313")
        if path in run.inputs:
            state = from_outside(run, path, run.inputs[path], state, node)
        elif value is None:
            run.fail(
                "E004",
                f"`{path}` has no value",
                node.span,
                "it must come from outside",
                (
                    f"give it with `--set {path}=…` or `--inputs FILE`, or write `{node.kind} "
                    f"{name} = …`"
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
        _bind(frame, k, cell, variable)

    return declare


def _refuse_instances(run: Run, state: Any, node: program.Declare) -> None:
    for _, part in contents(state, ""):
        if type(part) is Instance:
            help = f"write `{node.slot.name} = …`: the variables are in the instance"
            run.fail(
                "E312", f"the state of a variable can't hold {describe(part)}", node.span, help=help
            )


def _bind(frame: list[Any], k: int, cell: bool, value: Any) -> None:
    if cell:
        frame[k][0] = value
    else:
        frame[k] = value


def _with_history(run: Run, value: Any, node: program.Declare) -> Any:
    """The value of a `const`: as it is, or an array where it was a list of numbers."""
    value = read(value)
    if type(value) is List and not _holds_things(value):
        return to_array(run, Site(STACK, node.span), value)
    return value


def _own(run: Run, value: Any, node: program.Declare) -> Any:
    """A declared value: no history, and an array where it was a list of numbers."""
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


# ---- declared types ------------------------------------------------------------------------------


def _dtype_of(run: Run, spec: program.TypeSpec) -> str:
    return run.settings.dtype if spec.dtype == "float" else spec.dtype


def _typed(run: Run, value: Any, spec: program.TypeSpec, node: program.Declare, code: str) -> Any:
    """The value with its declared dtype. Raises GradcliError where dtype or shape don't fit."""
    dtype = _dtype_of(run, spec)
    if not (type(value) in (int, float, bool, complex) or hasattr(value, "dtype")):
        run.fail(
            code,
            f"`{node.slot.name}` is declared {dtype}, and the value is {describe(value)}",
            node.span,
        )
    kind = (
        "i"
        if type(value) is int
        else "b"
        if type(value) is bool
        else "c"
        if type(value) is complex
        else "f"
    )
    kind = value.dtype.kind if hasattr(value, "dtype") else kind
    if "bifc".index(kind) > "bifc".index(_KINDS[dtype]) or (dtype == "bool" and kind != "b"):
        run.fail(
            code,
            f"`{node.slot.name}` is declared {dtype}, and the value is {describe(value)}",
            node.span,
        )
    _verify_shape(run, shape_of(value), spec, node, code)
    return cast(run, value, dtype)


def _verify_shape(
    run: Run, shape: tuple[int, ...], spec: program.TypeSpec, node: program.Declare, code: str
) -> None:
    if spec.shape is ...:
        return
    declared = spec.shape or ()
    name = node.slot.name
    if len(declared) != len(shape):
        text = _show_declared(declared)
        run.fail(
            code,
            f"`{name}` is declared with shape {text}, and the value has {show_shape(shape)}",
            node.span,
        )
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
            text = _show_declared(declared)
            run.fail(
                code,
                f"`{name}` is declared with shape {text}, and the value has {show_shape(shape)}",
                node.span,
            )


def _show_declared(shape: tuple[int | str | None, ...]) -> str:
    sizes = ", ".join("_" if n is None else str(n) for n in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def cast(run: Run, value: Any, dtype: str) -> Any:
    """A number or array in a dtype that can hold it."""
    if dtype_name(value) == dtype:
        return value
    if type(value) is Lanes:
        return Lanes(value.array.astype(dtype), value.group)
    if shape_of(value):
        return value.astype(
            dtype, copy=False
        )  # arrays are never changed while anybody else holds them
    if dtype == "float32":
        return run.backend.xp.float32(value)
    scalar = {"float64": float, "int64": int, "bool": bool, "complex128": complex}[dtype](value)
    return scalar


# ---- from outside --------------------------------------------------------------------------------


def from_outside(run: Run, name: str, given: Any, inside: Any, node: program.Declare) -> Any:
    """A value from outside as the declaration wants it: of the declared dtype, or of that of the
    value in the program, or with ints made floats where neither says. Raises GradcliError (E005)
    for what doesn't fit."""
    run.used_inputs.add(name)
    if (
        getattr(given, "strides", None) and not given.dtype.isnative
    ):  # numbers in another machine's order of bytes
        given = given.astype(given.dtype.newbyteorder("="))
    is_array = type(given) is CPU.ndarray and run.backend is CPU and given.shape
    if (
        is_array and node.type is not None and dtype_name(given) == _dtype_of(run, node.type)
    ):  # there is nothing to convert
        _verify_shape(run, given.shape, node.type, node, "E005")
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
        _verify_digits(given, _dtype_of(run, node.type), fail)
        return _typed(
            run,
            _whole(run, given) if node.type.dtype == "int64" else given,
            node.type,
            node,
            "E005",
        )
    kind = dtype_name(given)
    is_number = type(inside) in (int, float, bool, complex) or hasattr(inside, "dtype")
    wanted = (
        dtype_name(inside)
        if is_number
        else kind
        if kind in ("bool", "complex128")
        else run.settings.dtype
    )
    _verify_digits(given, wanted, fail)
    if not is_number:
        return cast(run, given, wanted)
    if wanted == "int64":
        given = _whole(run, given)
        kind = dtype_name(given)
    order = ["bool", "int64", "float32", "float64", "complex128"]
    if order.index(kind) > order.index(wanted) and not (kind == "float64" and wanted == "float32"):
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
    """Floats without a fraction as ints, for data columns and JSON often hold ints so; anything
    else as it is."""
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
    """A nested Python list as the language's; "nan" and "inf" among it are numbers."""
    numbers = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
    return List(
        [
            _as_lists(i) if isinstance(i, list) else numbers.get(i, i) if isinstance(i, str) else i
            for i in items
        ]
    )


# ---- := ------------------------------------------------------------------------------------------


def compile_update(c: Compiler, node: program.Update) -> Callable[[list[Any]], None]:
    """`x := v`, `x :-= v`, `x[i] := v`, on whatever denotes a variable."""
    value = c.value(node.value)
    denoted = c.expression(node.variable)
    owner = c.expression(node.variable.object) if isinstance(node.variable, program.Index) else None
    items = (
        compile_items(c, node.variable.items) if isinstance(node.variable, program.Index) else None
    )
    op_site = Site(node.op, node.span) if node.op is not None else None
    n_operations = _operations(node) if c.keeps_all else None
    unseen = value  # `value` itself where nothing of it is recorded
    if n_operations is not None:
        with c.within(keeps_all=False, slow=c.is_slow(keeps_all=False), fuses=c.writes):
            unseen = c.value(node.value)

    def update(frame: list[Any]) -> None:
        run = frame[0]
        index: Any = None
        variable: Any = UNSET
        if owner is not None and items is not None:
            holder = owner(frame)
            if type(holder) is Variable:
                variable, index = holder, items(frame)
        if variable is UNSET:
            variable = denoted(frame)
        if type(variable) is not Variable or variable.kind in ("const", "watched"):
            what = (
                "a constant"
                if type(variable) is Variable and variable.kind == "const"
                else describe(variable)
            )
            run.fail(
                "E312",
                f"`:=` updates a variable, and this is {what}",
                node.span,
                help=_meant(node.variable),
            )
        trace = run.trace
        passes_over = (
            n_operations is not None and isinstance(trace, KeepingTrace) and not trace.keeps_states
        )
        if passes_over:
            assert isinstance(trace, KeepingTrace)
            segment, trace.segment = trace.segment, None
            try:
                new = unseen(frame)
            finally:
                trace.segment = segment
            trace.pass_over(n_operations or 0, new)
        else:
            new = value(frame)
        if op_site is not None:
            old = variable.box if index is None else _element(run, node, variable, index)
            if (
                passes_over or not trace.keeps_all
            ):  # a state has no history, so what leads to it needs none
                old, new = primal(old), primal(new)
            new = apply_to_scalars(run, op_site, old, new)
        _set_state(run, variable, new, index, node)

    return update


def _operations(node: program.Update) -> int | None:
    """The number of operations in a new state; None where there is more than these, on numbers and
    names: a call, or what asks for a gradient, has to be seen."""
    nodes = list(own_nodes([node.value]))
    operations = [n for n in nodes if isinstance(n, program.Apply)]
    if not all(n.op.elementwise for n in operations) or not all(
        isinstance(n, _PLAIN) for n in nodes
    ):
        return None
    return len(operations) + (node.op is not None)


_PLAIN = (program.Apply, program.Constant, program.Read)


def _meant(node: program.Expression) -> str:
    if isinstance(node, program.Member) and node.name == "grad":
        return f"`attach_grad({node.object.span.text})` sets it back to zeros"
    return "declare it with `var`"


def _element(run: Run, node: program.Update, variable: Variable, index: Any) -> Any:
    return read_index(run, Site(OPS["getitem"], node.span), variable, index)


def _set_state(run: Run, variable: Variable, new: Any, index: Any, node: program.Update) -> None:
    traced = new
    new = _plain_state(run, new, node)
    old = variable.state
    if index is not None:
        if not hasattr(old, "ndim"):
            run.fail(
                "E303", f"`{variable.name}` is {describe(old)}, and has no elements", node.span
            )
        new = write(run, Site(SETITEM, node.span), old, None, index, new)
    elif not _are_alike(old, new) and (
        type(old) in (int, float, bool, complex) or hasattr(old, "dtype")
    ):
        if shape_of(new) != shape_of(old):
            run.fail(
                "E313",
                (
                    f"`{variable.name}` has shape {show_shape(shape_of(old))}, and the new state "
                    f"{show_shape(shape_of(new))}"
                ),
                node.span,
                help="a variable keeps its shape; to give the name another value use `=`",
            )
        if dtype_name(new) != dtype_name(old):
            order = ["bool", "int64", "float32", "float64", "complex128"]
            wide = type(new) is str or order.index(dtype_name(new)) > order.index(dtype_name(old))
            if wide and not (dtype_name(new) == "float64" and dtype_name(old) == "float32"):
                run.fail(
                    "E313",
                    f"`{variable.name}` is {dtype_name(old)}, and the new state {describe(new)}",
                    node.span,
                )
            new = cast(run, new, dtype_name(old))
    note(run, variable)
    variable.state = new
    attach(run, variable)
    if isinstance(run.trace, KeepingTrace):
        run.trace.left(variable.number, traced, node.span, "update")


def _are_alike(a: Any, b: Any) -> bool:
    """Whether two values are of one kind, shape and dtype, as far as their types show."""
    kind = type(a)
    return type(b) is kind and (
        kind is float or (hasattr(a, "dtype") and a.dtype is b.dtype and a.shape == b.shape)
    )


def _plain_state(run: Run, value: Any, node: program.Update) -> Any:
    value = primal(read(value))
    if type(value) is List:
        return plain_array(run, value, lambda m, h: run.fail("E302", m, node.span, help=h))
    if not (
        type(value) in (int, float, bool, complex) or hasattr(value, "dtype") or type(value) is str
    ):
        run.fail("E312", f"the state of a variable can't be {describe(value)}", node.span)
    return value
