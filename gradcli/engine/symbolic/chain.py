"""Derivatives of long forms: large parts have names, and the chain rule leads through them in
numbers.

SymPy simplifies a form as it is made of others and differentiates it as a whole, which takes the
longer the more functions there are inside each other. With names every form that it sees is short.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import sympy

from .algebra import array_of, is_bool
from .calculus import derivative, is_known
from .exact import binary
from .limits import MAX_POWER, Budget
from .numbers import Numbers

Rates = Mapping[Any, Any]  # how fast symbols move; those that are missing stay


class UnknownError(Exception):
    """SymPy has no formula for a derivative, as for those of `zeta`."""


class Names:
    """Symbols for parts of forms.

    limit        nodes that a form may have and keep
    definitions  what each symbol stands for, in terms of sources and of the symbols before it
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.definitions: dict[Any, Any] = {}
        self._names: dict[Any, Any] = {}

    def shortened(self, form: Any, value: Any, budget: Budget) -> Any:
        """The form of a value, or the names of those of its elements that are larger than that, or
        have powers that may become so."""
        if isinstance(form, list):
            values = value if isinstance(value, list) else [value] * len(form)
            return [self.shortened(f, v, budget) for f, v in zip(form, values, strict=True)]
        if isinstance(form, np.ndarray):
            return array_of([self.shortened(part, value, budget) for part in form.flat], form.shape)
        is_form = isinstance(form, sympy.Basic) and not is_bool(form)
        if not is_form or not form.free_symbols:
            return form
        if budget.size(form) <= self.limit and not any(map(_may_grow, form.atoms(sympy.Pow))):
            return form
        if form not in self._names:
            kind = np.asarray(value).dtype.kind
            name = self._names[form] = sympy.Dummy(real=None if kind == "c" else True)
            self.definitions[name] = form
        return self._names[form]


def _may_grow(power: Any) -> bool:
    """Whether SymPy may work out a power exactly, with as many digits as the denominator of its
    exponent, as it takes a common denominator out of it: `((x + 0.055) / 1.055)**2.4`, where 2.4 is
    a quotient of two large ints."""
    exponent = power.exp
    return exponent.is_Rational and exponent.q > MAX_POWER and not power.base.is_Symbol


class Link(NamedTuple):
    """A part of a form by its name, with its derivatives by symbols, and with those of these along
    other ones."""

    name: Any
    part: Any
    slopes: list[tuple[Any, Any]]
    bends: list[tuple[Any, Any, Any]]


