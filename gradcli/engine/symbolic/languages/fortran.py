"""Closed forms in Fortran 2008."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sympy.printing.fortran import FCodePrinter

from .printer import Function, Reals, Shape

KEYWORDS = (
    "contains do else end function if implicit in integer intent intrinsic module none only out "
    "pure real result use"
)


class Language(Reals, FCodePrinter):  # type: ignore[misc]
    """A module of pure functions of doubles and arrays of them."""

    whole, choice = "{}.0d0", "merge({1}, {2}, {0})"
    longest, unicode, folds = 60, False, True  # 63 letters, and what sets names apart
    constants: ClassVar = {  # SymPy's infinity is the largest finite number
        "Infinity": "ieee_value(0.0d0, ieee_positive_inf)",
        "NegativeInfinity": "-ieee_value(0.0d0, ieee_positive_inf)",
        "NaN": "ieee_value(0.0d0, ieee_quiet_nan)",
    }
    words = frozenset(
        f"closed_forms dp ieee_arithmetic iso_fortran_env real64 value {KEYWORDS}".split()
    )
    settings: ClassVar = {
        "source_format": "free",
        "standard": 2008,
        "name_mangling": False,
        "user_functions": {
            "acosh": "acosh",
            "asinh": "asinh",
            "atanh": "atanh",
            "erfc": "erfc",
            "gamma": "gamma",
            "loggamma": "log_gamma",
        },
    }

    _relationals = FCodePrinter._relationals

    def decimal(self, x: float) -> str:
        return repr(x).replace("e", "d") if "e" in repr(x) else f"{x!r}d0"

    def element(self, name: str, index: Shape, shape: Shape) -> str:
        return f"{name}({', '.join(str(i + 1) for i in index)})"

    def function(self, function: Function) -> str:
        value, shape = function.value, np.shape(function.value)
        results = (
            [(self.element("value", i, shape), value[i]) for i in np.ndindex(*shape)]
            if shape
            else [("value", value)]
        )
        lines = [
            f"! {function.title}",
            (
                "pure function "
                f"{function.name}({', '.join(name for name, _ in function.parameters)}) "
                "result(value)"
            ),
            *(
                f"  real(dp), intent(in) :: {name}{_dimensions(sizes)}"
                for name, sizes in function.parameters
            ),
            f"  real(dp) :: value{_dimensions(shape)}",
            *(f"  real(dp) :: {name}" for name, _ in function.steps),
            *(f"  {name} = {step}" for name, step in [*function.steps, *results]),
            f"end function {function.name}",
        ]
        return "".join(f"  {line}\n" for line in lines)

    def file(self, body: str) -> str:
        uses = "  use, intrinsic :: iso_fortran_env, only: dp => real64\n"
        if "ieee_" in body:
            uses += (
                "  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, "
                "ieee_positive_inf\n"
            )
        text = (
            f"module closed_forms\n{uses}  implicit none\ncontains\n\n{body}\nend module "
            "closed_forms\n"
        )
        return "\n".join(part for line in text.split("\n") for part in self._wrapped(line))

    def _wrapped(self, line: str) -> list[str]:
        """A line in as many as compilers take. Comments aren't broken: SymPy takes them for code
        where they are indented."""
        return [line] if line.lstrip().startswith("!") else list(self._wrap_fortran([line]))

    def _print_Function(self, form: Any) -> str:
        # SymPy's rounds what stands in it
        return str(super(FCodePrinter, self)._print_Function(form))

    # `floor` and `ceiling` give ints of 32 bits.

    def _print_floor(self, form: Any) -> str:
        x = self._print(form.args[0])
        return f"(aint({x}) - merge(1.0d0, 0.0d0, {x} < aint({x})))"

    def _print_ceiling(self, form: Any) -> str:
        x = self._print(form.args[0])
        return f"(aint({x}) + merge(1.0d0, 0.0d0, {x} > aint({x})))"


def _dimensions(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})" if shape else ""
