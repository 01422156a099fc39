"""Native code for formulas on rows, if llvmlite is installed: one pass over memory for any formula.

Only operations that IEEE 754 rounds in one way are compiled, so the results equal those of the
functions on arrays to the last bit, and may replace them at any time. Other operations are left to
NumPy. `native_source.py` writes the code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...ops.formula import Formula
from ..backends.backend import CPU
from ..backends.tiers import policy
from ..codegen.machine import can_compile
from .strided import FLOATS, Kernel, Strided, strided


def is_there() -> bool:
    """Returns whether native code can be compiled here."""
    return policy().compiles and _is_there()


@cache
def _is_there() -> bool:
    return can_compile(0)


class Kernels:
    """The native code of formulas, compiled once they are hot, with one kernel for each kind of
    operands.
    """

    def __init__(self, formulas: Sequence[Formula], make: Callable[..., Kernel]) -> None:
        """Prepares kernels that `make(by_row, char, *variant)` compiles: see `elementwise_kernel`
        and `sum_kernel`.
        """
        self._formulas, self._make = formulas, make
        nodes = {id(node) for formula in formulas for node in formula}
        self._operations = len(nodes)  # on each element
        self._count = 0  # of elements that NumPy computed, or would have
        self._readable: bool | None = None
        self._made: dict[tuple[Any, ...], Kernel] = {}

    def are_hot(self, elements: int) -> bool:
        """Counts these elements, and returns whether native code should compute them."""
        self._count += elements
        if self._count * self._operations < policy().heat.operations:
            return False
        if self._readable is None:
            from .native_source import can_read  # few runs need it

            self._readable = can_read(self._formulas)
        return self._readable and is_there()

    def run(
        self,
        n: int,
        m: int,
        results: Sequence[Any],
        operands: Sequence[Any],
        more: Sequence[Strided] = (),
        *variant: Any,
    ) -> bool:
        """Computes the arrays `results` for `m` elements of `n` rows.

        Returns False if the memory layout of an operand isn't one that kernels accept, or there is
        no memory to compile one.
        """
        # Numbers have no address of their own.
        arrays = [v if type(v) is CPU.xp.ndarray else CPU.xp.array(v) for v in operands]
        char = arrays[0].dtype.char
        found = [strided(v, n) if v.dtype.char == char else None for v in arrays]
        if char not in FLOATS or None in found:
            return False
        by_row = tuple([v.shape[-1:] == (n,) for v in arrays])
        key = by_row, char, *variant
        if key not in self._made:
            if not can_compile(self._operations):
                return False
            self._made[key] = self._make(*key)
        self._made[key](n, m, [*[strided(v, n) for v in results], *found, *more])  # type: ignore[list-item]
        return True
