"""Functions on whole arrays that compiled code calls, computed by NumPy: entries of the table, and
products of matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

from ...structs import Struct
from ..backends.backend import CPU, Backend
from ..formulas.functions import array_function
from ..ir.structural import REFUSALS, Applied, Structural
from ..ir.types import I64, ArrayType, Type, dimensions, dtype_of, element_of, elements_of
from .step_back import StepBack

WRITABLE = 0x200  # of Python's C interface: memory that may be written
CALL = 300  # instructions that a call takes at least
SPECIAL = 50  # instructions of a special function of one element, about
SAFE = 2.0**62  # ints up to here are right, also where floats have rounded them
_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.restype = ctypes.py_object
_memory.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


class ArrayCall(Protocol):
    """A function that machine code calls with the addresses of arrays and numbers, and then with
    the addresses that it fills."""

    @property
    def name(self) -> str:
        """The name of its entry of the table."""

    def on_memory(self) -> Callable[..., None]:
        """The function, which raises StepBack."""


class Multiplied(Struct):
    """The product of matrices of a dtype, some of them stored column by column: see `Product`."""

    sizes: tuple[int, int, int, int]
    transposed: tuple[bool, bool]
    dtype: str

    @property
    def name(self) -> str:
        return "matmul"

    def on_memory(self) -> Callable[..., None]:
        (left, right), dtype = self.transposed, self.dtype
        shapes = shapes_of(self.sizes, self.transposed)

        def multiply(a: int, b: int, into: int) -> None:
            x, y, whole = [_view(at, s, dtype) for at, s in zip((a, b, into), shapes, strict=True)]
            x, y = x.swapaxes(-1, -2) if left else x, y.swapaxes(-1, -2) if right else y
            CPU.xp.matmul(x, y, whole)

        return multiply


class Computed(Struct):
    """An entry of the table, with the types of its results."""

    applied: Applied
    gives: tuple[Type, ...]

    @classmethod
    def by(cls, made: Structural) -> Computed:
        """The function of an instruction."""
        return cls(made.applied, tuple([value.type for value in made.results]))

    @property
    def name(self) -> str:
        return self.applied.op.name

    @property
    def work(self) -> int:
        """About how many instructions a call takes."""
        if self.applied.op.compute is None:
            return CALL + SPECIAL * sum(map(elements_of, self.gives))
        kinds = [kind for kind in (*self.applied.takes, *self.gives) if isinstance(kind, ArrayType)]
        return CALL + sum([kind.size * kind.shape[-1] for kind in kinds]) // 4

    def on_memory(self) -> Callable[..., None]:
        takes, n = list(map(_layout, self.applied.takes)), len(self.applied.takes)
        gives = [(dimensions(kind), dtype_of(kind)) for kind in self.gives]
        compute = self.parts()

        def call(*given: Any) -> None:
            operands = [
                value if layout is None else _view(value, *layout)
                for value, layout in zip(given, takes, strict=False)
            ]
            found = zip(compute(operands), given[n:], gives, strict=True)
            for part, place, layout in found:
                _view(place, *layout)[...] = part

        return call

    def on_vectors(self, backend: Backend = CPU) -> Callable[..., tuple[Any, ...]]:
        """The function on vectors and numbers of a backend, which returns vectors and numbers. It
        raises StepBack."""
        takes, compute = list(map(_layout, self.applied.takes)), self.parts(backend)
        gives = list(map(_layout, self.gives))
        number = backend.scalar if backend is not CPU else lambda value: value

        def call(*given: Any) -> tuple[Any, ...]:
            operands = [
                number(value) if layout is None else value.reshape(layout[0])
                for value, layout in zip(given, takes, strict=True)
            ]
            return tuple(
                [
                    backend.settle(part)
                    if layout is None
                    else backend.xp.array(part, layout[1]).reshape(-1)
                    for part, layout in zip(compute(operands), gives, strict=True)
                ]
            )

        return call

    def parts(self, backend: Backend = CPU) -> Callable[[Sequence[Any]], list[Any]]:
        """A function that returns the results as arrays and numbers of a backend. It raises
        StepBack."""
        op, shapes = self.applied.op, list(map(dimensions, self.gives))
        elementwise = op.compute is None
        compute = array_function(backend, op) if elementwise else self.applied.function(backend)
        counts = op.integers == "keep" and any(element_of(k) == I64 for k in self.gives)

        def parts(operands: Sequence[Any]) -> list[Any]:
            try:
                found = compute(*operands)
                if counts:
                    floats = [backend.xp.asarray(each, "float64") for each in operands]
                    if not (backend.xp.abs(compute(*floats)) < SAFE).all():
                        raise StepBack
            except REFUSALS:
                raise StepBack from None
            found = found if type(found) is list else [found]
            if [getattr(part, "shape", ()) for part in found] != shapes:
                raise StepBack
            return found

        return parts


def shapes_of(
    sizes: tuple[int, int, int, int], transposed: tuple[bool, bool]
) -> list[tuple[int, ...]]:
    """The shapes in memory of the factors and the result of a product: see `Product`."""
    (count, m, k, n), (left, right) = sizes, transposed
    shapes = ((k, m) if left else (m, k)), ((n, k) if right else (k, n)), (m, n)
    return [*shapes] if count == 1 else [(count, *shape) for shape in shapes]


@lru_cache(256)
def _view(address: int, shape: tuple[int, ...], dtype: str) -> Any:
    """An array in existing memory. It is kept for the next array at this address, and only read
    while there is one."""
    size = CPU.xp.dtype(dtype).itemsize * prod(shape)
    return CPU.ndarray(shape, dtype, _memory(address, size, WRITABLE))


def _layout(kind: Type) -> tuple[tuple[int, ...], str] | None:
    """The shape and dtype of an array; None for a number."""
    return (kind.shape, dtype_of(kind)) if isinstance(kind, ArrayType) else None
