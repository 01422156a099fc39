"""The types of values in a region."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from ...structs import Entity, Struct


class Scalar(Entity):
    """A number or a bool, by the name that IR texts give its type."""

    name: str

    def __str__(self) -> str:
        return self.name


class StackType(Entity):
    """A stack of entries, each some scalars and arrays. A pop takes the types that its push has
    added.

    A stack is used once, by the next push or pop, or as a carried value or a result: so code may
    change it in place.
    """

    def __str__(self) -> str:
        return "stack"


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """How far elements are apart in an array of a shape, along each axis."""
    return tuple([prod(shape[k + 1 :]) for k in range(len(shape))])


class ArrayType(Struct):
    """An array of numbers of one type, row by row, with its shape."""

    element: Scalar
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.shape))}]"

    @property
    def strides(self) -> tuple[int, ...]:
        """How far elements are apart along each axis."""
        return strides(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(self.shape)


Type: TypeAlias = Scalar | StackType | ArrayType
STACK = StackType()

F64, F32, I64, BOOL = Scalar("f64"), Scalar("f32"), Scalar("i64"), Scalar("bool")
SCALARS = {scalar.name: scalar for scalar in (F64, F32, I64, BOOL)}
FLOATS = (F64, F32)
# What has which type: Python's numbers, and the elements of arrays by their dtype.
OF_PYTHON: dict[type, Scalar] = {float: F64, int: I64, bool: BOOL}
OF_DTYPE = {"float64": F64, "int64": I64, "bool": BOOL}
DTYPES = {scalar: name for name, scalar in OF_DTYPE.items()}


def is_float(kind: Type) -> bool:
    return kind in FLOATS


def has_tangents(kind: Type) -> bool:
    """Whether values of a type have tangents and cotangents."""
    return (kind.element if isinstance(kind, ArrayType) else kind) == F64
