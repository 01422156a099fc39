"""Formulas on numbers in IR, written with Python's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.rule_values import Number, RuleLanguage
from .builder import Builder
from .instructions import Value


class Numbers(RuleLanguage):
    """The `m` of formulas whose operations a builder adds, as in `m.where(x > 0, x, -x)`. At least
    one operand of an operator is a `Number`; the others may be values, or Python's numbers, which
    become constants."""

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        return self.number(self.builder.apply(name, list(map(self.value, arguments))))

    def number(self, value: Value) -> Any:
        """A value as an operand."""
        return Number(value, self)

    def value(self, operand: Any) -> Value:
        """The value of an operand."""
        value = operand.v if isinstance(operand, Number) else operand
        return value if isinstance(value, Value) else self.builder.constant(value)

    def formula(self, rule: Callable[..., Any]) -> Callable[..., Value]:
        """A function of operands as a function of values."""
        return lambda *values: self.value(rule(*map(self.number, values)))
