"""`vmap` over very many rows in blocks, whose values stay in the processor's cache.

Rows don't depend on each other, so running them in blocks gives the same results. Side effects
would differ: a block would record, print and update for its own rows only. Where the first block
has one, it is undone, and all rows run together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...diagnostics import GradcliError
from ..backends.backend import Backend, count, dtype_name, shape_of
from ..backends.transposing import put
from ..trace.changes import reported, take_back, take_back_reports
from ..trace.run import Run
from ..values.boxes import UNBOXED, level_of
from ..values.kinds import is_number, leaves, map_structure, read
from ..values.lanes import Group, Lanes

ELEMENTS = 2**20  # of the arguments in a block, at most
# Rows in a block: fewer would cost more in calls than they save in memory traffic, and more would
# save nothing.
LEAST, MOST = 2**12, 2**16

Pairs = list[tuple[Any, int | None]]  # arguments, each with the axis of its rows; None: shared


def in_blocks(run: Run, n: int, arguments: Pairs, call: Callable[[Group, list[Any]], Any]) -> Any:
    """The results of `call(group, arguments)` for `n` rows, stacked; None where the rows should run
    together."""
    size = _rows_in_a_block(n, arguments)
    plain = run.group is None and run.settings.max_steps is None and not run.trace.keeps_all
    if (
        n < 2 * size
        or not plain
        or any(level_of(read(v)) != UNBOXED for a, _ in arguments for v in leaves(a))
    ):
        return None
    so_far = reported(run)
    divisions = len(run.changes)
    run.changes.append({})
    stacked: Any = None
    for start in range(0, n, size):
        group = Group(min(size, n - start))
        try:
            value = call(
                group, [_part(a, axis, slice(start, start + group.size)) for a, axis in arguments]
            )
        except GradcliError:  # running all rows together finds the number of the failing row
            break
        finally:
            run.group = None
        parts = [read(v) for v in leaves(value)]
        if (
            reported(run) != so_far
            or run.changes[-1]
            or not all(level_of(v) == UNBOXED and (is_number(v) or type(v) is Lanes) for v in parts)
        ):
            break
        if stacked is None:
            stacked, structure = [_empty(run.backend, n, v) for v in parts], value
        if not _fits(stacked, parts):
            break
        for whole, part in zip(stacked, parts, strict=True):
            put(
                whole[start : start + group.size],
                part.rows_first() if type(part) is Lanes else part,
            )
    else:
        run.changes.pop()
        return map_structure(partial(_taken, iter(stacked)), structure)
    take_back(run, divisions)
    take_back_reports(run, so_far)
    return None


def _rows_in_a_block(n: int, arguments: Pairs) -> int:
    """The number of rows in a block, so that its arguments have about `ELEMENTS` elements."""
    elements = sum(
        count(shape_of(read(v))) for a, axis in arguments if axis is not None for v in leaves(a)
    )
    return min(MOST, LEAST * max(1, ELEMENTS * n // max(elements, 1) // LEAST))


def _part(argument: Any, axis: int | None, rows: slice) -> Any:
    """Some rows of an argument; a shared one as it is."""
    if axis is None:
        return argument
    return map_structure(
        lambda v: read(v)[(*[slice(None)] * (axis % len(shape_of(read(v)))), rows)], argument
    )


def _empty(backend: Backend, n: int, part: Any) -> Any:
    """An array for the values of `n` rows like these."""
    return backend.xp.empty((n, *shape_of(part)), dtype_name(part))


def _fits(stacked: list[Any], parts: list[Any]) -> bool:
    """Whether the values of a block have the shapes and dtypes of the first block's."""
    kinds = [(shape_of(part), dtype_name(part)) for part in parts]
    return [(whole.shape[1:], dtype_name(whole)) for whole in stacked] == kinds


def _taken(values: Iterator[Any], place: Any) -> Any:
    """The next of the values, whatever the structure held at this place."""
    return next(values)
