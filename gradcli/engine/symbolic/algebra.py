"""The names that counterparts in the table see of SymPy (`s`), and forms of entries without a
counterpart.

A counterpart is `(s, *operands, **options) -> form`. `s.sin`, `s.Max`, `s.pi` and so on are SymPy's
own; a function of it given arrays of forms works on each element, so the counterparts of structural
entries read as those of elementwise ones. Arrays of forms are NumPy's arrays of objects: their
operators, methods and shapes are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import sympy
from sympy.logic.boolalg import Boolean

from ...ops import OPS
from ...ops.op import Op
from ...ops.rule_values import evaluate
from . import hyperbolic
from .exact import of_table


class NoFormError(Exception):
    """An entry of the table has no counterpart, or none for these operands."""


class Algebra:
    """SymPy's functions, on forms and on arrays of forms. `xp` is NumPy, for moving forms
    around."""

    xp = np

    def __getattr__(self, name: str) -> Any:
        found = (
            getattr(hyperbolic, name) if name in ("sinh", "cosh", "tanh") else getattr(sympy, name)
        )
        if isinstance(found, sympy.Basic) or not callable(found):
            return found
        function = _on_arrays(_of_few(found) if found in (sympy.Max, sympy.Min) else found)
        self.__dict__[name] = function  # the next time it is found at once
        return function

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """`a` where the condition holds, `b` elsewhere."""
        return _where(as_condition(condition), a, b)

    def condition(self, x: Any) -> Any:
        """Converts a form to a condition: a number holds if it isn't 0."""
        return as_condition(x)

    def compared(self, name: str, a: Any, b: Any) -> Any:
        """Compares forms, by SymPy's name for the relation. Of a `Piecewise` it compares the
        pieces, so that no condition contains one. A nan differs from all numbers, as for floats."""
        relation = getattr(sympy, name)
        if isinstance(a, sympy.Piecewise):
            return _by_piece(a, lambda value: self.compared(name, value, b))
        if isinstance(b, sympy.Piecewise):
            return _by_piece(b, lambda value: self.compared(name, a, value))
        if sympy.nan in (a, b):
            return sympy.true if relation is sympy.Ne else sympy.false
        return relation(a, b)

    def reduced(self, name: str, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
        """Applies SymPy's function of that name to all the elements along the axes."""
        function = getattr(self, name)
        x = as_condition(x) if name in ("Or", "And") else x
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
        lines = (
            tuple(slice(None) if k in axes else i for k, i in enumerate(index))
            for index in np.ndindex(*shape)
        )
        made = array_of([function(*x[line].flat) for line in lines], shape)
        return made if keepdims else made.reshape([n for k, n in enumerate(shape) if k not in axes])

    def matrix(self, x: Any) -> Any:
        """SymPy's matrix of an array of two axes."""
        if x.ndim != 2:
            raise NoFormError("of several matrices at once")
        if max(x.shape) > MAX_MATRIX:
            raise NoFormError(f"of a matrix of shape {x.shape}")
        return sympy.Matrix(*x.shape, list(x.flat))

    def array(self, matrix: Any) -> Any:
        """The array of SymPy's matrix."""
        return array_of(matrix, matrix.shape)


MAX_MATRIX = 6  # rows: the forms of inverses and determinants grow with the factorial
MAX_CHOICES = 12  # SymPy compares each with each, and again for each in a derivative


def array_of(forms: Iterable[Any], shape: tuple[int, ...]) -> Any:
    """The array of a shape with these forms, row by row."""
    made: Any = np.empty(shape, dtype=object)
    made.flat = list(forms)
    return made


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*operands: Any) -> Any:
        if not any(isinstance(v, np.ndarray) for v in operands):
            return function(*operands)
        return np.frompyfunc(function, len(operands), 1)(*operands)

    return called


def _of_few(extreme: Any) -> Callable[..., Any]:
    """SymPy's `Max` or `Min` of not too many forms, also one inside another."""

    def called(*operands: Any) -> Any:
        inner = [item.args if isinstance(item, extreme) else (item,) for item in operands]
        if sum([bool(part.free_symbols) for parts in inner for part in parts]) > MAX_CHOICES:
            raise NoFormError(f"of more than {MAX_CHOICES} operands")
        return extreme(*operands)

    return called


def _by_piece(choice: Any, test: Callable[[Any], Any]) -> Any:
    found, before = [], sympy.true
    for value, condition in choice.args:
        found.append(sympy.And(before, condition, test(value)))
        before = sympy.And(before, sympy.Not(condition))
    return sympy.Or(*found)


_where = _on_arrays(lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)))
ALGEBRA = Algebra()


def is_form(value: Any) -> bool:
    """Whether something is a scalar form."""
    return isinstance(value, sympy.Basic)


# ---- cut off -------------------------------------------------------------------------------------


class Detached(sympy.Function):  # type: ignore[misc]
    """A form that counts as a constant for derivatives, as what `detach` gives, or was computed in
    a `pause`."""

    nargs = 1

    def _eval_is_extended_real(self) -> bool | None:
        real: bool | None = self.args[0].is_extended_real
        return real


def attached(form: Any) -> Any:
    """The form with the detached forms inside it as they are."""
    return form.replace(Detached, lambda inner: inner) if form.has(Detached) else form


detached = _on_arrays(
    lambda form: Detached(form) if form.free_symbols and not is_bool(form) else form
)


# ---- bools ---------------------------------------------------------------------------------------


def is_bool(form: Any) -> bool:
    return isinstance(form, Boolean) and not isinstance(form, sympy.Expr)  # a symbol is both


def _number(form: Any) -> Any:
    """Converts a condition to the number that it counts as."""
    if not is_bool(form):
        return form
    return (
        sympy.Integer(bool(form))
        if form in (sympy.true, sympy.false)
        else sympy.Piecewise((1, form), (0, True))
    )


def _condition(form: Any) -> Any:
    return form if is_bool(form) else sympy.Ne(form, 0)


as_number, as_condition = _on_arrays(_number), _on_arrays(_condition)


# ---- counterparts from the table -----------------------------------------------------------------


def counterpart(op: Op) -> Callable[..., Any] | None:
    """The function of forms that an entry stands for: its own counterpart, its formula, SymPy's
    function of its name, or, of structural ones, what it computes. None where there is none."""
    if op.symbolic is not None:
        symbolic = op.symbolic
        return lambda *operands, **options: symbolic(ALGEBRA, *operands, **options)
    if op.forward is not None:
        forward = op.forward
        return lambda *operands: _form(evaluate(forward, operands, _applied))
    if op.elementwise:
        found = getattr(sympy, op.name, None)
        return getattr(ALGEBRA, op.name) if found is not None and op.kernel is None else None
    compute = op.compute
    return (
        None if compute is None else lambda *operands, **options: compute(np, *operands, **options)
    )


def _applied(name: str, values: list[Any]) -> Any:
    """The form of an op of forms, and of numbers of the table."""
    read = counterpart(OPS[name])
    if read is None:
        raise NoFormError(f"because `{name}` has none")
    forms = map(_form, values)
    return read(*(forms if name == "where" else map(as_number, forms)))


def _form(value: Any) -> Any:
    """The form of a number of the table; a form is one already."""
    return of_table(value) if isinstance(value, int | float | complex) else value
