"""Rules about which statements run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...diagnostics import Diagnostic, Span
from ...lang import syntax
from ..facts import Facts
from ..findings import Finding

_LEAVES = syntax.Return | syntax.Break | syntax.Continue


def unreachable(facts: Facts) -> Iterator[Finding]:
    """W404: statements that never run."""
    for statements in facts.blocks():
        for statement, following in pairwise(statements):
            if _leaves(statement):
                yield _never_runs(following.span, f"line {statement.span.line} leaves the block")
                break
    for node, _ in facts.of(syntax.Branch, syntax.While):
        condition = node.condition
        if isinstance(condition, syntax.Word) and condition.value is False:
            yield _never_runs(condition.span, "its condition is false", "this block")


def _never_runs(span: Span, label: str, what: str = "this") -> Finding:
    diagnostic = Diagnostic("W404", f"{what} never runs", span, label=label, help="remove it")
    return Finding(diagnostic)


def _leaves(statement: syntax.Statement) -> bool:
    """Whether what follows a statement in its block never runs."""
    if not isinstance(statement, syntax.If):
        return isinstance(statement, _LEAVES)
    bodies = [branch.body for branch in statement.branches]
    if statement.otherwise is None:
        return False
    return all(any(map(_leaves, body.statements)) for body in [*bodies, statement.otherwise])
