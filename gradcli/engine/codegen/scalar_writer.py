"""Operations of the table on scalars as machine code: those that a machine has itself, and formulas
of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...ops import OPS
from ...ops.rule_values import evaluate
from ..ir.instructions import Operation
from ..ir.types import Type, is_float
from .scalar_ops import COMPARISONS, IN_DOUBLES, ON_FLOATS, ON_INTS, NotNative, power_of

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
