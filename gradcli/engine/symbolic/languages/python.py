"""Closed forms in Python, with its module `math`."""

from __future__ import annotations

import keyword
import re
from typing import Any, ClassVar

from sympy.printing.pycode import PythonCodePrinter

from .printer import Doubles, Function


class Language(Doubles, PythonCodePrinter):  # type: ignore[misc]
    """Python, for numbers and lists of them."""

    whole, choice, gap = "{}", "({1} if {0} else {2})", "\n\n"
    parts = ("{}.real", "{}.imag")
    constants: ClassVar = {
        "NaN": "math.nan",
        "Infinity": "math.inf",
        "NegativeInfinity": "-math.inf",
    }
    words = frozenset(keyword.kwlist)

    def function(self, function: Function) -> str:
        names = ", ".join(name for name, _ in function.parameters)
        steps = "".join(f"    {name} = {value}\n" for name, value in function.steps)
        return (
            f"def {function.name}({names}):\n    # {function.title}\n{steps}    return "
            f"{self.listed(function.value)}\n"
        )

    def file(self, body: str) -> str:
        return f"import math\n\n\n{body}" if re.search(r"\bmath\.", body) else body

    def _root(self, base: Any) -> str:
        return f"math.sqrt({self._print(base)})"

    def _print_re(self, form: Any) -> str:
        return f"({self._print(form.args[0])}).real"

    def _print_im(self, form: Any) -> str:
        return f"({self._print(form.args[0])}).imag"
