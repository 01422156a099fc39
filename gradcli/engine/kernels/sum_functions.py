"""Sums of formulas over the elements of each row, with their gradients, as functions on many rows.

Neither the terms nor their partials are kept: they are accumulated for a chunk of rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ...ops.formula import Formula, Key, formula_of
from ..backends.backend import CPU, Backend, sum_to
from ..formulas.differentiation import differentiate, scaled
from ..formulas.reading import per_op
from ..formulas.rewriting import Rewriting
from .native import Kernels
from .row_functions import CACHED, LEAST, PIECE, buffers_of, unbuffered
from .row_source import RowSource
from .strided import Kernel, Strided, strided

# The index of the total that a partial is added to, and the part of it.
Place: TypeAlias = tuple[int, Any]
SumFunction: TypeAlias = Callable[
    [tuple[int, ...], Sequence[Any], Sequence[Place], Sequence[Any]], Any
]


@per_op
def sum_function(
    backend: Backend, key: Key, whole: tuple[bool, ...], by: tuple[int, ...], divisor: int = 1
) -> SumFunction | None:
    """Returns the function `(shape, operands, places, totals) -> sums` of a formula's terms.

    There are `shape` terms, with the rows last. The partials by the operands `by` are added, in
    order, to their `places` in the `totals`, which are overwritten: the first partial at a place is
    stored. All are divided by `divisor`, for a mean. Products are plain ones, right where they are
    finite. Returns None for a formula that reads no array of the terms' shape.
    """
    formula = formula_of(key)
    partials = differentiate(formula, len(whole))
    if divisor > 1:
        partials = [
            scaled("mul", Formula("number", 1.0 / divisor), partial) for partial in partials
        ]
    formulas = Rewriting().all([formula, *[partials[k] for k in by]])
    if not _is_large(formulas[0], whole):
        return None
    terms = _terms(backend, formulas, whole)

    def make(by_row: tuple[bool, ...], _: str, *how: Any) -> Kernel:  # rows are of float64
        from .native_source import sum_kernel

        return sum_kernel(formulas[0], formulas[1:], by_row, *how)

    kernels = Kernels(formulas, make)

    def function(
        shape: tuple[int, ...],
        operands: Sequence[Any],
        places: Sequence[Place],
        totals: Sequence[Any],
    ) -> Any:
        sums = backend.empty(shape[-1:])
        if (
            backend is CPU
            and kernels.are_hot(math.prod(shape))
            and _natively(kernels, shape, sums, operands, places, totals)
        ):
            return sums if divisor == 1 else backend.xp.divide(sums, divisor, out=sums)
        own = tuple(range(len(shape) - 1))
        for total, place in places:
            if place.shape != totals[total].shape:
                totals[total][...] = 0.0
        for some, value, shares in terms(shape, operands):
            value.sum(axis=own, out=sums[some])
            begun: set[int] = set()
            for (total, place), share in zip(places, shares, strict=True):
                part = place[..., some]
                if part.shape != value.shape:
                    share = sum_to(backend.xp.broadcast_to(share, value.shape), part.shape)
                if total in begun:
                    part += share
                else:
                    part[...] = share
                begun.add(total)
        return sums if divisor == 1 else backend.xp.divide(sums, divisor, out=sums)

    return function


def _natively(
    kernels: Kernels,
    shape: tuple[int, ...],
    sums: Any,
    operands: Sequence[Any],
    places: Sequence[Place],
    totals: Sequence[Any],
) -> bool:
    """Computes the sums by a kernel, term by term.

    Returns False if that would add up in another order.
    """
    n = shape[-1]
    if len(shape) != 2:
        return False
    latest: dict[int, int] = {}  # where the last place began, in each total
    begins: list[bool] = []
    facts: list[Strided] = []
    for total, place in places:
        here, whole = strided(place, n), strided(totals[total].reshape(-1, n), n)
        if here is None or whole is None:
            return False
        first, is_whole = (here.address - whole.address) // (8 * n), place.shape == shape
        if is_whole and shape[0] > 1 and here.step != 8 * n:
            return False
        begins.append(total not in latest and is_whole)
        if total not in latest:
            after = first + shape[0] if is_whole else first
            facts += [Strided(whole.address, totals[total].size // n), Strided(first, after)]
        elif first > latest[total] or not is_whole:
            return False
        # An element that gets a share of every term must be the only one.
        latest[total] = first if is_whole else -1
    arrays = [sums, *[place for _, place in places]]
    return kernels.run(n, shape[0], arrays, operands, facts, tuple(begins), len(totals))


def _is_large(formula: Formula, whole: tuple[bool, ...]) -> bool:
    return any(whole[k] for k in formula.reads() if type(k) is int)


def _terms(
    backend: Backend, formulas: list[Formula], whole: tuple[bool, ...]
) -> Callable[[tuple[int, ...], Sequence[Any]], Iterator[tuple[slice, Any, list[Any]]]]:
    """Yields the rows of each chunk, the first formula's values, and those of the others.

    The first reads a whole array; another that doesn't gives a number, or broadcasts.
    """
    large = [k for k, formula in enumerate(formulas) if _is_large(formula, whole)]
    small = [k for k in range(len(formulas)) if k not in large]
    of_wholes = unbuffered(backend, [formulas[k] for k in small], len(whole))
    source = RowSource(backend, whole)
    step = source.function([formulas[k] for k in large])
    evaluate_whole = unbuffered(backend, [formulas[k] for k in large], len(whole))
    arrays = len(large) + source.buffers + sum(whole)

    def terms(
        shape: tuple[int, ...], operands: Sequence[Any]
    ) -> Iterator[tuple[slice, Any, list[Any]]]:
        n, width = shape[-1], max(1, math.prod(shape[:-1]))
        rows = (
            LEAST * max(1, max(PIECE, CACHED // arrays) // (width * LEAST)) if backend is CPU else n
        )
        split = [k for k, v in enumerate(operands) if hasattr(v, "shape") and v.shape[-1:] == (n,)]
        buffers = (
            buffers_of(backend, len(large) + source.buffers, (*shape[:-1], min(rows, n)))
            if backend is CPU
            else []
        )
        part = list(operands)
        for start in range(0, n, rows):
            some = slice(start, min(start + rows, n))
            for k in split:
                part[k] = operands[k][..., some]
            if backend is CPU:
                used = [b[..., : some.stop - start] for b in buffers]
                step(*used, *part)
                found = used[: len(large)]
            else:  # where kernels are few and large
                found = evaluate_whole(*part)
            values: list[Any] = [None] * len(formulas)
            for places, given in ((large, found), (small, of_wholes(*part) if small else [])):
                for k, value in zip(places, given, strict=True):
                    values[k] = value
            yield some, values[0], values[1:]

    return terms
