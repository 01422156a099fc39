"""Closed forms in Julia, with SpecialFunctions.jl."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.julia import JuliaCodePrinter

from .printer import Doubles, Function, Shape

SPECIAL = (
    r"\b(erfc?|erfinv|gamma|loggamma|digamma|trigamma|polygamma|bessel[ijky]|beta|beta_inc|zeta)\("
)

KEYWORDS = (
    "baremodule begin break catch const continue do else elseif end export false finally for "
    "function global if import in isa "
    "let local macro module quote return struct true try using while where"
)


class Language(Doubles, JuliaCodePrinter):  # type: ignore[misc]
    """Julia, for numbers and arrays. SymPy writes `x .* y` and `x .^ 2`, for arrays: calls with a
    dot, `f.(x)`, do that."""

    power, choice = "^", "({0} ? {1} : {2})"
    parts = ("real({})", "imag({})")
    constants: ClassVar = {"Exp1": "ℯ"}  # SymPy's `e` is no name of Julia's
    words = frozenset(KEYWORDS.split())
    settings: ClassVar = {
        "user_functions": {
            "arg": "angle",
            "atan2": "atan",
            "loggamma": "loggamma",
            "uppergamma": "gamma",
            "zeta": "zeta",
        },
    }

    def element(self, name: str, index: Shape, shape: Shape) -> str:
        return f"{name}[{', '.join(str(i + 1) for i in index)}]"

    def function(self, function: Function) -> str:
        value = function.value
        if np.ndim(value) < 2:
            text = self.listed(value)
        else:  # Julia counts along columns first
            text = (
                f"reshape([{', '.join(value.ravel(order='F'))}], "
                f"{', '.join(map(str, value.shape))})"
            )
        names = ", ".join(name for name, _ in function.parameters)
        steps = "".join(f"    {name} = {step}\n" for name, step in function.steps)
        return (
            f"# {function.title}\nfunction {function.name}({names})\n{steps}    return "
            f"{text}\nend\n"
        )

    def file(self, body: str) -> str:
        return f"using SpecialFunctions\n\n{body}" if re.search(SPECIAL, body) else body

    _print_Function = CodePrinter._print_Function

    def _print_Max(self, form: Any) -> str:
        return f"max({self.stringify(form.args, ', ')})"

    def _print_Min(self, form: Any) -> str:
        return f"min({self.stringify(form.args, ', ')})"

    def _print_sign(self, form: Any) -> str:
        return f"sign({self._print(form.args[0])})"

    def _print_polygamma(self, form: Any) -> str:
        order, x = form.args  # an order of a number is an integer
        return f"polygamma({order if order.is_Integer else self._print(order)}, {self._print(x)})"

    def _print_lowergamma(self, form: Any) -> str:
        a, x = map(self._print, form.args)
        return f"(gamma({a}) - gamma({a}, {x}))"

    def _print_betainc_regularized(self, form: Any) -> str:
        a, b, low, high = form.args
        if low != 0:
            return str(self._print_not_supported(form))
        return f"beta_inc({self._print(a)}, {self._print(b)}, {self._print(high)})[1]"
