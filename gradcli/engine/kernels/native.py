"""Formulas on rows as native code, where llvmlite is there: one pass over memory, whatever they compute.

It is a reading of the table like any other. Only operations that IEEE 754 rounds in one way are read, so the results are
those of the functions on arrays to the last bit, and may take their place at any time. What has others is left to NumPy. How
the code is written is said in `native_source.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from ...ops.formula import Formula
from ..backends.backend import CPU
from ..backends.tiers import policy
from .strided import FLOATS, Kernel, Strided, strided

_TIMES: ContextVar[float] = ContextVar("times", default=1.0)
_READ: ContextVar[list[bool] | None] = ContextVar("read", default=None)


def is_there() -> bool:
    """Whether native code can be made here."""
    return policy().compiles and _can_compile()


@cache
def _can_compile() -> bool:
    try:
        from llvmlite import binding

        return bool(binding.llvm_version_info >= (15,))  # from where on pointers have no types
    except ImportError:
        return False


@contextmanager
def standing_for(times: float) -> Iterator[list[bool]]:
    """What is computed here stands for so many times as much that is to come. Gives a list that gets, for each function that is
    asked for enough to be worth it, whether native code computes it."""
    read: list[bool] = []
    tokens = _TIMES.set(max(1.0, times)), _READ.set(read)
    try:
        yield read
    finally:
        _TIMES.reset(tokens[0])
        _READ.reset(tokens[1])


class Kernels:
    """The native code of formulas: made once they have computed enough, a kernel for each kind of operands."""

    def __init__(self, formulas: Sequence[Formula], make: Callable[..., Kernel]) -> None:
        """`make(by_row, char, *variant)` makes a kernel: see `mapped` and `summed`."""
        self._formulas, self._make = formulas, make
        nodes = {id(node) for formula in formulas for node in formula}
        self._operations = len(nodes)  # on each element
        self._count = 0  # of elements that NumPy computed, or would have
        self._readable: bool | None = None
        self._made: dict[tuple[Any, ...], Kernel] = {}

    def are_hot(self, elements: int) -> bool:
        """Whether native code is to compute so many elements."""
        self._count += int(elements * _TIMES.get())
        if self._count * self._operations < policy().heat.operations:
            return False
        if self._readable is None:
            from .native_source import can_read  # which few runs need

            self._readable = can_read(self._formulas)
        is_read = self._readable and is_there()
        if (read := _READ.get()) is not None:
            read.append(is_read)
        return is_read

    def run(
        self, n: int, m: int, results: Sequence[Any], operands: Sequence[Any], more: Sequence[Strided] = (), *variant: Any
    ) -> bool:
        """Computes the arrays `results` for `m` elements of `n` rows. Returns False where an operand lies in another way than
        kernels take it."""
        # Numbers have no address of their own.
        arrays = [v if type(v) is CPU.xp.ndarray else CPU.xp.array(v) for v in operands]
        char = arrays[0].dtype.char
        found = [strided(v, n) if v.dtype.char == char else None for v in arrays]
        if char not in FLOATS or None in found:
            return False
        by_row = tuple([v.shape[-1:] == (n,) for v in arrays])
        key = by_row, char, *variant
        if key not in self._made:
            self._made[key] = self._make(*key)
        self._made[key](n, m, [*[strided(v, n) for v in results], *found, *more])  # type: ignore[list-item]
        return True
