"""Rewriting of formulas for arrays, so that they need fewer passes over memory.

Results are the same to the last bit for any normal number. Ops of the table that have a formula are
inlined; `x**2` becomes a product, `x / 4` one with 0.25, `a + -b` a difference; signs and powers of
two are folded into constants. Common subexpressions become one node.
"""

from __future__ import annotations

import math
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula
from ..backends.backend import CPU
from .differentiation import substitute
from .formula_source import STRICT, simplified
from .functions import array_function
from .reading import forward_formula, is_mask


def gives_bools(node: Formula) -> bool:
    """Returns whether a formula's values are bools, not floats."""
    return bool(node.arguments) and node.kind != "where" and OPS[node.kind].integers == "bool"


class Rewriting:
    """A rewriter of formulas, whose results share their common subexpressions."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Formula] = {}  # one node for each structure

    def all(self, formulas: list[Formula]) -> list[Formula]:
        """Returns the formulas rewritten."""
        formulas = [self._of(formula) for formula in formulas]
        nodes = {id(node): node for formula in formulas for node in formula}
        uses = dict.fromkeys(nodes, 0)
        for node in [
            *nodes.values(),
            *(Formula("result", None, (formula,)) for formula in formulas),
        ]:
            for argument in node.arguments:
                uses[id(argument)] += 1
        made: dict[int, Formula] = {}
        for key, node in nodes.items():
            new = self._negated(node.arguments[0], uses, made) if node.kind == "neg" else None
            if new is None:
                new = self._node(
                    node.kind, node.value, tuple([made[id(a)] for a in node.arguments])
                )
            made[key] = new
        return [made[id(formula)] for formula in formulas]

    def _negated(
        self, node: Formula, uses: dict[int, int], made: dict[int, Formula]
    ) -> Formula | None:
        """Returns the negated product by negating a constant in it, or None.

        No other node may use the product. `made` maps nodes to rewritten ones.
        """
        if _is_real(node):
            return self._number(-float(node.value))  # an int has no negative zero
        if node.kind not in ("mul", "div") or uses[id(node)] > 1:
            return None
        for k, argument in enumerate(node.arguments):
            if (negated := self._negated(argument, uses, made)) is not None:
                arguments = [made[id(a)] for a in node.arguments]
                arguments[k] = negated
                return self._node(node.kind, None, tuple(arguments))
        return None

    def _of(self, formula: Formula) -> Formula:
        made: dict[int, Formula] = {}
        for node in formula:
            made[id(node)] = self._node(
                node.kind, node.value, tuple([made[id(a)] for a in node.arguments])
            )
        return made[id(formula)]

    def _node(self, kind: str, value: Any, arguments: tuple[Formula, ...]) -> Formula:
        """Returns the rewritten node of an operation on rewritten nodes."""
        if kind in STRICT:
            kind = "mul"
        if arguments:
            if kind == "where" and _is_real(arguments[0]):
                return arguments[1] if arguments[0].value else arguments[2]
            if kind != "where" and all(_is_real(a) for a in arguments):
                numbers = [CPU.xp.float64(a.value) for a in arguments]
                if kind == "pow":
                    # A Python number, for which `array_edges.power` may use products.
                    numbers[1] = float(arguments[1].value)
                return self._number(array_function(CPU, OPS[kind])(*numbers).item())
            if (simpler := simplified(kind, arguments)) is not None:
                return self._number(simpler.value) if simpler.kind == "number" else simpler
            if (cheaper := self._cheaper(kind, *arguments)) is not None:
                return cheaper
            if kind != "where" and OPS[kind].forward is not None:
                return self._of(substitute(forward_formula(OPS[kind]), dict(enumerate(arguments))))
        key = (kind, type(value), repr(value), *map(id, arguments))
        if key not in self._nodes:
            self._nodes[key] = Formula(kind, value, arguments)
        return self._nodes[key]

    def _cheaper(self, kind: str, *arguments: Formula) -> Formula | None:
        """Returns an equivalent with fewer or faster passes; None if there is none."""
        if kind == "neg":
            return arguments[0].arguments[0] if arguments[0].kind == "neg" else None
        if len(arguments) != 2:
            return None
        a, b = arguments
        if kind == "mul" and is_mask(a):
            a, b = b, a
        if kind == "mul" and is_mask(b) and a.kind != "number" and not gives_bools(a):
            return self._node("mul", None, (a, b.arguments[0]))  # by bools
        if kind == "pow" and b.kind == "number":
            return self._power(a, b.value)
        if kind == "div":
            return self._quotient(a, b)
        if kind == "mul":
            return self._product(a, b)
        if kind == "add" and b.kind == "neg":
            return self._node("sub", None, (a, b.arguments[0]))
        if kind == "add" and a.kind == "neg":
            return self._node("sub", None, (b, a.arguments[0]))
        if kind == "sub" and b.kind == "neg":
            return self._node("add", None, (a, b.arguments[0]))
        return None

    def _number(self, value: float) -> Formula:
        return self._node("number", value, ())

    def _power(self, a: Formula, exponent: Any) -> Formula | None:
        """Returns the products that `array_edges.power` computes."""
        if a.kind == "number" or isinstance(exponent, complex) or exponent not in (2, 3, 4, -1):
            return None
        if exponent == -1:
            return self._node("div", None, (self._number(1.0), a))
        square = self._node("mul", None, (a, a))
        return (
            square
            if exponent == 2
            else self._node("mul", None, (square, a if exponent == 3 else square))
        )

    def _quotient(self, a: Formula, b: Formula) -> Formula | None:
        if _is_power_of_two(b):
            return self._node("mul", None, (self._number(1.0 / b.value), a))
        if a.kind == "neg":
            return self._node("neg", None, (self._node("div", None, (a.arguments[0], b)),))
        if b.kind == "neg":
            return self._node("neg", None, (self._node("div", None, (a, b.arguments[0])),))
        return None

    def _product(self, a: Formula, b: Formula) -> Formula | None:
        if b.kind == "number" and a.kind != "number":
            a, b = b, a
            return self._node("mul", None, (a, b))
        if _is_real(a) and a.value == -1:
            return self._node("neg", None, (b,))
        if _is_real(a) and b.kind == "neg":
            return self._node("mul", None, (self._number(-a.value), b.arguments[0]))
        if a.kind == "neg":
            return self._node("neg", None, (self._node("mul", None, (a.arguments[0], b)),))
        if b.kind == "neg":
            return self._node("neg", None, (self._node("mul", None, (a, b.arguments[0])),))
        if _is_real(a) and b.kind in ("mul", "div") and _is_real(inner := b.arguments[0]):
            # A power of two changes no digits, but a quotient is rounded before the other factor
            # comes. Both factors are above 1 or both below, so the inner result overflows only if
            # this one does.
            factor, sizes = a.value * inner.value, (abs(a.value), abs(inner.value))
            if (
                (min(sizes) >= 1 or max(sizes) <= 1)
                and math.isfinite(factor)
                and (_is_power_of_two(a) or (b.kind == "mul" and _is_power_of_two(inner)))
            ):
                return self._node(b.kind, None, (self._number(factor), b.arguments[1]))
        return None


def _is_real(formula: Formula) -> bool:
    return formula.kind == "number" and not isinstance(formula.value, complex)


def _is_power_of_two(formula: Formula) -> bool:
    """Returns whether dividing by the number is exactly multiplying by its inverse."""
    return (
        _is_real(formula)
        and 1e-300 < abs(formula.value) < 1e300
        and abs(math.frexp(formula.value)[0]) == 0.5
    )
