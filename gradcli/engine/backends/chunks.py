"""Elementwise functions of several steps, applied to large arrays in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .backend import Backend


def in_chunks(
    backend: Backend, function: Callable[..., Any], summed: bool = False, writes: bool = False
) -> Callable[..., Any]:
    """Returns an elementwise function of several steps that goes through large arrays in chunks.

    The intermediate results of the steps then stay in the cache: a pass over memory costs more than
    most operations. `summed` says that the function returns a sum over its array, and `writes` that
    it takes an array `out` for its result.
    """
    xp, chunk = backend.xp, backend.chunk
    if not chunk:
        return lambda *operands, into=None, onto=None: added(function(*operands), onto)

    def call(*operands: Any, into: Any = None, onto: Any = None) -> Any:
        shape: tuple[int, ...] = ()
        flat = []
        for operand in operands:
            if type(operand) is xp.ndarray:
                if operand.size < 4 * chunk or (shape and operand.shape != shape):
                    return added(function(*operands), onto)
                shape = operand.shape
                if not any(operand.strides):
                    # Broadcast, as pullbacks of `sum` and `mean` are.
                    number = operand[(0,) * operand.ndim]
                    operand = xp.broadcast_to(number, operand.size) if summed else number
                elif not operand.flags.c_contiguous:
                    return added(function(*operands), onto)
                else:
                    operand = operand.reshape(-1)
            flat.append(operand)
        pieces = [k for k, operand in enumerate(flat) if type(operand) is xp.ndarray]
        if not pieces:
            return added(function(*operands), onto)
        size = flat[pieces[0]].size
        starts = range(0, size, chunk)
        if summed:
            return sum(function(*_piece(flat, pieces, start, start + chunk)) for start in starts)
        first = function(*_piece(flat, pieces, 0, chunk))
        if not hasattr(first, "dtype"):  # a branch on a number that read no array
            first = xp.asarray(first, xp.result_type(*[flat[k] for k in pieces]))
        buffer = into if onto is None else onto
        fits = buffer is not None and buffer.dtype == first.dtype and buffer.flags.c_contiguous
        whole = buffer if fits else xp.empty(shape, first.dtype)
        result = whole.reshape(-1)
        adds = fits and onto is not None
        for start in starts:
            part, place = _piece(flat, pieces, start, start + chunk), result[start : start + chunk]
            if adds:
                place += function(*part) if start else first
            elif writes and start:
                function(*part, out=place)
            else:
                place[...] = function(*part) if start else first
        return whole if adds else added(whole, onto)

    return call


def added(y: Any, onto: Any) -> Any:
    """Returns the sum with a buffer, in place if that can hold it."""
    if onto is None:
        return y
    if y.dtype.kind != onto.dtype.kind:
        return onto + y
    onto += y
    return onto


def _piece(operands: list[Any], pieces: list[int], start: int, stop: int) -> list[Any]:
    part = operands.copy()
    for k in pieces:
        part[k] = operands[k][start:stop]
    return part
