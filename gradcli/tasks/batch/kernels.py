"""Machine code that computes rows: a kernel for columns of each kind, where the program has one.

What it computes follows from the plan alone, and it is compiled before the first row: so a row's
bits depend neither on how many rows there are, nor on where it stands, nor on who computes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...engine.backends.selection import backend_for
from ...engine.backends.tiers import policy
from ...engine.row_runs import Answered
from ...lang import program
from ..evaluation import Options
from ..regions import reason_of
from .answers import Place, columns
from .plan import Plan

if TYPE_CHECKING:
    from ...engine.row_calls import RowsCall

Kind = tuple[tuple[str, tuple[int, ...], str], ...]


class Ways(NamedTuple):
    """How rows were computed.

    compiled      how many of them by a kernel
    stepped_back  how many by the interpreter, because the kernel stepped back
    interpreted   how many by the interpreter, because there is no kernel
    reason        why there is none, with the line that isn't compiled; "" where there is one
    """

    compiled: int = 0
    stepped_back: int = 0
    interpreted: int = 0
    reason: str = ""

    def beside(self, more: Ways) -> Ways:
        """What holds of these rows and of others."""
        return Ways(
            self.compiled + more.compiled,
            self.stepped_back + more.stepped_back,
            self.interpreted + more.interpreted,
            self.reason or more.reason,
        )


class Kernels:
    """The kernels of a plan."""

    def __init__(self, plan: Plan, node: program.Program) -> None:
        self._plan, self._node = plan, node
        self._made: dict[Kind, RowsCall | str] = {}
        self._why_none = _why_none(plan.options)

    def has(self, given: Mapping[str, Any]) -> bool:
        """Whether there is one for these columns, which have the rows last."""
        return type(self._of(given)) is not str

    def ways(self, given: Mapping[str, Any], size: int, others: int) -> Ways:
        """How `size` rows of these columns were computed, of which the interpreter ran `others`."""
        kernel = self._of(given)
        if isinstance(kernel, str):
            return Ways(interpreted=size, reason=kernel)
        return Ways(size - others, others)

    def compute(self, given: Mapping[str, Any], size: int) -> tuple[Iterator[Answered], Any]:
        """The answers for rows of these columns, and the numbers of those that the interpreter must
        run."""
        kernel = self._of(given)
        found = None if isinstance(kernel, str) else kernel.rows(given, size)
        if isinstance(kernel, str) or found is None:
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

    def _of(self, given: Mapping[str, Any]) -> RowsCall | str:
        """The kernel; where there is none, why not."""
        if self._why_none:
            return self._why_none
        kind = tuple([(name, v.shape[:-1], v.dtype.kind) for name, v in given.items()])
        if kind not in self._made:
            self._made[kind] = self._compiled(given)
        return self._made[kind]

    def _compiled(self, given: Mapping[str, Any]) -> RowsCall | str:
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
                options.max_memory,
                backend_for(options.device),
                options.dtype,
                options.seed,
            )
        except NotCompiled as why:
            return reason_of(why.reason, why.span, self._node)
        except NoRule as why:
            return str(why)


def _why_none(options: Options) -> str:
    """Why options leave all rows to the interpreter; "" where they don't."""
    if not policy().compiles:
        return "machine code is switched off"
    return "" if options.max_steps is None else "the interpreter counts the steps"
