"""Regions as machine code, if llvmlite is installed: import this only to compile.

The contract is that of `python.py`: the same bits, or StepBack. A kernel steps back as well where
it would go beyond a limit, and a signal handler that raises ends it with what it raises.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, NamedTuple

from ...ops import OPS
from ..formulas.functions import scalar_function
from ..ir.instructions import Region
from ..ir.types import BOOL, F64, I64
from .llvm_blocks import kernel_text
from .llvm_scalars import NotNative
from .machine import assembled
from .python import StepBack

__all__ = ["Limits", "NotNative", "compiled"]

_LETTERS = {F64: "d", I64: "q", BOOL: "?"}  # as `struct` has the types of a record


class Limits(NamedTuple):
    """What a kernel may use before it steps back: instructions, roughly, of which those outside of
    loops are free; and bytes on its stacks."""

    work: int = 2**62
    memory: int = 2**62


UNLIMITED = Limits()


class Kernel:
    """The machine code of a region, as a function of its parameters that returns its results.

    Raises StepBack, and what Python raises meanwhile.
    """

    def __init__(self, region: Region) -> None:
        """Raises NotNative for what has no machine code."""
        text, called = kernel_text(region.block)
        self.engine, address = assembled(text)  # the engine owns the code
        self.run = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)
        functions: list[Any] = [scalar_function(OPS[name]) for name in called]
        self.table = (ctypes.py_object * max(1, len(called)))(*functions)
        given, found = (
            "".join([_LETTERS[value.type] for value in values])  # type: ignore[index]
            for values in (region.block.parameters, region.block.results)
        )
        self.given = struct.Struct(f"@qq{given}")
        # Padding depends on what is before.
        self.record = struct.Struct(f"@qq{given}{found}")
        self.buffer = ctypes.c_char * max(1, self.record.size)
        self.first_result = 2 + len(given)

    def __call__(self, *parameters: Any, limits: Limits = UNLIMITED) -> tuple[Any, ...]:
        record = self.buffer()
        self.given.pack_into(record, 0, *limits, *parameters)
        if self.run(record, self.table):
            raise StepBack
        return self.record.unpack_from(record)[self.first_result :]


def compiled(region: Region) -> Kernel:
    """A region as a function of its parameters that returns its results. Raises NotNative."""
    return Kernel(region)
