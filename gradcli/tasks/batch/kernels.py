"""Machine code that computes rows: a kernel for columns of each kind, where the program has one.

What it computes follows from the plan alone, and it is compiled before the first row: so a row's
bits depend neither on how many rows there are, nor on where it stands, nor on who computes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.backends.tiers import policy
from ...engine.row_runs import Answered
from ...lang import program
from .answers import Place, columns
from .plan import Plan

if TYPE_CHECKING:
    from ...engine.row_calls import RowsCall

Kind = tuple[tuple[str, tuple[int, ...], str], ...]


class Kernels:
    """The kernels of a plan."""

    def __init__(self, plan: Plan, node: program.Program) -> None:
        self._plan, self._node = plan, node
        self._made: dict[Kind, RowsCall | None] = {}
        self._are_there = (
            policy().compiles and plan.options.is_plain and plan.options.unconnected == "none"
        )

    def has(self, given: Mapping[str, Any]) -> bool:
        """Whether there is one for these columns, which have the rows last."""
        return self._of(given) is not None

    def compute(self, given: Mapping[str, Any], size: int) -> tuple[Iterator[Answered], Any]:
        """The answers for rows of these columns, and the numbers of those that the interpreter must
        run."""
        kernel = self._of(given)
        found = None if kernel is None else kernel.rows(given, size)
        if kernel is None or found is None:
            return iter(()), np.arange(size)
        parts, others = found
        answered = [
            Answered(
                part.rows,
                None,
                part.group,
                columns(Place(np, part.group), part.outputs, part.gradients, kernel.summed),
            )
            for part in parts
        ]
        return iter(answered), others

    def _of(self, given: Mapping[str, Any]) -> RowsCall | None:
        if not self._are_there:
            return None
        kind = tuple([(name, v.shape[:-1], v.dtype.kind) for name, v in given.items()])
        if kind not in self._made:
            self._made[kind] = self._compiled(given)
        return self._made[kind]

    def _compiled(self, given: Mapping[str, Any]) -> RowsCall | None:
        from ...engine.row_calls import NoRule, NotCompiled, RowsCall  # the compiler

        plan, options = self._plan, self._plan.options
        try:
            return RowsCall(
                self._node,
                plan.shared,
                given,
                options.of,
                options.wrt,
                options.grad,
                options.mode == "forward",
            )
        except (NotCompiled, NoRule):
            return None
