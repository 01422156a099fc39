"""What is wrong with all elements of a gradient at once: the mistakes that people make when they
write one by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ....engine.backends.backend import CPU

NOTABLE = (2.0, 0.5)  # factors that are named even where there is but one element
WHOLE = 1e-6  # how far a quotient may be from a whole number that it is taken for


def mistake(
    ours: Any, theirs: Any, sizes: Iterable[int], is_close: Callable[[Any, Any], bool]
) -> str:
    """The mistake that takes the gradient `ours` to `theirs`, arrays of one shape; "" where none of
    those known does.

    `sizes` are the numbers of elements over which a mean can have been taken for a sum: of the
    output and along its axes. `is_close(a, b)` says whether an array is as close to `ours` as a
    right gradient is.
    """
    xp = CPU.xp
    if not (xp.isfinite(ours).all() and xp.isfinite(theirs).all() and ours.any() and theirs.any()):
        return ""
    if is_close(-theirs, ours):
        return "all signs are turned: it is the gradient of the negative"
    if ours.ndim == 2 and min(ours.shape) > 1:
        columns_first = theirs.ravel().reshape(ours.shape[::-1]).T
        if is_close(columns_first, ours):
            return "rows and columns are exchanged"
    flat, given = ours.ravel(), theirs.ravel()
    if len(flat) > 2 and (
        is_close(_filled(given[1:], ours, 0), ours) or is_close(_filled(given[:-1], ours, 1), ours)
    ):
        return "all elements are one place off: do indices begin at 1 there? Here they begin at 0"
    factor = float(xp.real(xp.vdot(flat, given)) / xp.real(xp.vdot(flat, flat)))
    if factor == 0 or not is_close(theirs / factor, ours):
        return ""
    if xp.any(2 * abs(given - flat) < abs(factor - 1) * abs(flat)):  # not all
        return ""
    for n in sorted({size for size in sizes if size > 1}):
        if abs(factor * n - 1) < WHOLE:
            return (
                f"all are 1/{n} of what they should be, and {n} elements are added up: a mean is "
                "taken for a sum"
            )
        if abs(factor / n - 1) < WHOLE:
            return (
                f"all are {n} times what they should be, and {n} elements are averaged: a sum is "
                "taken for a mean"
            )
    if CPU.xp.count_nonzero(flat) > 1 or any(abs(factor / known - 1) < WHOLE for known in NOTABLE):
        return f"all are {factor:.10g} times what they should be"
    return ""


def _filled(part: Any, ours: Any, at: int) -> Any:
    """All elements but one as given, the one at the end (`at` = 0) or at the beginning as in
    `ours`."""
    flat = ours.ravel().astype(part.dtype if part.dtype.kind == "c" else ours.dtype)
    if at:
        flat[1:] = part
    else:
        flat[:-1] = part
    return flat.reshape(ours.shape)
