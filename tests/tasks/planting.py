"""Wrong rules, planted into the op table for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradcli.ops.op import Op
from gradcli.ops.registry import replaced

Rule = Callable[..., Any]

# What may be wrong with a rule: a function of the right value, which has Python's operators.
MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "factor": lambda value: value * 1.001,
    "sign": lambda value: -value,
    "missing": lambda value: value * 0.0,
}


@contextmanager
def planted(op: Op, mutation: Callable[[Any], Any], operand: int = 0) -> Iterator[None]:
    """The rule of an op by one operand, wrong."""

    def wrong(rule: Rule | None) -> Rule | None:
        return None if rule is None else lambda *arguments, **options: mutation(rule(*arguments, **options))

    def at(rules: Any) -> Any:
        if callable(rules):
            return wrong(rules)
        return tuple(wrong(rule) if k == operand else rule for k, rule in enumerate(rules))

    if op.elementwise:
        changed: dict[str, Any] = {"partials": at(op.partials)}
    elif op.accumulate is not None:
        accumulate = op.accumulate
        changed = {"accumulate": lambda m, total, g, *rest, **options: accumulate(m, total, mutation(g), *rest, **options)}
    else:
        changed = {"vjp": at(op.vjp)}
    with replaced(op.name, **changed):
        yield
