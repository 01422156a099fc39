"""A whole expression as one operation: the common part of `fused_rows.py` and
`fused_arrays.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula, Key, key_of
from ...ops.op import Op
from ..formulas.compound import EXPRESSION, compound
from ..formulas.differentiation import substitute
from ..formulas.functions import scalar_function
from ..formulas.reading import forward_formula
from ..trace.run import Run
from ..trace.tape import Site
from .plan import Plan


class FusedOperation:
    """The compound op of an expression's plan, made when it is first needed."""

    __slots__ = ("_compares", "_is_none", "_key", "_plan", "_site")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._compares = plan.ops[-1].site.op.integers == "bool"
        self._is_none = False  # whether there is no such op
        self._site: Site | None = None
        self._key: Key = ()

    def _known(self, run: Run, shape: tuple[int, ...]) -> Site | None:
        """The site of the op; None where there is no op that gives values of this shape. Sets the
        key of its formula."""
        if self._site is None and not self._is_none:
            formula = _formula(self._plan, run.real)
            # An operand that the formula doesn't read would be missing from the shape.
            if formula is None or not formula.reads() >= set(range(len(self._plan.leaves))):
                self._is_none = True
                return None
            self._key = key_of(formula)
            self._site = Site(self._op(formula), self._plan.ops[-1].site.span)
        # A derivative of an inlined call is one by numbers, not by the elements of a vector.
        # And a comparison hides whether the derivatives that it compares are finite, which decides
        # how they are computed.
        if (
            (shape or self._compares)
            and self._site is not None
            and self._site.op.category == "derivatives"
        ):
            return None
        return self._site

    def _op(self, formula: Formula) -> Op:
        return compound(EXPRESSION, formula, len(self._plan.leaves))


def _formula(plan: Plan, real: Callable[[float], Any]) -> Formula | None:
    """The plan as one formula, with its numbers rounded by `real`; None where an operation is on
    int constants only, whose results are exact."""
    operands = [Formula("operand", k) for k in range(len(plan.leaves))]
    results: list[Formula] = []
    for op in plan.ops:
        arguments = [
            Formula("number", value)
            if kind == "number"
            else (operands if kind == "leaf" else results)[value]
            for kind, value in op.operands
        ]
        entry = op.site.op
        if all(a.kind == "number" for a in arguments):
            numbers = [a.value for a in arguments]
            if entry.integers == "bool" or (
                entry.integers == "keep" and entry.name != "neg" and float not in map(type, numbers)
            ):
                return None
            value = (
                -numbers[0]
                if entry.name == "neg"
                else float(real(scalar_function(entry)(*map(float, map(real, numbers)))))
            )
            results.append(Formula("number", value))
        elif OPS.get(entry.name) is entry:
            results.append(Formula(entry.name, None, tuple(arguments)))
        else:  # an inlined call
            results.append(substitute(forward_formula(entry), dict(enumerate(arguments))))
    return results[-1] if results[-1].arguments else None
