"""Operations of the table on scalars as machine code, with the bits of the scalar functions: those
that a machine has itself, functions of the C library, and formulas of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any, Protocol

from ...diagnostics import Span
from ...ops import OPS
from ...ops.rule_values import evaluate
from ..ir.instructions import Operation
from ..ir.types import Type, is_float

COMPARISONS = {name: OPS[name].infix for name in ("lt", "le", "gt", "ge", "eq", "ne")}
# Functions that are rounded correctly, by their names in C, which LLVM's intrinsics have, too.
EXACT = {
    "abs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
    "fma": "fma",  # not in the table
}
# The functions that `math` has from the C library. Where `math` raises, the library returns what
# IEEE 754 demands.
LIBRARY = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "pow", "erf", "erfc",
}  # fmt: skip
FACTORS = 3  # of a power that is within 2 ulps as a product
LARGEST = 16  # the largest whole exponent whose power is computed by products, without a call


class NotNative(Exception):  # noqa: N818 - an answer, not an error
    """Why a region has no machine code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span: Span | None = None


def _extreme(sign: str) -> Callable[..., Any]:
    """The first operand if it is as extreme, or a nan; otherwise the second, which may be one."""
    return lambda m, a, b: m.where(getattr(m, sign)(a, b), a, m.where(m.isnan(a), a, b))


