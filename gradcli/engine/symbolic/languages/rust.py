"""Closed forms in Rust."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.precedence import PRECEDENCE, precedence
from sympy.printing.rust import RustCodePrinter, reserved_words

from .printer import Function, Reals, Shape


class Language(Reals, RustCodePrinter):  # type: ignore[misc]
    """Rust, for f64 and arrays of them."""

    choice = "(if {0} {{ {1} }} else {{ {2} }})"
    constants: ClassVar = {
        "Pi": "std::f64::consts::PI",
        "Exp1": "std::f64::consts::E",
        "Infinity": "f64::INFINITY",
        "NegativeInfinity": "-f64::INFINITY",
        "NaN": "f64::NAN",
    }
    folded: ClassVar = {"Max": "f64::max({}, {})", "Min": "f64::min({}, {})"}
    words = frozenset([*reserved_words, "f64", "main", "std", "union", "_"])
    settings: ClassVar = {"user_functions": {"floor": "floor", "ceiling": "ceil"}}

    def function(self, function: Function) -> str:
        listed = ", ".join(
            f"{name}: {'&' if shape else ''}{_kind(shape)}" for name, shape in function.parameters
        )
        steps = "".join(f"    let {name} = {value};\n" for name, value in function.steps)
        head = (
            f"/// {function.title}\npub fn {function.name}({listed}) -> "
            f"{_kind(np.shape(function.value))} {{"
        )
        return f"{head}\n{steps}    {self.listed(function.value)}\n}}\n"

    def _print_Function(self, form: Any) -> str:
        if type(form).__name__ in self.known_functions:
            return str(super()._print_Function(form))
        return str(CodePrinter._print_Function(self, form))

    def _print_caller_var(self, form: Any) -> str:
        """Writes the receiver of a method call. Rust wants the type of a number there, and binds
        methods tighter than signs."""
        text = _typed(str(self._print(form)))
        return text if precedence(form) >= PRECEDENCE["Func"] else f"({text})"

    def _choice(self, condition: Any, value: Any, otherwise: str) -> str:
        return self.choice.format(
            self._print(condition), _typed(str(self._print(value))), otherwise
        )

    def _root(self, base: Any) -> str:
        return f"{self._print_caller_var(base)}.sqrt()"

    def _power(self, base: Any, exponent: Any) -> str:
        power = f"powi({exponent})" if exponent.is_Integer else f"powf({self._print(exponent)})"
        return f"{self._print_caller_var(base)}.{power}"


def _typed(text: str) -> str:
    """A number with its type."""
    return f"{text}_f64" if re.fullmatch(r"[-+\d.e/]+", text) else text


def _kind(shape: Shape) -> str:
    return f"[{_kind(shape[1:])}; {shape[0]}]" if shape else "f64"
