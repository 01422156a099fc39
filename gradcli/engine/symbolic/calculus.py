"""Derivatives of forms, by SymPy's own `diff`: never by the table's rules, so that the two can be
compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from .algebra import Detached, array_of, as_number, attached
from .exact import binary

GUARD = 20  # digits more, where numbers are rounded
# derivatives that SymPy only has a name for: `evalf` never ends on some
_UNKNOWN = (sympy.Subs, sympy.Derivative)
# flat wherever they have a derivative
_STEPS = (sympy.floor, sympy.ceiling, sympy.sign, sympy.Heaviside, Detached)


def derivative(form: Any, symbol: Any) -> Any:
    """The derivative of a form by a symbol. Steps count as flat, as they do in the language:
    `floor(x)` has derivative 0."""
    if symbol not in form.free_symbols:
        return sympy.Integer(0)
    steps = {step: sympy.Dummy(real=True) for step in form.atoms(*_STEPS)}
    if steps:
        form = form.xreplace(steps)
    found = sympy.diff(form, symbol)
    return found.xreplace({dummy: step for step, dummy in steps.items()}) if steps else found


def total(form: Any) -> Any:
    """The sum of all elements of a form, through arrays, lists and dicts: what a gradient is of."""
    if isinstance(form, dict):
        form = list(form.values())
    if isinstance(form, (list, np.ndarray)):
        return sympy.Add(*[total(part) for part in form])
    return as_number(form) if isinstance(form, sympy.Basic) else sympy.Integer(0)


def gradient(form: Any, symbols: Any, earlier: list[Any] | tuple[Any, ...] = ()) -> Any:
    """The gradient of the sum of a form by a source: of the shape of its `symbols`. A variable that
    was updated counts in all its states: `earlier` are their symbols, each of the same shape."""
    whole = total(form)
    return each(
        lambda *states: sympy.Add(*[_by(whole, state) for state in states]), symbols, *earlier
    )


def gradients(form: Any, symbols: Any, earlier: list[Any] | tuple[Any, ...] = ()) -> Any:
    """The gradient of each element of a form: its shape, and then that of the `symbols`."""
    if not isinstance(form, np.ndarray):
        return gradient(form, symbols, earlier)
    rows = [gradient(item, symbols, earlier) for item in form.flat]
    shape = getattr(symbols, "shape", ())
    return array_of([item for row in rows for item in flat(row)], form.shape + shape)


def occurs(form: Any, symbols: list[Any]) -> bool:
    """Whether a scalar form depends on any of the symbols, which may come in arrays."""
    asked = set().union(*(symbol.free_symbols for part in symbols for symbol in flat(part)))
    return bool(asked & form.free_symbols)


def flat(form: Any) -> list[Any]:
    """The scalar forms in an array, list or dict."""
    if isinstance(form, dict):
        form = list(form.values())
    return (
        [item for part in form for item in flat(part)]
        if isinstance(form, (list, np.ndarray))
        else [form]
    )


def flat_forms(form: Any) -> list[Any]:
    """The scalar forms in an array, list or dict, without the strings."""
    return [item for item in flat(form) if isinstance(item, sympy.Basic)]


def is_finite(form: Any) -> bool:
    """Whether no element of a form is infinite or undefined whatever its symbols are, nor has a
    term or factor that is."""
    parts = flat_forms(form)
    terms = [
        term
        for part in parts
        for term in (part, *(part.args if part.is_Add or part.is_Mul else ()))
    ]
    return not any(term in (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan) for term in terms)


def _by(whole: Any, symbol: Any) -> Any:
    """The derivative by one element. For a complex one, a + I*b, it is ∂/∂a + I*∂/∂b."""
    if isinstance(symbol, sympy.Symbol):
        return derivative(whole, symbol)
    a, b = symbol.as_real_imag()
    parts = [
        derivative(whole, part) if isinstance(part, sympy.Symbol) else sympy.Integer(0)
        for part in (a, b)
    ]
    return parts[0] + sympy.I * parts[1]


def each(function: Callable[..., Any], form: Any, *others: Any) -> Any:
    """Applies `function` to every scalar form in an array, list or dict."""
    if isinstance(form, np.ndarray):
        return array_of(
            [function(*items) for items in zip(form.flat, *(o.flat for o in others), strict=True)],
            form.shape,
        )
    if isinstance(form, list):
        return [each(function, part, *parts) for part, *parts in zip(form, *others, strict=True)]
    if isinstance(form, dict):
        return {key: each(function, part, *(o[key] for o in others)) for key, part in form.items()}
    return function(form, *others)


def evaluate(form: Any, point: Mapping[Any, Any], digits: int = 50) -> Any:
    """Evaluates a scalar form at a point, to so many digits: as a SymPy number, or a bool. Floats
    of the point count as the very floats that they are. nan where the form has no value there, or
    none that SymPy can work out."""
    form = attached(form)
    if not is_known(form):
        return sympy.nan
    used = {symbol: binary(point[symbol]) for symbol in form.free_symbols}
    order = bottom_up(form)
    found = evaluated(order, used, digits)
    for sharper in (evaluated(order, used, k * digits) for k in (2, 4, 8)):
        if agree(found, sharper, digits // 2):
            break
        found = sharper
    return found.evalf(digits) if isinstance(found, sympy.Expr) else found


def agree(rough: Any, sharp: Any, digits: int) -> bool:
    """Whether more precision leaves so many digits of a number as they are. A zero has no digits,
    because all may have cancelled."""
    if not isinstance(sharp, sympy.Expr) or not sharp.is_finite:
        return bool(rough == sharp)
    return bool(sharp != 0 and abs(rough - sharp) <= sympy.Float(10) ** -digits * abs(sharp))


def bottom_up(form: Any) -> list[Any]:
    """Each different part of a form, after its own parts."""
    order: dict[Any, None] = {}
    pending = [(form, False)]
    while pending:
        part, is_done = pending.pop()
        if part in order:
            continue
        if is_done:
            order[part] = None
        else:
            pending.append((part, True))
            pending += [(inner, False) for inner in part.args]
    return list(order)


def evaluated(order: list[Any], used: Mapping[Any, Any], digits: int) -> Any:
    """The last form's value, each part worked out once, with so many digits and some more. SymPy's
    own `evalf` of a whole form works out a part wherever it occurs, and finds 1 for cos(10**4 *
    acosh(1 + 1e-10)); it is used for single functions."""
    known: dict[Any, Any] = {}
    try:
        for part in order:
            value = used[part].evalf(digits + GUARD) if part in used else part
            if part.args:
                value = part.func(*(known[inner] for inner in part.args))
            # exponents, conditions
            exact = value.is_Rational if isinstance(value, sympy.Expr) else True
            known[part] = value if exact else value.evalf(digits + GUARD)
        return known[order[-1]]
    except (ValueError, TypeError, ZeroDivisionError, OverflowError, ArithmeticError):
        return sympy.nan


def is_known(form: Any) -> bool:
    """Whether SymPy knows all the functions in a form, so that it can be evaluated."""
    return not form.has(*_UNKNOWN)
