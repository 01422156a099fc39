"""Regions as machine code, if llvmlite is installed. Import this only to compile.

The contract is that of Python text: the same bits, or StepBack. A kernel also steps back where it
would take more memory than it may. A signal handler that raises ends it with that exception.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ....ops import OPS
from ...backends.backend import CPU
from ...backends.tiers import NO_LIMIT
from ...formulas.functions import scalar_function
from ...ir.instructions import Region, Value
from ...ir.types import DTYPES, F32, ArrayType
from ..step_back import StepBack
from .assembly import FEW, O3, assembled
from .kernels import kernel_text


class _Definition(ctypes.Structure):
    """The struct by which Python's C interface makes a function (`PyMethodDef`)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


FASTCALL = 0x80
_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


def compiled(
    region: Region, others: Sequence[Region] = (), stack_bytes: int = NO_LIMIT
) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters that returns its results. The bytes that its stacks and
    arrays may take may follow the parameters. It raises StepBack, and what Python raises meanwhile.
    `others` are the regions that it calls; `stack_bytes` limits a stack.

    Raises NotNative for what has no machine code.
    """
    text, each_text, called, scratch = kernel_text(region, others, stack_bytes)
    modules: list[tuple[str, Sequence[str]]] = [(text, FEW)]
    if each_text:
        modules.append((each_text, O3))  # after its callers, whose calls then reach any address
    functions = [
        scalar_function(OPS[each]) if isinstance(each, str) else each.on_memory() for each in called
    ]
    function = loaded(*assembled(*modules), functions)
    if scratch or _arrays((*region.block.parameters, *region.block.results)):
        return _with_arrays(function, region, scratch)
    return _with_float32(function, region)


def loaded(
    engine: Any, address: int, functions: Sequence[Callable[..., Any]] = ()
) -> Callable[..., tuple[Any, ...]]:
    """The code of an engine at an address, as a Python function; the code calls `functions`."""
    definition = _Definition(b"kernel", address, FASTCALL, None)
    # The function holds what its code reads, and at the end the code itself.
    held = (StepBack, *functions, definition, engine)
    function: Callable[..., tuple[Any, ...]] = _new_function(
        ctypes.addressof(definition), held, None
    )
    return function


def _arrays(values: Sequence[Value]) -> list[tuple[int, ArrayType]]:
    """The positions and types of the arrays among values."""
    return [(k, v.type) for k, v in enumerate(values) if isinstance(v.type, ArrayType)]


def _with_arrays(
    function: Callable[..., tuple[Any, ...]], region: Region, scratch: int
) -> Callable[..., Any]:
    """A kernel as a function of arrays. The kernel itself takes the addresses of its arrays, and
    after all parameters those of the arrays that it fills, and of its scratch memory."""
    takes, gives = region.block.parameters, region.block.results
    n, xp, own = len(takes), CPU.xp, _with_float32(function, region)
    arrays = [(k, DTYPES[kind.element]) for k, kind in _arrays(takes)]
    places = [(k, kind.shape, DTYPES[kind.element]) for k, kind in _arrays(gives)]
    spare: list[Any] = []  # scratch memory that no call uses now: other threads may call, too

    def call(*operands: Any) -> tuple[Any, ...]:
        passed, held = list(operands[:n]), []
        for k, dtype in arrays:
            held.append(xp.ascontiguousarray(passed[k], dtype))
            passed[k] = held[-1].ctypes.data
        made = [(k, xp.empty(shape, dtype)) for k, shape, dtype in places]
        passed += [each.ctypes.data for _, each in made]
        if scratch:
            try:
                held.append(spare.pop())
            except IndexError:  # also where another thread has taken it in the meantime
                held.append(xp.empty(scratch, "uint8"))
            passed.append(held[-1].ctypes.data)
        try:
            found = list(own(*passed, *operands[n:]))
        finally:
            if scratch:
                spare[:] = held[-1:]  # one is enough for the next call
        for k, each in made:
            found.insert(k, each)
        return tuple(found)

    return call


def _with_float32(function: Callable[..., tuple[Any, ...]], region: Region) -> Callable[..., Any]:
    """A kernel that returns numbers in float32 as NumPy's, not as Python's."""
    gives = [v.type for v in region.block.results if not isinstance(v.type, ArrayType)]
    places = [k for k, kind in enumerate(gives) if kind == F32]
    if not places:
        return function
    float32 = CPU.xp.float32

    def call(*operands: Any) -> tuple[Any, ...]:
        found: list[Any] = [*function(*operands)]
        for k in places:
            found[k] = float32(found[k])
        return tuple(found)

    return call
