"""What all languages have in common: numbers are doubles, the words are those of one expression,
and nothing is guessed.

`Doubles` comes before SymPy's printer among the bases of a language, so what is written here is
written once, and what isn't is SymPy's. It replaces these for a reason:

numbers     SymPy's are ints, which divide as ints in C and don't mix with doubles in Fortran's
            `merge` or in Rust; and its decimals have 17 digits, 0.10000000000000001 for 0.1
quotients   SymPy writes x/3 as (1.0/3.0)*x, which rounds twice
powers      cbrt of a negative number has a value where the power has none, x**(-1/2) reads better
            as 1/sqrt(x)
choices     SymPy breaks lines in the middle of an expression, and refuses a Piecewise whose last
            condition isn't `True`
sums        Fortran's and Rust's look at each term's kind, which is a double's here
refusals    some come as str() of the form, some as a ValueError
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy
from sympy.printing.codeprinter import CodePrinter, PrintMethodNotImplementedError
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

Shape = tuple[int, ...]
INTEGERS = 2**53  # below, every integer is a double


class UnwritableError(Exception):
    """A language has no words for a form; the message says for which."""


class Function(NamedTuple):
    """A function to be written: its name, what it is in words, its parameters with their shapes,
    what it computes first by name, and its value: an expression, or an array of them."""

    name: str
    title: str
    parameters: list[tuple[str, Shape]]
    steps: list[tuple[str, str]]
    value: Any


class Doubles(CodePrinter):  # type: ignore[misc]
    """A printer of expressions in doubles.

    whole     an integer, by its digits
    power     the sign of powers
    choice    a value `{1}` under a condition `{0}`, and another one `{2}`
    parts     the real and the imaginary part of a variable; none where there are no complex numbers
    words     names that programs can't give away
    longest   the longest name, in letters
    unicode   whether names may have letters such as α
    folds     whether x and X are the same name
    gap       what stands between two functions
    constants  those that aren't written as SymPy does, by the names of their classes
    folded    functions of two operands that are nested for several ones, in the same way
    """

    whole, power, choice = "{}.0", "**", ""
    parts: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    longest, unicode, folds, gap = 1000, True, False, "\n"
    settings: ClassVar[Mapping[str, Any]] = {}
    constants: ClassVar[Mapping[str, str]] = {}
    folded: ClassVar[Mapping[str, str]] = {}

    # SymPy's overflow, by way of exp
    _rewriteable_functions = CodePrinter._rewriteable_functions | {
        "coth": ("tanh", []),
        "csch": ("sinh", []),
        "sech": ("cosh", []),
    }

    def __init__(self, names: Mapping[Any, str]) -> None:
        super().__init__(dict(self.settings))
        self.names = names

    def expression(self, form: Any) -> str:
        """The form in this language. Raises UnwritableError where it has no words for it."""
        return str(self._print(form))

    def identifier(self, name: str) -> str:
        """A valid name in the language, as close to the program's as possible."""
        name = name if self.unicode else ascii_letters(name).lstrip("_")
        name = name if name.isidentifier() else re.sub(r"\W+", "_", name).strip("_") or "value"
        return (name if not name[0].isdigit() else f"_{name}" if self.unicode else f"value_{name}")[
            : self.longest
        ]

    def decimal(self, x: float) -> str:
        return repr(x)

    def element(self, name: str, index: Shape, shape: Shape) -> str:
        """An element of an array."""
        return name + "".join(f"[{i}]" for i in index)

    def listed(self, value: Any) -> str:
        """A value: an expression, or those of an array in lists."""
        return f"[{', '.join(map(self.listed, value))}]" if isinstance(value, np.ndarray) else value

    def function(self, function: Function) -> str:
        raise NotImplementedError

    def file(self, body: str) -> str:
        """A module of these functions."""
        return body

    # ---- refusals --------------------------------------------------------------------------------

    def _print(self, form: Any, **options: Any) -> Any:
        name = type(form).__name__
        if name in self.constants:
            return self.constants[name]
        if name in self.folded:
            operands = map(self._print, sorted(form.args, key=sympy.default_sort_key))
            return reduce(self.folded[name].format, operands)
        try:
            return super()._print(form, **options)
        except PrintMethodNotImplementedError:
            raise UnwritableError(f"the function `{name}`") from None

    def _print_Derivative(self, form: Any) -> str:
        raise UnwritableError(f"the derivative of `{type(form.expr).__name__}`")

    def _print_Subs(self, form: Any) -> str:
        return str(self._print(form.expr))

    def _print_Sum(self, form: Any) -> str:
        raise UnwritableError("infinite sums")

    # ---- atoms -----------------------------------------------------------------------------------

    def _print_Symbol(self, symbol: Any) -> str:
        if symbol not in self.names:
            raise UnwritableError("complex numbers")  # that a variable's parts would be of
        return self.names[symbol]

    _print_Dummy = _print_Symbol

    def _print_Float(self, x: Any) -> str:
        if not math.isfinite(value := float(x)):
            return str(self._print(sympy.oo if value > 0 else -sympy.oo))
        if x.is_Integer and abs(x) < INTEGERS:
            return self.whole.format(x)
        if _is_literal(x):
            return self.decimal(value)
        return "/".join(self.whole.format(n) for n in (x.p, x.q))

    _print_Integer = _print_Rational = _print_Half = _print_Zero = _print_Float

    def _print_NumberSymbol(self, form: Any) -> str:
        return str(self._print(sympy.Float(form)))

    _print_EulerGamma = _print_Catalan = _print_GoldenRatio = _print_TribonacciConstant = (
        _print_NumberSymbol
    )

    def _print_ComplexInfinity(self, form: Any) -> str:
        return str(self._print(sympy.nan))

    # ---- arithmetic ------------------------------------------------------------------------------

    def parenthesize(self, item: Any, level: int, strict: bool = False) -> str:
        """SymPy takes any ratio for a quotient; one that is written as a decimal needs no
        parentheses."""
        is_atom = item.is_Number and item >= 0 and _is_literal(item)
        return str(self._print(item) if is_atom else super().parenthesize(item, level, strict))

    _print_Add = StrPrinter._print_Add

    def _print_Mul(self, form: Any, **_: Any) -> str:
        factor, rest = form.as_coeff_Mul()
        if factor.is_Rational and not _is_literal(factor):
            above = [] if factor.p == 1 else [sympy.Integer(factor.p)]
            below = sympy.Pow(factor.q, -1, evaluate=False)
            form = sympy.Mul(*above, below, *sympy.Mul.make_args(rest), evaluate=False)
        return str(CodePrinter._print_Mul(self, form))

    def _print_Pow(self, form: Any, **_: Any) -> str:
        base, exponent = form.args
        if exponent.is_Rational and exponent < 0:
            return self._print_Mul(sympy.Mul(1, form, evaluate=False))
        return self._root(base) if exponent is sympy.S.Half else self._power(base, exponent)

    def _root(self, base: Any) -> str:
        return f"sqrt({self._print(base)})"

    def _power(self, base: Any, exponent: Any) -> str:
        raised = (
            str(exponent) if exponent.is_Integer else self.parenthesize(exponent, PRECEDENCE["Pow"])
        )
        return f"{self.parenthesize(base, PRECEDENCE['Pow'])}{self.power}{raised}"

    def _print_sign(self, form: Any) -> str:
        (x,) = form.args  # 0 and nan are their own signs
        return str(self._print(sympy.Piecewise((-1, x < 0), (1, x > 0), (x, True))))

    # ---- choices ---------------------------------------------------------------------------------

    def _print_Piecewise(self, form: Any) -> str:
        text = self._print(sympy.nan)
        for value, condition in reversed(form.args):
            text = (
                self._print(value)
                if condition == sympy.true
                else self._choice(condition, value, text)
            )
        return str(text)

    def _choice(self, condition: Any, value: Any, otherwise: str) -> str:
        return self.choice.format(self._print(condition), self._print(value), otherwise)

    def _print_ITE(self, form: Any) -> str:
        return str(self._print(form.to_nnf()))

    def _print_Relational(self, form: Any) -> str:
        return (
            f"{self._print(form.lhs)} {self._relationals.get(form.rel_op, form.rel_op)} "
            f"{self._print(form.rhs)}"
        )

    _relationals: ClassVar[Mapping[str, str]] = {}

    def _print_And(self, form: Any) -> str:
        return f" {self._operators['and']} ".join(f"({self._print(part)})" for part in form.args)

    def _print_Or(self, form: Any) -> str:
        return f" {self._operators['or']} ".join(f"({self._print(part)})" for part in form.args)


