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
    """A stack of entries, each of some scalars and arrays. A pop takes an entry of the types that
    its push put there.

    A stack value is used once, by the next push or pop, or as a carried value or a result. So code
    may change the stack in place.
    """

    def __str__(self) -> str:
        return "stack"


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """How far elements are apart in an array of a shape, along each axis."""
    return tuple([prod(shape[k + 1 :]) for k in range(len(shape))])


class ArrayType(Struct):
    """An array of numbers of one type, row by row, with its shape. `listed`: whether it is a list
    of numbers, or of lists of these. Each number of a list is connected with others by itself; an
    array is connected as a whole."""

    element: Scalar
    shape: tuple[int, ...]
    listed: bool = False

    def __str__(self) -> str:
        found = f"{self.element}[{', '.join(map(str, self.shape))}]"
        return f"list {found}" if self.listed else found

    @property
    def strides(self) -> tuple[int, ...]:
        """How far elements are apart along each axis."""
        return strides(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    def in_form(self, listed: bool) -> ArrayType:
        """A list, or an array, of the same numbers."""
        return ArrayType(self.element, self.shape, listed)


Type: TypeAlias = Scalar | StackType | ArrayType
STACK = StackType()

F64, F32, I64, BOOL = Scalar("f64"), Scalar("f32"), Scalar("i64"), Scalar("bool")
# A float64 number beside a float32 becomes a float32, as a Python float does beside NumPy's. (An
# element of an array doesn't: the lowering of arrays converts these.)
FLOATS = (F32, F64)
# The types of Python's numbers, and of the elements of arrays by their dtype.
OF_PYTHON: dict[type, Scalar] = {float: F64, int: I64, bool: BOOL}
OF_DTYPE = {"float64": F64, "float32": F32, "int64": I64, "bool": BOOL}
DTYPES = {scalar: name for name, scalar in OF_DTYPE.items()}


def is_list(kind: Type) -> bool:
    """Whether a value of a type is a list."""
    return isinstance(kind, ArrayType) and kind.listed


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
    """The number of elements of a value; a scalar has one."""
    return kind.size if isinstance(kind, ArrayType) else 1


def dimensions(kind: Type) -> tuple[int, ...]:
    """The shape of a type; () for a scalar."""
    return kind.shape if isinstance(kind, ArrayType) else ()


def dtype_of(kind: Type) -> str:
    """The dtype of a scalar, or of an array."""
    return DTYPES[element_of(kind)]


def has_floats(real: Scalar, kind: Type) -> bool:
    """Whether a region of a run may have numbers of a type. `real` is the type of the run's floats.
    A float32 run has no float64, since operations on numbers would round it."""
    return kind != F64 or real == F64


def widest(kinds: Collection[Type]) -> Scalar:
    """The element type of an array made of elements of these types, as in NumPy."""
    return next(kind for kind in (F64, F32, I64, BOOL) if kind in kinds)


def rounded(value: Any, kind: Scalar) -> Any:
    """A number, rounded to a float type."""
    return c_float(value).value if kind == F32 and value == value else value