def _mod(m: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor, as Python defines it."""
    r = m.fmod(a, b)
    signed = m.where((b < 0) != (r < 0), r + b, r)
    return m.where(b == 0, math.nan, m.where(r == 0, m.copysign(0.0, b), signed))


def _floordiv(m: Any, a: Any, b: Any) -> Any:
    """The quotient rounded down, as Python computes it from the remainder."""
    r = m.fmod(a, b)
    quotient = (a - r) / b
    quotient = m.where(r == 0, quotient, m.where((b < 0) != (r < 0), quotient - 1.0, quotient))
    down = m.floor(quotient)
    nearest = m.where(quotient - down > 0.5, down + 1.0, down)
    whole = m.where(quotient == 0, m.copysign(0.0, a / b), nearest)
    return m.where(b == 0, a / b, whole)


def _logaddexp(m: Any, a: Any, b: Any) -> Any:
    larger = m.maximum(a, b) + m.log1p(m.exp(-m.abs(a - b)))
    return m.where(a == b, a + math.log(2.0), larger)


def _same(m: Any, x: Any) -> Any:
    return x


def _sign(m: Any, x: Any) -> Any:
    return (x > 0) - (x < 0)


def _bell(m: Any, x: Any, scale: Any) -> Any:
    """exp(-scale * x²) from the rounded square and the rest that rounding took away, which a
    product gives that is added without rounding. From 100 on there is no rest, as in the table."""
    square = x * x
    rest = m.where(square < 1e4, -scale * m.fma(x, x, -square), 0.0)
    return m.exp(-scale * square) * (1.0 + rest)


def _hypot(m: Any, a: Any, b: Any) -> Any:
    """The length of (a, b), rounded once: the root of the sum of the squares, and by Newton's
    method what it lacks, of which fused products give the rests that rounding took away. The sides
    are scaled by a power of two, so that no square is too large or too small."""
    a, b = m.abs(a), m.abs(b)
    long, short = m.where(a > b, a, b), m.where(a > b, b, a)
    scale = m.where(long > 2.0**500, 2.0**-600, m.where(long < 2.0**-400, 2.0**600, 1.0))
    x, y = long * scale, short * scale
    first, second = x * x, y * y
    total = first + second
    rest = (first - total) + second + (m.fma(x, x, -first) + m.fma(y, y, -second))
    root = m.sqrt(total)
    square = root * root
    lacks = (total - square) - m.fma(root, root, -square) + rest
    found = m.where(root == 0, 0.0, (root + lacks / (2.0 * root)) / scale)
    return m.where(a == math.inf, math.inf, m.where(b == math.inf, math.inf, found))


def power_of(exponent: Any) -> Callable[..., Any] | None:
    """The rule of a power by products where several numbers are computed at once, which needn't
    give the bits of one; None if the exponent isn't known, or no small whole number."""
    if exponent is None or exponent != exponent or not 1 <= abs(exponent) <= LARGEST:
        return None
    whole = int(exponent)
    if whole != exponent:
        return None
    if 1 <= whole <= FACTORS:
        return lambda m, x: reduce(mul, [x] * (whole - 1), x)
    return lambda m, x: _power(m, x, whole)


def _power(m: Any, x: Any, exponent: int) -> Any:
    """A power by squaring. Beside each product is what rounding took from it, so that the power is
    rounded once: from T. J. Dekker, A Floating-Point Technique for Extending the Available
    Precision (1971), where a product that is added without rounding gives the rest."""

    def product(a: Any, b: Any) -> Any:
        (a, of_a), (b, of_b) = a, b
        return (whole := a * b), m.fma(a, b, -whole) + (a * of_b + b * of_a)

    found: Any = None
    factor, left = (x, 0.0), abs(exponent)
    if exponent < 0:
        inverse = 1.0 / x
        factor = inverse, inverse * m.fma(-inverse, x, 1.0)
    while left:
        if left & 1:
            found = factor if found is None else product(found, factor)
        left >>= 1
        if left:
            factor = product(factor, factor)
    value, rest = found
    # An infinity has no rest, and a zero keeps its sign.
    return m.where(m.abs(rest) < math.inf, m.copysign(value + rest, value), value)


# Ops as formulas of others, on floats and on ints, in the language of the table's rules.
_LOGIC: dict[str, Callable[..., Any]] = {
    "logical_not": lambda m, x: x == 0,
    "logical_and": lambda m, a, b: m.where(a == 0, a != 0, b != 0),
    "logical_or": lambda m, a, b: m.where(a == 0, b != 0, a != 0),
}
ON_FLOATS: dict[str, Callable[..., Any]] = {
    "pos": _same,
    "real": _same,
    "imag": lambda m, x: 0.0,
    "angle": lambda m, x: m.atan2(0.0, x),
    "square": lambda m, x: x * x,
    "sign": lambda m, x: m.where(m.isnan(x), x, _sign(m, x)),
    "isnan": lambda m, x: x != x,
    "isinf": lambda m, x: m.abs(x) == math.inf,
    "isfinite": lambda m, x: m.abs(x) < math.inf,
    **_LOGIC,
    "minimum": _extreme("le"),
    "maximum": _extreme("ge"),
    "mod": _mod,
    "floordiv": _floordiv,
    "degrees": lambda m, x: x * (180.0 / math.pi),
    "radians": lambda m, x: x * (math.pi / 180.0),
    "sinc": lambda m, x: m.where(x == 0, 1.0, m.sin(math.pi * x) / (math.pi * x)),
    "logaddexp": _logaddexp,
}
# Ops that have such formulas in doubles only: of numbers in float32 they are rounded once.
IN_DOUBLES: dict[str, Callable[..., Any]] = {"hypot": _hypot}
# The same where several numbers are computed at once, which needn't give the bits of one.
ON_SEVERAL = {"bell": _bell}
ON_INTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("pos", "real", "floor", "ceil", "round", "trunc"), _same),
    "imag": lambda m, x: 0,
    "neg": lambda m, x: m.sub(0, x),
    "abs": lambda m, x: m.where(x < 0, -x, x),
    "sign": _sign,
    "square": lambda m, x: x * x,
    "minimum": lambda m, a, b: m.where(b < a, b, a),
    "maximum": lambda m, a, b: m.where(b > a, b, a),
    "clip": lambda m, x, low, high: m.minimum(m.maximum(x, low), high),
    "isnan": lambda m, x: x != x,
    "isinf": lambda m, x: x != x,
    "isfinite": lambda m, x: x == x,
    **_LOGIC,
}


_CHECKED = ("add", "sub", "mul", "floordiv", "mod", "fmod")  # of ints