class Reals(Doubles):
    """A printer for a language without complex numbers, where every value is real, or nan."""

    def _print_ImaginaryUnit(self, form: Any) -> str:
        raise UnwritableError("complex numbers")

    def _print_re(self, form: Any) -> str:
        return f"({self._print(form.args[0])})"

    _print_conjugate = _print_re

    def _print_im(self, form: Any) -> str:
        return str(self._print(sympy.Integer(0)))


def _is_literal(x: Any) -> bool:
    """Whether a number is written as one decimal: it is that very decimal, or its ratio wouldn't be
    doubles."""
    if x.is_Float or x.is_Integer or max(abs(x.p), x.q) >= INTEGERS:
        return True
    return bool(sympy.Rational(repr(float(x))) == x)


def ascii_letters(text: str) -> str:
    """Text in ASCII: letters such as α by their names."""
    return "".join(c if c.isascii() else _in_ascii(c) for c in text)


def _in_ascii(c: str) -> str:
    plain, words = unicodedata.normalize("NFKD", c)[0], unicodedata.name(c, "").split()
    if plain.isascii():
        return plain
    if "LETTER" not in words:
        return {"∂": "d", "Σ": "sum ", "²": "2"}.get(c, "_")
    name = words[words.index("LETTER") + 1]
    return name.capitalize() if "CAPITAL" in words else name.lower()
