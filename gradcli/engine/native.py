"""Formulas on rows as native code, where llvmlite is there: one pass over memory, whatever they compute.

It is a reading of the table like any other. Only operations that IEEE 754 rounds in one way are read, so the results are
those of NumPy's functions to the last bit (but for the sign of a zero among equals), and may take their place at any
time. What has others is left to NumPy. How the code is written is said in `native_source.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from ..ops.formula import Formula
from .backends import CPU
from .native_source import COMPARISONS, KINDS, Kernel, Strided

_TIMES: ContextVar[float] = ContextVar("times", default=1.0)
_READ: ContextVar[list[bool] | None] = ContextVar("read", default=None)
AFTER = 2**24  # operations on elements; NumPy takes about as long for them as it takes to make the code


@cache
def is_there() -> bool:
    """Whether native code can be made here."""
    try:
        from llvmlite import binding

        return bool(binding.llvm_version_info >= (15,))  # from where on pointers have no types
    except ImportError:
        return False


def can_read(formulas: Iterable[Formula]) -> bool:
    """Whether all that the formulas compute has one right result, and floats are what it computes with."""
    kinds = {id(node): _kind_of(node) for formula in formulas for node in formula}
    return all(kinds.values()) and is_there()


def _kind_of(node: Formula) -> str:
    """ "float" or "bool", or "" for what can't be read."""
    if node.kind not in KINDS or (node.kind == "number" and isinstance(node.value, complex)):
        return ""
    arguments = [a.kind in COMPARISONS for a in node.arguments]
    if node.kind == "where":
        return "float" if arguments == [True, False, False] else ""
    return "" if any(arguments) else "bool" if node.kind in COMPARISONS else "float"


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
        """`make(by_row, *variant)` makes a kernel: see `mapped` and `summed`."""
        self._formulas, self._make = formulas, make
        nodes = {id(node) for formula in formulas for node in formula}
        self._left = AFTER // len(nodes)  # elements that NumPy computes before
        self._readable: bool | None = None
        self._made: dict[tuple[Any, ...], Kernel] = {}

    def are_hot(self, elements: int) -> bool:
        """Whether native code is to compute so many elements."""
        self._left -= int(elements * _TIMES.get())
        if self._left > 0:
            return False
        if self._readable is None:
            self._readable = can_read(self._formulas)
        if (read := _READ.get()) is not None:
            read.append(self._readable)
        return self._readable

    def run(
        self, n: int, m: int, results: Sequence[Any], operands: Sequence[Any], more: Sequence[Strided] = (), *variant: Any
    ) -> bool:
        """Computes the arrays `results` for `m` elements of `n` rows. Returns False where an operand lies in another way than
        kernels take it."""
        # Numbers have no address of their own.
        arrays = [v if type(v) is CPU.xp.ndarray else CPU.xp.array(v) for v in operands]
        found = [strided(v, n) if v.dtype.char == "d" else None for v in arrays]
        if None in found:
            return False
        by_row = tuple([v.shape[-1:] == (n,) for v in arrays])
        key = by_row, *variant
        if key not in self._made:
            self._made[key] = self._make(*key)
        self._made[key](n, m, [*[strided(v, n) for v in results], *found, *more])  # type: ignore[list-item]
        return True


def strided(values: Any, n: int) -> Strided | None:
    """How an array of `n` rows at most lies in memory; None where that isn't how kernels read or write one."""
    shape, strides = values.shape, values.strides
    rows = shape[-1] if shape else 1
    if values.dtype.char not in "d?" or len(shape) > 2 or rows not in (1, n) or (rows > 1 and strides[-1] != values.itemsize):
        return None
    return Strided(values.__array_interface__["data"][0], strides[0] if len(shape) == 2 and shape[0] > 1 else 0)
