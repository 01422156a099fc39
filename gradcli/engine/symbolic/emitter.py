"""One form as an expression of a programming language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from .languages import Language

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly an expression holds together
_SIGNS = {"GreaterThan": ">=", "StrictGreaterThan": ">", "LessThan": "<=", "StrictLessThan": "<"}


class UnwritableError(Exception):
    """A language has no word for a function; the message says for which."""


class Emitter:
    """Writes forms in one language. `names` says what each symbol is called there."""

    def __init__(self, language: Language, names: Mapping[Any, str]) -> None:
        self.language, self.names = language, names

    def expression(self, form: Any) -> str:
        """The form as an expression. Raises UnwritableError where the language lacks a function."""
        return self._write(form)[0]

    def _write(self, form: Any) -> tuple[str, int]:
        """The text, and how tightly it holds together."""
        if form in self.names:
            return self.names[form], ATOM
        if form.is_Number or form.is_NumberSymbol or form is sympy.I:
            return self._number(form)
        if form.is_Add:
            return self._sum(form), SUM
        if form.is_Mul:
            return self._product(form)
        if form.is_Pow:
            return self._power(*form.as_base_exp())
        if isinstance(form, sympy.Piecewise):
            return self._choice(form.args), ATOM
        write = getattr(self, f"_{type(form).__name__.lower()}", None)
        return write(form) if write is not None else (self._call(type(form).__name__, form.args), ATOM)

    def _inside(self, form: Any, least: int) -> str:
        """An expression as a part of one that holds together at `least` so tightly."""
        text, holds = self._write(form)
        return text if holds >= least else f"({text})"

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def _number(self, form: Any) -> tuple[str, int]:
        language = self.language
        if form is sympy.I:
            if not language.complex:
                raise UnwritableError("complex numbers")
            return language.complex, ATOM
        if form in (sympy.pi, sympy.E):
            return (language.pi if form is sympy.pi else language.e), ATOM
        if form in (sympy.oo, -sympy.oo):
            return (language.inf, ATOM) if form is sympy.oo else (f"-{language.inf}", SUM)
        if form in (sympy.nan, sympy.zoo):
            return language.nan, ATOM
        if form.is_Integer and abs(form) < 2**53:
            return language.integer.format(form), ATOM if form >= 0 else SUM
        if form.is_Rational:
            return self._rational(form)
        return self._rational(sympy.Rational(float(form)))  # catalan and such

    def _rational(self, form: Any) -> tuple[str, int]:
        """A ratio as the decimal that it is, or as a quotient."""
        decimal = repr(float(form))
        if form.is_Integer or sympy.Rational(decimal) == form or max(abs(form.p), form.q) >= 2**53:
            suffix = self.language.integer.partition(".0")[2]
            return (decimal + suffix if suffix else decimal), ATOM if form >= 0 else SUM
        numerator, denominator = (self.language.integer.format(n) for n in (form.p, form.q))
        return f"{numerator}/{denominator}", PRODUCT if form.p > 0 else SUM

    # ---- arithmetic --------------------------------------------------------------------------------------------------

    def _sum(self, form: Any) -> str:
        text = ""
        for term in form.as_ordered_terms():
            part = self._inside(term, SUM)
            if not text:
                text = part
            elif part.startswith("-"):
                text += f" - {part[1:]}"
            else:
                text += f" + {part}"
        return text

    def _product(self, form: Any) -> tuple[str, int]:
        number, rest = form.as_coeff_Mul()
        sign = "-" if number.is_extended_negative else ""
        number = -number if sign else number
        above, below = [], []
        if number.is_Rational and not number.is_Integer and sympy.Rational(repr(float(number))) != number:
            above, below = ([] if number.p == 1 else [sympy.Integer(number.p)]), [sympy.Integer(number.q)]
        elif number != 1:
            above = [number]
        for factor in sympy.Mul.make_args(rest) if not rest.is_Mul else rest.as_ordered_factors():
            base, exponent = factor.as_base_exp() if factor.is_Pow else (factor, sympy.Integer(1))
            if factor.is_Pow and exponent.is_Rational and exponent < 0:
                below.append(base if exponent == -1 else sympy.Pow(base, -exponent, evaluate=False))
            elif factor != 1:
                above.append(factor)
        top = (
            "*".join(self._inside(f, PRODUCT if k == 0 else POWER) for k, f in enumerate(above))
            or self._number(sympy.Integer(1))[0]
        )
        if below:
            bottom = "*".join(self._inside(f, POWER) for f in below)
            top += f"/({bottom})" if len(below) > 1 else f"/{bottom}"
        return (f"-{top}", SUM) if sign else (top, PRODUCT)

    def _power(self, base: Any, exponent: Any) -> tuple[str, int]:
        if base is sympy.E:
            return self._call("exp", (exponent,)), ATOM
        if exponent in (sympy.Rational(1, 2), sympy.Rational(-1, 2)):
            root = self._call("sqrt", (base,))
            return (root, ATOM) if exponent > 0 else (f"{self._number(sympy.Integer(1))[0]}/{root}", PRODUCT)
        if exponent == -1:
            return f"{self._number(sympy.Integer(1))[0]}/{self._inside(base, POWER)}", PRODUCT
        whole = exponent.is_Integer
        form = self.language.power if whole else self.language.real_power
        is_sign = not form.endswith(")")
        left = self._inside(base, ATOM) if is_sign else self.expression(base)
        right = str(exponent) if whole else self._inside(exponent, ATOM) if is_sign else self.expression(exponent)
        right = f"({right})" if whole and is_sign and exponent < 0 else right
        return form.format(left, right), POWER if is_sign else ATOM

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _call(self, name: str, arguments: Any) -> str:
        form = self.language.functions.get(name)
        if form is None:
            raise UnwritableError(f"the function `{name}`")
        return form.format(*map(self.expression, arguments))

    def _max(self, form: Any) -> tuple[str, int]:
        name, (first, *rest) = type(form).__name__, sorted(form.args, key=sympy.default_sort_key)
        text = self.expression(first)
        for argument in rest:
            text = self.language.functions[name].format(text, self.expression(argument))
        return text, ATOM

    _min = _max

    def _sign(self, form: Any) -> tuple[str, int]:
        if "sign" in self.language.functions:
            return self._call("sign", form.args), ATOM
        x = form.args[0]
        return self._choice([(sympy.Integer(-1), x < 0), (sympy.Integer(1), x > 0), (sympy.Integer(0), sympy.true)]), ATOM

    def _heaviside(self, form: Any) -> tuple[str, int]:
        x, at_zero = form.args
        return self._choice([(sympy.Integer(0), x < 0), (at_zero, sympy.Eq(x, 0)), (sympy.Integer(1), sympy.true)]), ATOM

    def _zeta(self, form: Any) -> tuple[str, int]:
        return self._call("zeta" if len(form.args) == 1 else "zeta2", form.args), ATOM

    def _derivative(self, form: Any) -> tuple[str, int]:
        raise UnwritableError(f"the derivative of `{type(form.expr).__name__}`")

    def _subs(self, form: Any) -> tuple[str, int]:
        return self._write(form.expr)

    # ---- choices -----------------------------------------------------------------------------------------------------

    def _choice(self, pieces: Any) -> str:
        text = self.language.nan
        for value, condition in reversed(list(pieces)):
            if condition == sympy.true:
                text = self.expression(value)
            else:
                text = self.language.choice.format(self._condition(condition), self.expression(value), text)
        return text

    def _condition(self, form: Any) -> str:
        both, either, no, equal, differs, true, false = self.language.logic
        if form in (sympy.true, sympy.false):
            return true if form == sympy.true else false
        if form in self.names:
            return f"{self.names[form]} {differs} {self.language.integer.format(0)}"
        if isinstance(form, sympy.ITE):
            test, yes, otherwise = form.args
            form = sympy.Or(sympy.And(test, yes), sympy.And(sympy.Not(test), otherwise), evaluate=False)
        if isinstance(form, sympy.And | sympy.Or):
            sign = both if isinstance(form, sympy.And) else either
            return f" {sign} ".join(f"({self._condition(part)})" for part in form.args)
        if isinstance(form, sympy.Not):
            return f"{no}({self._condition(form.args[0])})"
        if isinstance(form, sympy.Eq | sympy.Ne):
            sign = equal if isinstance(form, sympy.Eq) else differs
        else:
            sign = _SIGNS.get(type(form).__name__, "")
        if not sign:
            raise UnwritableError(f"the condition `{type(form).__name__}`")
        return f"{self._inside(form.lhs, SUM)} {sign} {self._inside(form.rhs, SUM)}"
