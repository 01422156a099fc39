"""Rules of elementwise entries as data, each of which is read once: as formulas, which are
differentiated, and written as functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from ...ops.op import Op
from ...ops.registry import on_change
from ...ops.rule_values import evaluate

Made = TypeVar("Made")


class Formula:
    """A node of a formula: a number, an operand, or an op applied to formulas.

    `kind` is "number", "operand" or the name of an op; `value` is the number, the operand's index,
    or "result", which partials have as an operand, too.
    """

    __slots__ = ("_order", "arguments", "kind", "value")

    def __init__(self, kind: str, value: Any = None, arguments: tuple[Formula, ...] = ()) -> None:
        self.kind, self.value, self.arguments = kind, value, arguments
        self._order: tuple[Formula, ...] | None = None

    def __iter__(self) -> Iterator[Formula]:
        """Every node once, operands before the nodes that use them."""
        if self._order is None:
            # Without the formula itself: it would be a cycle, and so outlive its last use.
            self._order = tuple(self._ordered()[:-1])
        return chain(self._order, (self,))

    def _ordered(self) -> list[Formula]:
        order: dict[int, Formula] = {}
        pending: list[Formula | tuple[Formula]] = [self]
        while pending:
            node = pending.pop()
            if isinstance(node, tuple):  # whose arguments are there
                order.setdefault(id(node[0]), node[0])
            elif not node.arguments:
                order.setdefault(id(node), node)
            elif id(node) not in order:
                pending.append((node,))
                pending.extend(reversed(node.arguments))
        return list(order.values())

    def reads(self) -> set[int | str]:
        """The operands whose values the formula uses, "result" among them."""
        return {node.value for node in self if node.kind == "operand"}

    def evaluate(
        self, leaf: Callable[[Formula], Any], call: Callable[[str, list[Any]], Any]
    ) -> Any:
        """The value of the formula, where `leaf` gives those of numbers and operands, and `call`
        applies an op to values."""
        known: dict[int, Any] = {}
        for node in self:
            if node.arguments:
                known[id(node)] = call(node.kind, [known[id(a)] for a in node.arguments])
            else:
                known[id(node)] = leaf(node)
        return known[id(self)]

    def rule(self, places: Sequence[int | str]) -> Callable[..., Any]:
        """The formula as a rule of the operands in these places."""

        def evaluated(m: Any, *operands: Any) -> Any:
            values = dict(zip(places, operands, strict=True))
            return self.evaluate(
                lambda node: node.value if node.kind == "number" else values[node.value], m.call
            )

        return evaluated

    def is_number(self, value: float) -> bool:
        """Whether the formula is a number, a real one."""
        return self.kind == "number" and type(self.value) is not complex and self.value == value


def applied(name: str, operands: Iterable[Any]) -> Formula:
    """The formula of an op applied to formulas and numbers."""
    return Formula(name, None, tuple(map(_lift, operands)))


def _lift(value: Any) -> Formula:
    return value if isinstance(value, Formula) else Formula("number", value)


def read(rule: Callable[..., Any], places: Iterable[int | str]) -> Formula:
    """The formula of a rule of operands in these places."""
    return _lift(evaluate(rule, [Formula("operand", place) for place in places], applied))


def per_op(make: Callable[..., Made]) -> Callable[..., Made]:
    """Caches what is computed for an op, until the table changes.

    The cache is bounded, since programs define ops of their own.
    """
    made = lru_cache(maxsize=1024)(make)
    on_change(made.cache_clear)
    return made


@per_op
def forward_formula(op: Op) -> Formula:
    assert op.forward is not None
    return read(op.forward, range(len(op.signature.operands)))
