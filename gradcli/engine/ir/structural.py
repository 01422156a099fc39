"""Structural entries of the table in IR: ops on whole arrays, computed by the interpreter's own
code. So are elementwise entries that have no machine code, on arrays of float64.

The types of the results of a structural entry are found by computing it once, on a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import Any, TypeAlias

from ...diagnostics import Span
from ...ops.op import Op, OpError
from ...ops.registry import REGISTERED
from ...structs import Struct
from ..backends.backend import CPU, Backend, generator_of, ieee
from .types import (
    BOOL,
    F32,
    F64,
    I64,
    OF_DTYPE,
    ArrayType,
    Type,
    dimensions,
    dtype_of,
    element_of,
    is_float,
)
from .values import BaseInstruction, Value

Options: TypeAlias = tuple[tuple[str, Any], ...]  # by name, all of them
# The exceptions by which the code of an entry refuses its operands.
REFUSALS = (
    OpError, ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, MemoryError,
)  # fmt: skip
LARGE = 2**21  # elements of a result for which no sample is computed
SLICE = "slice"  # the first item of a tuple that stands for a slice among options


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """Why an entry can't be applied to operands of these types in IR."""


class Structural(BaseInstruction, frozen=False):
    """A structural entry of the table, or an elementwise one without machine code, applied to
    arrays and numbers, with known options. It steps back where the entry refuses its operands. A
    random entry takes the seed and the number of the draw."""

    TAKES = ("*operands",)
    GIVES = ("*results",)

    op: Op
    operands: tuple[Value, ...]
    options: Options
    results: tuple[Value, ...]
    span: Span | None = None

    @property
    def applied(self) -> Applied:
        return Applied(self.op, self.options, tuple([value.type for value in self.operands]))


class Applied(Struct):
    """An entry with its options, for operands of the types `takes`."""

    op: Op
    options: Options
    takes: tuple[Type, ...]

    @property
    def given(self) -> dict[str, Any]:
        """The options as the code of the entry takes them."""
        return {name: _given(value) for name, value in self.options}

    def function(self, backend: Backend = CPU) -> Callable[..., Any]:
        """The op on a backend's arrays and numbers, which returns one result or a list of them."""
        op, options, xp = self.op, self.given, backend.xp
        if op.category in ("making", "random"):
            options.setdefault("dtype", "float64")
        compute = partial(op.compute, xp, **options) if op.compute is not None else None
        assert compute is not None
        if op.category == "random":
            return lambda seed, draw: compute(generator=generator_of(int(seed), int(draw)))
        counted = [k for k, kind in enumerate(self.takes) if op.counts_bools and _is_bool(kind)]
        if not counted:
            return compute

        def on_ints(*operands: Any) -> Any:
            given = list(operands)
            for k in counted:
                given[k] = xp.asarray(given[k], "int64")[()]
            return compute(*given)

        return on_ints


@cache
def gives(applied: Applied) -> tuple[Type, ...]:
    """The types of the results. Raises Refused."""
    op, shapes = applied.op, list(map(dimensions, applied.takes))
    if op.compute is None:
        if {*map(element_of, applied.takes)} != {F64}:
            raise Refused("an elementwise entry is only applied to float64 here")
        shape = CPU.xp.broadcast_shapes(*shapes)
        return (ArrayType(F64, shape) if shape else F64,)
    given = applied.given
    if op.category == "random":
        shapes, given = [], {name: v for name, v in given.items() if name != "dtype"}
    if op.name in REGISTERED:
        raise Refused("a function of another package is not compiled")
    try:
        shape = op.result_shape(*shapes, **given) if op.result_shape else ()
        if prod(shape) >= LARGE:
            raise Refused("it would have too many elements")
        with ieee():
            found = applied.function()(*map(_sample, applied.takes))
    except REFUSALS as error:
        raise Refused(str(error).partition("\n")[0]) from None
    return tuple(map(_type_of, found if type(found) is list else [found]))


def _is_bool(kind: Type) -> bool:
    return element_of(kind) == BOOL


def _sample(kind: Type) -> Any:
    """A value of a type that no op refuses unless it refuses the type: a vector that grows, a
    diagonal matrix, zero for ints, which may be indices."""
    xp = CPU.xp
    if not isinstance(kind, ArrayType):
        return {F64: 1.0, F32: xp.float32(1.0), I64: 0, BOOL: True}[kind]  # type: ignore[index]
    shape = kind.shape
    dtype = dtype_of(kind)
    if not is_float(kind.element):
        return xp.zeros(shape, dtype)
    row = xp.arange(1.0, shape[-1] + 1, dtype=dtype)
    return (
        row if len(shape) == 1 else xp.zeros(shape, dtype) + row * xp.eye(*shape[-2:], dtype=dtype)
    )


def _type_of(value: Any) -> Type:
    value = CPU.xp.asarray(value)
    kind = OF_DTYPE.get(value.dtype.name)
    if kind is None:
        what = "complex numbers" if value.dtype.kind == "c" else f"numbers of type {value.dtype}"
        raise Refused(f"{what} are not compiled")
    if not value.size:
        raise Refused("an array of no elements is not compiled")
    return ArrayType(kind, tuple(value.shape)) if value.shape else kind


def completed(op: Op, options: Mapping[str, Any]) -> Options:
    """All options of an entry: the given ones, and defaults for the others."""
    given = op.signature.defaults | {**options}
    return tuple([(name, _fixed(value)) for name, value in given.items()])


def _fixed(value: Any) -> Any:
    """An option in a hashable form."""
    if isinstance(value, list | tuple):
        return tuple(map(_fixed, value))
    return (SLICE, value.start, value.stop, value.step) if isinstance(value, slice) else value


def _given(value: Any) -> Any:
    """An option in the form that the code of the entry takes."""
    if not isinstance(value, tuple):
        return value
    return slice(*value[1:]) if value[:1] == (SLICE,) else tuple(map(_given, value))


def operands_of(op: Op, given: Sequence[Any]) -> list[Any]:
    """All operands: the given ones, and defaults for the others."""
    defaults = [] if op.signature.variadic else op.signature.operands[len(given) :]
    return [*given, *[each.default for each in defaults]]
