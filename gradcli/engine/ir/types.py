"""The types of values in a region."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from ctypes import c_float
from math import prod
from typing import Any, TypeAlias

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
# A float64 number beside a float32 becomes one, as a Python float beside NumPy's float32 does. (An
# element of an array doesn't: who lowers arrays converts these.)
FLOATS = (F32, F64)
# What has which type: Python's numbers, and the elements of arrays by their dtype.
OF_PYTHON: dict[type, Scalar] = {float: F64, int: I64, bool: BOOL}
OF_DTYPE = {"float64": F64, "float32": F32, "int64": I64, "bool": BOOL}
DTYPES = {scalar: name for name, scalar in OF_DTYPE.items()}


def is_float(kind: Type) -> bool:
    return kind in FLOATS


def has_tangents(kind: Type) -> bool:
    """Whether values of a type have tangents and cotangents."""
    return kind != STACK and element_of(kind) in FLOATS


def element_of(kind: Type) -> Scalar:
    """The type of a scalar, or of the elements of an array."""
    found = kind.element if isinstance(kind, ArrayType) else kind
    assert isinstance(found, Scalar)
    return found


def elements_of(kind: Type) -> int:
    """How many elements what is of a type has; a scalar is one."""
    return kind.size if isinstance(kind, ArrayType) else 1


def dimensions(kind: Type) -> tuple[int, ...]:
    """The shape of arrays of a type; that of a scalar is ()."""
    return kind.shape if isinstance(kind, ArrayType) else ()


def dtype_of(kind: Type) -> str:
    """The dtype of a scalar, or of an array."""
    return DTYPES[element_of(kind)]


def has_floats(real: Scalar, kind: Type) -> bool:
    """Whether regions of a run whose floats are `real` may have numbers of a type: those of a run
    in float32 have no float64, which operations on numbers would round."""
    return kind != F64 or real == F64


def widest(kinds: Collection[Type]) -> Scalar:
    """The type of an array of elements of these types, as NumPy has it."""
    return next(kind for kind in (F64, F32, I64, BOOL) if kind in kinds)


def rounded(value: Any, kind: Scalar) -> Any:
    """A number as a float of a type has it."""
    return c_float(value).value if kind == F32 and value == value else value
