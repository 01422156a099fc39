"""Limits of closed forms: how large they may grow, and what is worked out exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from ...ops.op import Op

MAX_FORM, MAX_TOTAL = 5_000, 10_000  # nodes in one form, and in all elements of a value
MAX_WORK = 100_000  # nodes in all values on the way
MAX_NUMBER = 24  # nodes, 64 bits each, of what has no symbol, and operations that it was made by
MAX_POWER = 1_000  # exponents that are worked out, and arguments of functions such as gamma


class Budget:
    """How much the forms of a run may take: `limit` nodes each, and MAX_WORK nodes together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._sizes: dict[Any, int] = {}
        self._work = 0

    def size(self, form: Any) -> int:
        """How many nodes a form has, written out."""
        known = self._sizes.get(form)
        if known is None:
            digits = (
                max(form.p.bit_length(), form.q.bit_length()) // 64
                if isinstance(form, sympy.Rational)
                else 0
            )
            known = self._sizes[form] = 1 + digits + sum(map(self.size, form.args))
        return known

    def allows(self, form: Any) -> bool:
        """Counts the form of one more value, and returns whether it and all of them are small
        enough."""
        parts = form.flat if isinstance(form, np.ndarray) else form
        sizes = [
            self.size(part)
            for part in (parts if isinstance(form, np.ndarray | list) else [form])
            if isinstance(part, sympy.Basic)
        ]
        self._work += sum(sizes)
        return (
            max(sizes, default=0) <= self.limit
            and sum(sizes) <= max(self.limit, MAX_TOTAL)
            and self._work <= MAX_WORK
        )


def affordable(op: Op, operands: list[Any]) -> bool:
    """Whether an operation on exact numbers, or a power, is worked out: not 2**1000000, nor the
    digits of gamma(100000)."""
    if op.name == "pow":
        bases, exponents = (np.asarray(o, dtype=object).flat for o in operands)
        large = any(
            e.is_number and abs(e) > MAX_POWER for e in exponents if isinstance(e, sympy.Expr)
        )
        return not large or all(isinstance(b, sympy.Symbol) for b in bases)
    if op.category != "special":
        return True
    flat = [v for operand in operands for v in np.asarray(operand, dtype=object).flat]
    return not any(
        isinstance(v, sympy.Rational) and (abs(v) > MAX_POWER or v.q > MAX_POWER) for v in flat
    )
