"""Evaluation of many forms at one point after another, with many digits. It uses mpmath, as SymPy
does, but makes no expression for each number on the way.

Where a number on the way isn't finite, or a function isn't listed here, SymPy evaluates instead.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple, NoReturn

import mpmath
import sympy

from .algebra import attached
from .calculus import GUARD, bottom_up, evaluated
from .exact import binary

NAMES = (
    *("exp", "log", "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "coth", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv"),
    *("gamma", "loggamma", "besseli", "sign", "floor", "re", "im", "conjugate", "arg"),
)  # of functions that SymPy and mpmath have by one name
ERRORS = (ValueError, TypeError, ZeroDivisionError, OverflowError, ArithmeticError)


class OddError(Exception):
    """A part of a form has no finite value, or is of a function that only SymPy knows."""


class Step(NamedTuple):
    """How a part of a form is computed from those with these places."""

    function: Callable[..., Any]
    operands: tuple[int, ...]


class Numbers:
    """The numbers of forms at a point. Each different part of all forms is worked out once there,
    for each number of digits."""

    def __init__(self) -> None:
        self.context = mpmath.MPContext()
        self.functions = _functions(self.context)
        self._places: dict[Any, int] = {}
        self._steps: list[Step | None] = []  # of the part with each place; of a symbol none
        self._orders: dict[Any, list[int]] = {}
        self._point: Mapping[Any, Any] = {}
        self._known: dict[int, dict[int, Any]] = {}  # at this point, by number of digits and place
        self._constants: dict[tuple[int, int], Any] = {}

    def at(self, point: Mapping[Any, Any], digits: int) -> None:
        """From now on works out numbers where symbols have these values, with so many digits and
        some more."""
        self._digits = self.context.dps = digits + GUARD
        if point != self._point:
            self._point, self._known = dict(point), {}
        is_new = digits not in self._known
        self._values = self._known.setdefault(digits, {})
        for symbol, value in point.items() if is_new else ():
            self.set(symbol, self.rounded(binary(value)))

    def set(self, symbol: Any, value: Any) -> None:
        """Gives a symbol a number at this point."""
        self._values[self._place(symbol)] = value

    def of(self, form: Any) -> Any:
        """The number of a form; infinite or nan where it has none, or none that SymPy can work
        out."""
        order = self._orders.get(form)
        if order is None:
            order = self._orders[form] = [self._place(part) for part in bottom_up(attached(form))]
        values = self._values
        if order[-1] not in values:
            try:
                for place in order:
                    if place not in values:
                        values[place] = self._computed(place)
            except (OddError, *ERRORS):
                values[order[-1]] = self.rounded(self._by_sympy(attached(form)))
        return values[order[-1]]

    def rounded(self, number: Any) -> Any:
        """A number of SymPy's, with these digits; nan for one that isn't known."""
        if number.is_Rational:
            return self.context.mpf(number.p) / number.q
        if number in (sympy.oo, -sympy.oo):
            return self.context.convert(float(number))
        parts = [part.evalf(self._digits) for part in number.as_real_imag()]
        if not all(part.is_Float or part.is_Rational for part in parts):
            return self.context.nan
        real, imaginary = map(self.context.convert, parts)
        return self.context.mpc(real, imaginary) if imaginary else real

    def agree(self, rough: Any, sharp: Any, digits: int) -> bool:
        """Whether more precision leaves so many digits of a number as they are. A zero has no
        digits, because all may have cancelled."""
        if not self.context.isfinite(sharp):
            return not self.context.isfinite(rough)
        return bool(
            sharp != 0 and abs(rough - sharp) <= self.context.mpf(10) ** -digits * abs(sharp)
        )

    def _place(self, part: Any) -> int:
        if part not in self._places:
            step = None if part.is_Symbol else self._step(part)
            self._places[part] = len(self._steps)
            self._steps.append(step)
        return self._places[part]

    def _step(self, part: Any) -> Step:
        if part.args:
            function = self.functions.get(part.func.__name__, _odd)
            return Step(function, tuple([self._places[inner] for inner in part.args]))
        if part in (sympy.true, sympy.false):
            return Step(lambda: bool(part), ())
        return Step(lambda: self.rounded(part), ())

    def _computed(self, place: int) -> Any:
        step = self._steps[place]
        assert step is not None, "a symbol has no number"
        if not step.operands:
            key = place, self._digits
            if key not in self._constants:
                self._constants[key] = step.function()
            return self._constants[key]
        values = self._values
        value = step.function(*[values[operand] for operand in step.operands])
        if type(value) not in (bool, tuple) and not self.context.isfinite(value):
            raise OddError
        return value

    def _by_sympy(self, form: Any) -> Any:
        known = {s: self._of_sympy(self._values[self._places[s]]) for s in form.free_symbols}
        return evaluated(bottom_up(form), known, self._digits - GUARD)

    def _of_sympy(self, number: Any) -> Any:
        """A number of mpmath's as one of SymPy's."""
        if isinstance(number, self.context.mpc):
            return self._of_sympy(number.real) + sympy.I * self._of_sympy(number.imag)
        return sympy.Float(number, precision=self.context.prec)


def _functions(context: Any) -> dict[str, Callable[..., Any]]:
    """What computes the number of a form from those of its arguments, by the name of its class."""
    return {name: getattr(context, name) for name in NAMES} | {
        "Add": lambda *terms: reduce(operator.add, terms),
        "Mul": lambda *factors: reduce(operator.mul, factors),
        "Pow": operator.pow,
        "Abs": abs,
        "Max": max,
        "Min": min,
        "ceiling": context.ceil,
        "polygamma": context.psi,
        "Heaviside": lambda x, at_zero: at_zero if x == 0 else context.mpf(x > 0),
        "StrictLessThan": operator.lt,
        "LessThan": operator.le,
        "StrictGreaterThan": operator.gt,
        "GreaterThan": operator.ge,
        "Equality": operator.eq,
        "Unequality": operator.ne,
        "Not": operator.not_,
        "And": lambda *conditions: all(conditions),
        "Or": lambda *conditions: any(conditions),
        "ExprCondPair": lambda value, holds: (value, holds),
        "Piecewise": _chosen,
    }


def _chosen(*pieces: tuple[Any, bool]) -> Any:
    for value, holds in pieces:
        if holds:
            return value
    raise OddError


def _odd(*operands: Any) -> NoReturn:
    raise OddError