class Chain:
    """A form in terms of sources and names, and its derivatives."""

    def __init__(self, form: Any, definitions: Mapping[Any, Any]) -> None:
        self.parts = [*_needed(form, definitions), (None, form)]
        self.sources = set().union(*(part.free_symbols for _, part in self.parts))
        self._slopes: dict[tuple[Any, Any], Any] = {}
        self._work: dict[tuple[Any, Any], int] = {}
        self._known: dict[tuple[Any, Any], list[Link]] = {}
        self._numbers = Numbers()

    def slope(
        self, point: Mapping[Any, Any], rates: Rates, other: Rates | None, digits: int
    ) -> Any:
        """The derivative at a point where symbols move at these rates; where `other` ones are
        given, its derivative along those: a number of mpmath's. nan where SymPy has no number for
        it. Raises UnknownError, also for a second derivative where a form has a value for this
        point alone, as that of `sinc` at 0."""
        known = {symbol: point[symbol] for symbol in self.sources if symbol in point}
        found = self._slope(known, rates, other, digits)
        for factor in (2, 4, 8):
            sharper = self._slope(known, rates, other, factor * digits)
            if self._numbers.agree(found, sharper, digits // 2):
                break
            found = sharper
        return found

    def work(self, rates: Rates, other: Rates | None, budget: Budget, limit: int) -> int:
        """How many nodes the derivatives have that lead there; what is counted before it ends is
        enough where that is more than the limit. Raises UnknownError."""
        key = frozenset(rates), None if other is None else frozenset(other)
        if key not in self._work:
            self._work[key] = self._counted(rates, other, budget, limit)
        return self._work[key]

    def _counted(self, rates: Rates, other: Rates | None, budget: Budget, limit: int) -> int:
        moved, count = {*rates, *(other or ())}, 0
        for name, part in self.parts:
            count += budget.size(part) * len(part.free_symbols & moved)
            if count > limit:
                break
            slopes = self._by(part, moved)
            if other is not None:
                for _, slope in slopes:
                    count += budget.size(slope) * len(slope.free_symbols & moved)
            if slopes:
                moved.add(name)
        return count

    def _by(self, form: Any, symbols: Collection[Any]) -> list[tuple[Any, Any]]:
        """The derivatives of a form by those of the symbols that it has, but for zeros."""
        found = []
        for symbol in sorted(form.free_symbols.intersection(symbols), key=str):
            if (form, symbol) not in self._slopes:
                self._slopes[form, symbol] = derivative(form, symbol)
            slope = self._slopes[form, symbol]
            if not is_known(slope):
                raise UnknownError
            if slope != 0:
                found.append((symbol, slope))
        return found

    def _links(self, rates: Rates, other: Rates) -> list[Link]:
        """The parts with their derivatives where these symbols move."""
        key = frozenset(rates), frozenset(other)
        if key not in self._known:
            found, one, two = [], set(rates), set(other)
            for name, part in self.parts:
                slopes = self._by(part, one | two)
                bends = [(a, *b) for a, slope in slopes if a in one for b in self._by(slope, two)]
                found.append(Link(name, part, slopes, bends))
                for moved in (one, two):
                    if any(symbol in moved for symbol, _ in slopes):
                        moved.add(name)
            self._known[key] = found
        return self._known[key]

    def _slope(
        self, point: Mapping[Any, Any], rates: Rates, other: Rates | None, digits: int
    ) -> Any:
        """The same, worked out with so many digits."""
        numbers = self._numbers
        numbers.at(point, digits)
        one, two = (
            {symbol: numbers.rounded(rate) for symbol, rate in moved.items()}
            for moved in (rates, other or {})
        )
        both: dict[Any, Any] = {}  # how fast the rates along the one change along the other
        for name, part, slopes, bends in self._links(rates, other or {}):
            values = [(symbol, numbers.of(slope)) for symbol, slope in slopes]
            if any(map(self._is_met, (bend for _, _, bend in bends))):
                raise UnknownError
            bent = [numbers.of(bend) * one[a] * two[b] for a, b, bend in bends]
            for moving, more in ((one, []), (two, []), (both, bent)):
                terms = [value * moving[s] for s, value in values if s in moving] + more
                if terms:
                    moving[name] = sum(terms)
            if name is not None:
                numbers.set(name, numbers.of(part))
        return (one if other is None else both).get(None, 0)

    def _is_met(self, form: Any) -> bool:
        """Whether a form has a value for this point alone."""
        of = self._numbers.of
        return any(of(met.lhs) == of(met.rhs) for met in form.atoms(sympy.Eq))


def rates_of(symbols: Any, vector: Any) -> dict[Any, Any]:
    """How fast the symbols of a source move along a direction, which may be complex."""
    return {part: binary(float(rate)) for part, rate in parts_of(symbols, vector) if rate}


def parts_of(symbols: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The symbols of a source, those of real and imaginary parts, with what each has of a value."""
    many = isinstance(symbols, np.ndarray)
    for form, v in zip(symbols.flat, value.flat, strict=True) if many else [(symbols, value)]:
        parts = (form, 0) if isinstance(form, sympy.Symbol) else form.as_real_imag()
        for part, number in zip(parts, (v.real, v.imag), strict=True):
            if isinstance(part, sympy.Symbol):
                yield part, number


def _needed(form: Any, definitions: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The definitions of all names that a form leads to, in their order."""
    found: set[Any] = set()
    pending = [form]
    while pending:
        names = {s for s in pending.pop().free_symbols if s in definitions} - found
        found |= names
        pending += [definitions[name] for name in names]
    return ((name, part) for name, part in definitions.items() if name in found)
