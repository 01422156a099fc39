"""Jacobians in forward mode: calls of a function carry tangents along, and record nothing.

One call carries the tangents of many elements, each as a row (`lanes/`), and computes the primal
once for all of them. Where there are few elements, or where a rule of the program may treat each of
them differently, they are carried one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ..ad.targets import unit
from ..backends.backend import count, dtype_name, is_complex, is_inexact, shape_of
from ..jacobian.jacobians import gradient_by_complex
from ..jacobian.seeds import TOGETHER
from ..lanes.group_calls import on_rows
from ..lanes.mapping import open_rows
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.lanes import Lanes

CONCATENATE, FOLD, STACK = OPS["concatenate"], OPS["fold_rows"], OPS["stack"]
FEW = 2  # elements

# Maps tangents of the arguments' numbers to tangents of the value's numbers.
Move = Callable[[list[Any]], list[Any]]


def columns(run: Run, move: Move, numbers: list[Any], site: Site) -> list[list[Any]]:
    """Returns the columns of the Jacobian, by argument and by number of the value.

    `numbers` are the numbers among the arguments. Each column has the derivatives by a number's
    elements along its last axis. The list of a number that is empty or not differentiable is empty.
    """
    found: list[list[Any]] = []
    for j, source in enumerate(numbers):
        like = primal(source)
        n = count(shape_of(like)) if is_inexact(like) else 0

        def along(seed: Any, j: int = j) -> list[Any]:
            return move([seed if i == j else None for i in range(len(numbers))])

        if shape_of(like) and n > FEW and not run.rules and not is_complex(like):
            step = max(TOGETHER // n, 1)
            parts = [
                _together(run, along, like, first, min(first + step, n), site)
                for first in range(0, n, step)
            ]
            op = CONCATENATE
        else:
            parts = [_alone(run, along, like, k, site) for k in range(n)]
            op = STACK
        if len(parts) > 1 or (parts and op is STACK and shape_of(like)):
            found.append(
                [
                    apply(run, site.in_derivative(op), row, {"axis": -1})
                    for row in zip(*parts, strict=True)
                ]
            )
        else:
            found.append(parts[0] if parts else [])
    return found


def _alone(run: Run, along: Callable[[Any], list[Any]], like: Any, k: int, site: Site) -> list[Any]:
    """Returns the column of one element; a complex one takes two calls, along 1 and along i."""
    seed = unit(run, like, k)
    column = along(seed)
    return (
        [
            gradient_by_complex(run, site, *pair)
            for pair in zip(column, along(seed * 1j), strict=True)
        ]
        if is_complex(like)
        else column
    )


def _together(
    run: Run, along: Callable[[Any], list[Any]], like: Any, first: int, last: int, site: Site
) -> list[Any]:
    """Returns the columns of the elements from `first` up to `last`, computed by one call with a
    row for each.
    """
    xp, shape, rows = run.backend.xp, shape_of(like), last - first
    ones = xp.zeros((rows, count(shape)), dtype_name(like))
    ones[xp.arange(rows), xp.arange(first, last)] = 1.0
    # A view: in memory each row stays contiguous.
    seed = ones.reshape(rows, *shape).transpose(*range(1, len(shape) + 1), 0)
    outside, group = run.group, open_rows(run, rows)
    seed = Lanes(seed if outside is None else xp.tile(seed, outside.size), group)
    column = on_rows(run, group, lambda: along(seed), site)
    return [
        apply(
            run, site.in_derivative(FOLD), (v,), {"axis": len(shape_of(primal(v))), "group": group}
        )
        for v in column
    ]
