"""Formulas: elementwise rules as data. A rule is called once, with symbols, and builds a formula,
which every interpretation reads.

`lambda m, y, x: 1 / m.cosh(x)**2`, called with symbols, gives the formula `div(1, pow(cosh(x),
2))`. The engine makes a function on floats and one on arrays of it, replays it through the trace,
and can hand it to SymPy.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .operators import give_operators


class Formula:
    """A node of a formula: a number, an operand, the result, or an op applied to formulas.

    `kind` is "number", "operand", "result" or the name of an op; `value` is the number or the
    operand's index.
    """

    __slots__ = ("_order", "arguments", "kind", "value")
    __array_ufunc__ = None  # NumPy's numbers leave their operators to formulas

    def __init__(self, kind: str, value: Any = None, arguments: tuple[Formula, ...] = ()) -> None:
        self.kind, self.value, self.arguments = kind, value, arguments
        self._order: tuple[Formula, ...] | None = None

    def __repr__(self) -> str:
        if self.arguments:
            return f"{self.kind}({', '.join(map(repr, self.arguments))})"
        return (
            repr(self.value)
            if self.kind == "number"
            else "y"
            if self.kind == "result"
            else f"x{self.value}"
        )

    def __bool__(self) -> bool:
        raise TypeError("a formula is neither true nor false: `m.where(condition, a, b)` chooses")

    def __iter__(self) -> Iterator[Formula]:
        """Every node once, operands before the nodes that use them."""
        if self._order is None:
            # Without the formula itself: it would be a cycle, and so outlive its last use.
            self._order = tuple(self.nodes_but(())[:-1])
        return chain(self._order, (self,))

    def nodes_but(self, known: Container[int]) -> list[Formula]:
        """The nodes, operands first, without those whose identity is `known` and what is below
        these."""
        order: dict[int, Formula] = {}
        pending: list[Formula | tuple[Formula]] = [self]
        while pending:
            node = pending.pop()
            if isinstance(node, tuple):  # whose arguments are there
                order.setdefault(id(node[0]), node[0])
            elif id(node) in order or id(node) in known:
                continue
            elif node.arguments:
                pending.append((node,))
                pending.extend(reversed(node.arguments))
            else:
                order[id(node)] = node
        return list(order.values())

    def reads(self) -> set[int | str]:
        """The operands (by index) whose values the formula uses, and "result" if it uses the
        result."""
        return {
            "result" if n.kind == "result" else n.value
            for n in self
            if n.kind in ("result", "operand")
        }

    def evaluate(
        self, operands: Sequence[Any], result: Any, call: Callable[[str, list[Any]], Any]
    ) -> Any:
        """The value of the formula, where `call(name, values)` applies an op to values."""
        known: dict[int, Any] = {}
        for node in self:
            if node.kind == "number":
                value = node.value
            elif node.kind == "operand":
                value = operands[node.value]
            elif node.kind == "result":
                value = result
            else:
                value = call(node.kind, [known[id(a)] for a in node.arguments])
            known[id(node)] = value
        return known[id(self)]


def _lift(value: Any) -> Formula:
    return value if isinstance(value, Formula) else Formula("number", value)


def _applied(name: str, operands: Iterable[Any]) -> Formula:
    return Formula(name, None, tuple(map(_lift, operands)))


give_operators(Formula, lambda self, name, operands: _applied(name, operands))


class Symbols:
    """The `m` that builds formulas: `m.sin(x)` is the formula `sin(x)`."""

    def __getattr__(self, name: str) -> Callable[..., Formula]:
        return lambda *arguments: _applied(name, arguments)


def read_forward(rule: Callable[..., Any], n_operands: int) -> Formula:
    """The formula of a forward rule `(m, *operands)`."""
    return _lift(rule(Symbols(), *(Formula("operand", k) for k in range(n_operands))))


def read_partial(rule: Callable[..., Any], n_operands: int) -> Formula:
    """The formula of a partial `(m, y, *operands)`."""
    return _lift(
        rule(Symbols(), Formula("result"), *(Formula("operand", k) for k in range(n_operands)))
    )
