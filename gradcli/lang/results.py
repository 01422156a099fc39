"""What a program is for, where no `output` says so: the value of its last statement."""

from __future__ import annotations

from typing import Any, Literal

from . import syntax

Role = Literal["program", "import", "session"]  # what a program is resolved as

# Calls that stand for what they do; their value is nobody's result.
_ACTIONS = frozenset(["attach_grad", "backward"])


def result_names(tree: syntax.Module, role: Role) -> tuple[tuple[str, ...], syntax.Evaluate | None]:
    """The names whose last values are the results; or no names, and the expression statement whose
    value is. There are none where `output` says what the results are, but for a session."""
    if role != "session" and _has_output(tree.statements):
        return (), None
    for statement in reversed(tree.statements):
        if isinstance(statement, syntax.Evaluate):
            if not _is_action(statement):
                return (), statement
        elif names := _names_of(statement):
            return names, None
    return (), None


def _is_action(statement: syntax.Evaluate) -> bool:
    call = statement.value
    named = isinstance(call, syntax.Call) and isinstance(call.callee, syntax.Name | syntax.Member)
    return named and call.callee.name in _ACTIONS  # type: ignore[union-attr]


def _names_of(statement: syntax.Statement) -> tuple[str, ...]:
    """The names that a statement assigns; none where it doesn't count as a program's last."""
    if isinstance(statement, syntax.Assign):
        return _targets(statement.target)
    if isinstance(statement, syntax.Augment):
        return _targets(statement.target)
    if isinstance(statement, syntax.Update):
        return (statement.variable.name,) if isinstance(statement.variable, syntax.Name) else ()
    if isinstance(statement, syntax.If) and statement.otherwise is not None:
        bodies = [branch.body for branch in statement.branches] + [statement.otherwise]
        ends = {_last_names(body) for body in bodies}
        return ends.pop() if len(ends) == 1 else ()
    if isinstance(statement, syntax.Record | syntax.Tape | syntax.Pause):
        return _last_names(statement.body)
    return ()


def _last_names(block: syntax.Block) -> tuple[str, ...]:
    for statement in reversed(block.statements):
        if isinstance(statement, syntax.Evaluate) and not _is_action(statement):
            return ()
        if names := _names_of(statement):
            return names
    return ()


def _targets(target: Any) -> tuple[str, ...]:
    if isinstance(target, syntax.ListDisplay):
        return tuple(dict.fromkeys(name for item in target.items for name in _targets(item)))
    while isinstance(target, syntax.Member | syntax.Index):
        target = target.object
    return (target.name,)


def _has_output(statements: tuple[syntax.Statement, ...]) -> bool:
    pending = list(statements)
    while pending:
        statement = pending.pop()
        if isinstance(statement, syntax.Output):
            return True
        if isinstance(statement, syntax.If):
            for branch in statement.branches:
                pending += branch.body.statements
            if statement.otherwise is not None:
                pending += statement.otherwise.statements
    return False
