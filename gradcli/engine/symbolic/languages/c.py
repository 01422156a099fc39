"""Closed forms in C99."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sympy.printing.c import C99CodePrinter

from .printer import Function, Reals, Shape

# What math.h declares, with GNU's and POSIX's additions; all but the macros have versions that end
# in f and in l.
FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 "
    "exp2 expm1 fabs fdim finite "
    "floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log "
    "log10 log1p log2 logb lrint "
    "lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb "
    "scalbln scalbn significand sin "
    "sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn"
)
MACROS = (
    "fpclassify isfinite isgreater isinf isless isnan isnormal isunordered signbit signgam "
    "HUGE_VAL INFINITY NAN"
)
KEYWORDS = "_Bool _Complex _Imaginary asm bool complex false imaginary main out true"


class Language(Reals, C99CodePrinter):  # type: ignore[misc]
    """C, for doubles and arrays of them, all elements in one line; an array's elements are written
    to `out`."""

    choice, unicode = "({0} ? {1} : {2})", False
    constants: ClassVar = {"BooleanTrue": "1", "BooleanFalse": "0"}
    words = frozenset(
        [*C99CodePrinter.reserved_words, *f"{KEYWORDS} {MACROS}".split()]
        + [f"{name}{end}" for name in FUNCTIONS.split() for end in ("", "f", "l")]
    )
    math_macros: ClassVar[dict[Any, str]] = {}  # M_PI and its like are no part of C99
    # SymPy's `abs` is for ints, which there are none of
    settings: ClassVar = {"user_functions": {"Abs": "fabs"}}

    def element(self, name: str, index: Shape, shape: Shape) -> str:
        return f"{name}[{np.ravel_multi_index(index, shape)}]"

    def function(self, function: Function) -> str:
        listed = [
            f"const double *{name}" if shape else f"double {name}"
            for name, shape in function.parameters
        ]
        lines = [f"const double {name} = {step}" for name, step in function.steps]
        if isinstance(function.value, np.ndarray):
            kind, listed = "void", [*listed, "double *out"]
            lines += [f"out[{k}] = {element}" for k, element in enumerate(function.value.flat)]
        else:
            kind, lines = "double", [*lines, f"return {function.value}"]
        body = "".join(f"    {line};\n" for line in lines)
        return (
            f"/* {function.title} */\n{kind} "
            f"{function.name}({', '.join(listed) or 'void'})\n{{\n{body}}}\n"
        )

    def file(self, body: str) -> str:
        return f"#include <math.h>\n\n{body}"

    def _power(self, base: Any, exponent: Any) -> str:
        return (
            f"pow({self._print(base)}, "
            f"{exponent if exponent.is_Integer else self._print(exponent)})"
        )
