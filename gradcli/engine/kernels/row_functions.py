"""Formulas as functions on large arrays, in chunks; rows are the last axis.

Operands are numbers and arrays of one float type. The intermediate results of a chunk stay in the
cache, in buffers that the next chunk reuses: a pass over memory costs more than most operations.
Functions are cached by the structure of their formulas, so a program that runs again finds those of
the last run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from ...ops.formula import Formula, Key, formula_of, key_of
from ...ops.op import Op
from ..backends.backend import CPU, LINE, Backend, shape_of
from ..formulas.differentiation import cotangents, differentiate
from ..formulas.formula_source import FormulaSource
from ..formulas.functions import array_by_name
from ..formulas.reading import forward_formula, per_op
from ..formulas.rewriting import Rewriting, gives_bools
from .native import Kernels
from .row_source import RowSource
from .strided import FLOATS, Kernel

RowFunction: TypeAlias = Callable[..., list[Any]]  # of the results' shape and the operands

LEAST = 512  # rows at a time
CACHED = 2**17  # elements of all arrays of a chunk
PIECE = 2**13  # elements of one of them, at least


@per_op
def value_function(
    backend: Backend, key: Key, whole: tuple[bool, ...], by: tuple[int, ...] = ()
) -> RowFunction:
    """Returns the function of a formula's value and its partials by the operands `by`.

    Products are plain ones, right where they are finite.
    """
    formula = formula_of(key)
    partials = differentiate(formula, len(whole)) if by else []
    return _function(backend, [formula, *[partials[k] for k in by]], whole)


@per_op
def pull_function(
    backend: Backend, key: Key, n_operands: int, whole: tuple[bool, ...], by: tuple[int, ...]
) -> RowFunction:
    """Returns the function of the cotangents of the operands `by` of a formula.

    It takes what they read, and then the cotangent of the value.
    """
    _, found = cotangents(formula_of(key), n_operands)
    return _function(backend, [found[k] for k in by], whole)


def _function(backend: Backend, formulas: list[Formula], whole: tuple[bool, ...]) -> RowFunction:
    """Returns the formulas as one function; formulas with the same structure share a result.

    The result of a formula that reads no whole array is a number, or broadcasts. `out` may be an
    array for the only result, such as an operand that is no longer needed.
    """
    asked = Rewriting().all(formulas)
    formulas = list({id(f): f for f in asked}.values())
    places = [[id(f) for f in formulas].index(id(f)) for f in asked]
    large = [
        k for k, f in enumerate(formulas) if any(whole[i] for i in f.reads() if type(i) is int)
    ]
    small = [k for k in range(len(formulas)) if k not in large]
    of_pieces = _in_pieces(backend, [formulas[k] for k in large], whole)
    of_wholes = unbuffered(backend, [formulas[k] for k in small], len(whole))

    def function(shape: tuple[int, ...], *operands: Any, out: Any = None) -> list[Any]:
        results: list[Any] = [None] * len(formulas)
        for which, part in (
            (large, of_pieces(shape, operands, out)),
            (small, of_wholes(*operands) if small else []),
        ):
            for k, value in zip(which, part, strict=True):
                results[k] = value
        return [results[k] for k in places]

    return function


def unbuffered(backend: Backend, formulas: list[Formula], n: int) -> Callable[..., list[Any]]:
    """Returns the formulas as one function of `n` operands, in which each operation computes whole
    arrays.
    """
    source = FormulaSource(arrays=True, strict=False)
    values = source.values(formulas) if formulas else []
    parameters = ", ".join(f"x{k}" for k in range(n))
    return source.function(
        parameters, f"[{', '.join(values)}]", lambda name: array_by_name(backend, name)
    )


def _in_pieces(
    backend: Backend, formulas: list[Formula], whole: tuple[bool, ...]
) -> Callable[[tuple[int, ...], Sequence[Any], Any], list[Any]]:
    if not formulas:
        return lambda shape, operands, out: []
    xp = backend.xp
    if backend is not CPU:  # where kernels are few and large
        evaluate_whole = unbuffered(backend, formulas, len(whole))
        return lambda shape, operands, out: evaluate_whole(*operands)
    source = RowSource(backend, whole)
    step = source.function(formulas)
    buffers, bools = source.buffers, [gives_bools(formula) for formula in formulas]
    wholes = [k for k, is_whole in enumerate(whole) if is_whole]
    kernels = Kernels(formulas, partial(_mapped, formulas))
    # Not too short: a call costs as much as some hundred elements.
    piece = min(backend.chunk, max(PIECE, CACHED // (len(formulas) + source.buffers + len(wholes))))

    def function(shape: tuple[int, ...], operands: Sequence[Any], out: Any) -> list[Any]:
        dtype = operands[wholes[0]].dtype
        if out is not None and bools == [False]:
            results = [out]
        else:
            results = [
                xp.empty(shape, bool) if is_bool else backend.empty(shape, dtype)
                for is_bool in bools
            ]
        size, n = math.prod(shape), shape[-1]
        is_hot = dtype.char in FLOATS and kernels.are_hot(size)
        if not is_hot and size <= 2 * piece:
            step(*results, *buffers_of(backend, buffers, shape, dtype), *operands)
            return results
        arrays = [k for k, v in enumerate(operands) if type(v) is xp.ndarray]
        if arrays == wholes and all([operands[k].flags.c_contiguous for k in wholes]):  # noqa: C419
            line = list(operands)
            for k in wholes:
                line[k] = operands[k].reshape(-1)
            flat = [r.reshape(-1) for r in results]
            if not (is_hot and kernels.run(size, 1, flat, line)):
                _walk(backend, step, flat, line, wholes, buffers, size, piece)
        elif is_hot and len(shape) <= 2 and kernels.run(n, size // n, results, operands):
            pass
        else:  # some rows at a time
            split = [k for k in arrays if operands[k].shape[-1] == n]
            rows = LEAST * max(1, piece * n // size // LEAST)
            _walk(backend, step, results, list(operands), split, buffers, n, rows)
        return results

    return function


def _mapped(formulas: list[Formula], by_row: tuple[bool, ...], char: str) -> Kernel:
    from .native_source import elementwise_kernel

    return elementwise_kernel(formulas, by_row, char)


def _walk(
    backend: Backend,
    step: Callable[..., None],
    results: list[Any],
    operands: list[Any],
    split: list[int],
    n_buffers: int,
    n: int,
    size: int,
) -> None:
    """Returns the function in chunks along the last axis of the results and the operands
    `split`.
    """
    buffers = buffers_of(
        backend, n_buffers, (*results[0].shape[:-1], size), operands[split[0]].dtype
    )
    part = operands.copy()
    for start in range(0, n, size):
        some = (..., slice(start, start + size))
        if start + size > n:
            buffers = [b[..., : n - start] for b in buffers]
        for k in split:
            part[k] = operands[k][some]
        step(*[r[some] for r in results], *buffers, *part)


def buffers_of(
    backend: Backend, n: int, shape: tuple[int, ...], dtype: Any = "float64"
) -> list[Any]:
    """Returns `n` uninitialised arrays of a shape."""
    size = math.prod(shape)
    step = -(-size // (2 * LINE)) * 2 * LINE  # so that each begins where a line does
    block = backend.empty((n * step,), dtype)
    return [block[k * step : k * step + size].reshape(shape) for k in range(n)]


@per_op
def _key_of_op(op: Op) -> Key:
    return key_of(forward_formula(op))


def pulled(
    backend: Backend,
    op: Op,
    by: tuple[int, ...],
    shape: tuple[int, ...],
    g: Any,
    read: Sequence[Any],
    out: Any = None,
) -> list[Any]:
    """Returns the cotangents of the operands `by` of an op, in the shape of its value's, `g`.

    Each is an array of `shape`, or a number if it is the same everywhere; several may be one array.
    `out` may be used for one of them. `read` is what they need (`cotangents_of`).
    """
    given = [*read, g]
    wholes = tuple([shape_of(v) == shape for v in given])
    found = pull_function(backend, _key_of_op(op), len(op.signature.operands), wholes, by)(
        shape, *given, out=out
    )
    return [v if shape_of(v) == shape else backend.xp.broadcast_to(v, shape).copy() for v in found]
