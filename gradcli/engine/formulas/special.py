"""Special functions on floats and arrays: SciPy's by name (on the GPU CuPy's), and kernels of the
table.

SciPy is imported when the first of them is called, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, Backend


def special_on_floats(op: Op) -> Callable[..., Any]:
    """Returns the op on Python floats, by SciPy's function or by the op's kernel."""

    @cache
    def on_arrays() -> Callable[..., Any]:
        return CPU.function(op) if op.kernel is None else kernel_on_arrays(CPU, op)

    return lambda *operands: on_arrays()(*operands).item()


def kernel_on_arrays(backend: Backend, op: Op) -> Callable[..., Any]:
    """Returns the op on arrays and numbers, by its kernel, which is called with vectors.

    Raises TypeError for a complex operand of an op on real ones.
    """
    xp, special, kernel = backend.xp, backend.special, op.kernel
    assert kernel is not None
    n_orders = op.partials.count(None)
    chunk = backend.chunk

    def function(*operands: Any) -> Any:
        moving = operands[n_orders:]
        dtype = xp.result_type(*moving)
        if dtype.kind == "c" and op.real_only:
            raise TypeError(f"`{op.name}` is a function of real numbers")
        wide = dtype if dtype.kind == "c" else "float64"
        arrays = xp.broadcast_arrays(*[xp.asarray(operand, wide) for operand in moving])
        shape, vectors = arrays[0].shape, [a.reshape(-1) for a in arrays]
        orders = [*map(int, operands[:n_orders])]
        size = max(vectors[0].size, 1)
        parts = [
            kernel(xp, special, *orders, *[v[k : k + chunk] for v in vectors])
            for k in range(0, size, chunk)
        ]
        y = parts[0] if len(parts) == 1 else xp.concatenate(parts)
        return y.reshape(shape).astype(dtype if dtype.kind in "fc" else wide)

    return function
