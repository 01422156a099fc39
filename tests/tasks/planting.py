"""Wrong rules, planted into the op table for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradcli.ops.op import Op
from gradcli.ops.registry import replaced

Rule = Callable[..., Any]

# What is wrong with a rule: (the functions of the language, the right value, the operand it is by)
# -> another value.
Mutation = Callable[[Any, Any, Any], Any]


@contextmanager
def planted(op: Op, mutation: Mutation, operand: int = 0) -> Iterator[None]:
    """The rule of an op by one operand, wrong."""

    def wrong(rule: Rule | None, first: int) -> Rule | None:
        if rule is None:
            return None
        return lambda m, *arguments, **options: mutation(
            m, rule(m, *arguments, **options), arguments[first + operand]
        )

    def at(rules: Any, first: int) -> Any:
        if callable(rules):
            return wrong(rules, first + 1)  # which gets the operand's number, too
        return tuple(wrong(rule, first) if k == operand else rule for k, rule in enumerate(rules))

    if op.elementwise:
        changed: dict[str, Any] = {"partials": at(op.partials, 1)}  # (m, y, *operands)
    elif op.accumulate is not None:
        accumulate = op.accumulate
        changed = {
            "accumulate": lambda m, total, g, *rest, **options: accumulate(
                m, total, mutation(m, g, g), *rest, **options
            )
        }
    else:
        changed = {"vjp": at(op.vjp, 2)}  # (m, g, y, *operands)
    with replaced(op.name, **changed):
        yield