class Machine(Protocol):
    """The operations that a machine has itself, on values that have some of its types.

    checked      an op on ints, which steps back where 64 bits don't hold the result
    instruction  an op on floats that IEEE 754 defines; None for others
    function     a function of the C library, on doubles. Raises NotNative
    known        the number of a literal; None for other values
    """

    ints: Any
    bools: Any
    doubles: Any

    def type_of(self, kind: Type) -> Any: ...
    def literal(self, number: Any, kind: Any) -> Any: ...
    def known(self, value: Any) -> Any: ...
    def cast(self, value: Any, to: Any) -> Any: ...
    def choice(self, condition: Any, a: Any, b: Any) -> Any: ...
    def compared(self, name: str, a: Any, b: Any) -> Any: ...
    def checked(self, name: str, a: Any, b: Any) -> Any: ...
    def instruction(self, name: str, values: Sequence[Any], kind: Any) -> Any: ...
    def function(self, name: str, values: Sequence[Any]) -> Any: ...


class Scalars:
    """Emits operations on scalars. `exact`: whether functions give the bits of the scalar ones;
    where rows or points are computed together they needn't. `rules` are those of ops that have
    others there."""

    def __init__(
        self,
        machine: Machine,
        exact: bool = True,
        rules: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.machine, self.exact = machine, exact
        self.on_doubles = {**ON_FLOATS, **(rules or {})}

    def operation(self, made: Operation, operands: Sequence[Any]) -> Any:
        """The result of an operation, in its type. Raises NotNative."""
        machine, of = self.machine, made.operands[-1].type
        kind = machine.type_of(of) if is_float(of) else machine.ints  # bools as ints
        try:
            found = self.apply(made.op.name, operands, kind)
        except NotNative as reason:
            reason.span = made.span
            raise
        return self.converted(found, machine.type_of(made.result.type))

    def converted(self, value: Any, to: Any) -> Any:
        """A value, or a number of a formula, as another type."""
        if isinstance(value, complex):
            raise NotNative("complex numbers have no machine code")
        is_number = isinstance(value, bool | int | float)
        return self.machine.literal(value, to) if is_number else self.machine.cast(value, to)

    def apply(self, name: str, operands: Sequence[Any], kind: Any) -> Any:
        """An op computed in doubles, in float32 or in ints, as `kind` says."""
        machine = self.machine
        if name == "where":
            condition, *sides = operands
            a, b = [self.converted(value, kind) for value in sides]
            return machine.choice(self.converted(condition, machine.bools), a, b)
        values = [self.converted(value, kind) for value in operands]
        if name in COMPARISONS:
            return machine.compared(name, *values)
        if kind == machine.ints:
            return self._on_ints(name, values)
        return self._on_floats(name, values, kind)

    def _by_rule(self, rule: Callable[..., Any], values: Sequence[Any], kind: Any) -> Any:
        return evaluate(rule, values, lambda name, given: self.apply(name, given, kind))

    def _on_floats(self, name: str, values: Sequence[Any], kind: Any) -> Any:
        if (found := self.machine.instruction(name, values, kind)) is not None:
            return found
        rules = self.on_doubles if kind == self.machine.doubles else ON_FLOATS
        rule = rules.get(name) or OPS[name].forward
        if rule is not None:
            return self._by_rule(rule, values, kind)
        # Of numbers in float32 it is computed in doubles, and rounded once.
        doubles = [self.converted(value, self.machine.doubles) for value in values]
        rule = IN_DOUBLES.get(name)
        if not self.exact and name == "pow" and (rule := power_of(self.machine.known(values[1]))):
            doubles = doubles[:1]
        if rule is not None:
            return self.converted(self._by_rule(rule, doubles, self.machine.doubles), kind)
        return self.converted(self.machine.function(name, doubles), kind)

    def _on_ints(self, name: str, values: Sequence[Any]) -> Any:
        if name in ON_INTS:
            return self._by_rule(ON_INTS[name], values, self.machine.ints)
        if name in _CHECKED:
            return self.machine.checked(name, *values)
        exponent = self.machine.known(values[1]) if name == "pow" else None
        if exponent is None or exponent < 0:
            raise NotNative(f"`{name}` of ints has no machine code")
        return self._power(values[0], exponent)

    def _power(self, base: Any, exponent: int) -> Any:
        """A power by squaring. A square beyond 64 bits divides the result, which is so, too."""
        result = self.machine.literal(1, self.machine.ints)
        while exponent:
            if exponent & 1:
                result = self.machine.checked("mul", result, base)
            exponent >>= 1
            if exponent:
                base = self.machine.checked("mul", base, base)
        return result
