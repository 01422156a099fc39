"""Jacobians in forward mode: tangents that go along with calls of a function, which keep nothing.

A call carries the tangents of many elements at once, as rows (`lanes.py`), while what the function computes is shared by all
of them; of few elements, and where a rule of the program's may do something else for each, one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ..backends.backend import count, dtype_name, is_complex, is_inexact, shape_of
from ..jacobian.jacobians import turned, unit
from ..jacobian.seeds import TOGETHER
from ..lanes.mapping import on_rows, opened
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.lanes import Lanes

CONCATENATE, FOLD, STACK = OPS["concatenate"], OPS["fold_rows"], OPS["stack"]
FEW = 2  # elements

Move = Callable[[list[Any]], list[Any]]  # how the numbers of the value move along tangents of the arguments' numbers


def columns(run: Run, move: Move, numbers: list[Any], site: Site) -> list[list[Any]]:
    """By each of the arguments' numbers, how each number of the value moves with it: along a last axis, with each of its
    elements. Nothing for one that isn't differentiable, or empty."""
    found: list[list[Any]] = []
    for j, source in enumerate(numbers):
        like = primal(source)
        n = count(shape_of(like)) if is_inexact(like) else 0

        def along(seed: Any, j: int = j) -> list[Any]:
            return move([seed if i == j else None for i in range(len(numbers))])

        if shape_of(like) and n > FEW and not run.rules and not is_complex(like):
            step = max(TOGETHER // n, 1)
            parts = [_together(run, along, like, first, min(first + step, n), site) for first in range(0, n, step)]
            op = CONCATENATE
        else:
            parts = [_alone(run, along, like, k, site) for k in range(n)]
            op = STACK
        if len(parts) > 1 or (parts and op is STACK and shape_of(like)):
            found.append([apply(run, site.derived(op), row, {"axis": -1}) for row in zip(*parts, strict=True)])
        else:
            found.append(parts[0] if parts else [])
    return found


def _alone(run: Run, along: Callable[[Any], list[Any]], like: Any, k: int, site: Site) -> list[Any]:
    """One element's column; of a complex one by two calls, along 1 and along i."""
    seed = unit(run, like, k)
    column = along(seed)
    return [turned(run, site, *pair) for pair in zip(column, along(seed * 1j), strict=True)] if is_complex(like) else column


def _together(run: Run, along: Callable[[Any], list[Any]], like: Any, first: int, last: int, site: Site) -> list[Any]:
    """The columns of the elements from `first` up to `last`, each a row."""
    xp, shape, rows = run.backend.xp, shape_of(like), last - first
    ones = xp.zeros((rows, count(shape)), dtype_name(like))
    ones[xp.arange(rows), xp.arange(first, last)] = 1.0
    seed = ones.reshape(rows, *shape).transpose(*range(1, len(shape) + 1), 0)  # not in memory, where rows stay together
    outside, group = run.group, opened(run, rows)
    seed = Lanes(seed if outside is None else xp.tile(seed, outside.size), group)
    column = on_rows(run, group, lambda: along(seed), site)
    return [apply(run, site.derived(FOLD), (v,), {"axis": len(shape_of(primal(v))), "group": group}) for v in column]
