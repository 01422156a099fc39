"""Declared types: a value is converted to the dtype of its declaration, and must have its shape."""

from __future__ import annotations

from typing import Any, NoReturn

from ...lang import program
from ..backends.backend import dtype_name, shape_of
from ..trace.run import Run
from ..values.kinds import describe, show_shape
from ..values.lanes import Lanes

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
