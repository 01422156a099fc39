"""SymPy's hyperbolic functions, without its search for when they are real.

SymPy wants to know of tanh(f) whether it is real, to build exp(tanh(f)**2). Where it can't prove
that f is, as of f = log(1.5 + sin(x)), it divides the imaginary part of f by pi as polynomials, in
as many unknowns as f has functions: that takes minutes or doesn't end. These say that they are
real, cosh that it is positive and tanh that it is finite, where f is real, and else that they don't
know.
"""

from __future__ import annotations

from typing import Any

import sympy


def _is_real(function: Any) -> bool | None:
    return True if function.args[0].is_real else None


class sinh(sympy.sinh):  # type: ignore[misc]  # noqa: N801
    _eval_is_real = _is_real

    def fdiff(self, argindex: int = 1) -> Any:
        return cosh(self.args[0])


class cosh(sympy.cosh):  # type: ignore[misc]  # noqa: N801
    _eval_is_real = _eval_is_positive = _eval_is_nonnegative = _is_real

    def fdiff(self, argindex: int = 1) -> Any:
        return sinh(self.args[0])


class tanh(sympy.tanh):  # type: ignore[misc]  # noqa: N801
    _eval_is_real = _eval_is_finite = _is_real

    def fdiff(self, argindex: int = 1) -> Any:
        return 1 - self**2
