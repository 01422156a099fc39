"""Closed forms in Python, with NumPy and SciPy's special functions."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from sympy.printing.numpy import SciPyPrinter

from .printer import Doubles, Function
from .python import Language as Python

MODULES = {"numpy": "np", "scipy.special": "special"}


class Language(Doubles, SciPyPrinter):  # type: ignore[misc]
    """NumPy, for numbers and arrays; arrays of one shape may stand in for variables that are
    numbers."""

    whole, choice, gap = Python.whole, "np.where({0}, {1}, {2})", Python.gap
    parts = ("np.real({})", "np.imag({})")
    words = Python.words | {"np", "special"}
    _kc = SciPyPrinter._kc | {"Pi": "numpy.pi"}  # SymPy takes it from scipy.constants
    settings: ClassVar = {
        "user_functions": {
            "Abs": "np.abs",
            "conjugate": "np.conj",
            "erfinv": "special.erfinv",
            "zeta": "special.zeta",
        }
    }

    # SymPy's `functools.reduce(numpy.maximum, [x, y])` and `numpy.logical_and.reduce((numpy.less(x,
    # 1), …))` are hard to read.
    folded: ClassVar = {
        "Max": "np.maximum({}, {})",
        "Min": "np.minimum({}, {})",
        "And": "np.logical_and({}, {})",
        "Or": "np.logical_or({}, {})",
    }

    _print_sign = SciPyPrinter._print_sign

    def function(self, function: Function) -> str:
        value = self.listed(function.value)
        value = f"np.array({value})" if isinstance(function.value, np.ndarray) else value
        return Python.function(self, function._replace(value=value))

    def file(self, body: str) -> str:
        special = "from scipy import special\n" if re.search(r"\bspecial\.", body) else ""
        return f"import numpy as np\n{special}\n\n{body}"

    def _module_format(self, name: str, register: bool = True) -> str:
        """The names of modules that people give them."""
        module, _, function = name.rpartition(".")
        return f"{MODULES.get(module, module)}.{function}"

    def _root(self, base: Any) -> str:
        return f"np.sqrt({self._print(base)})"

    # SymPy's are differences and products without parentheses.

    def _print_betainc_regularized(self, form: Any) -> str:
        a, b, low, high = form.args
        difference = f"special.betainc({self._print(a)}, {self._print(b)}, {self._print(high)})"
        if low == 0:
            return difference
        return (
            f"({difference} - special.betainc({self._print(a)}, {self._print(b)}, "
            f"{self._print(low)}))"
        )

    def _print_lowergamma(self, form: Any) -> str:
        return f"({super()._print_lowergamma(form)})"

    def _print_uppergamma(self, form: Any) -> str:
        return f"({super()._print_uppergamma(form)})"
