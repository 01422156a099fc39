"""Finds what a program computes and throws away: statements that only have a value, and functions
that end without `return` although their value is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...diagnostics import Diagnostic
from ...lang import program
from ...lang.program.walks import own_nodes

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_EFFECTS = frozenset(("backward", "attach_grad"))  # builtins that do something
# imports have warnings of their own; the others are expected to fail
_APART = frozenset((program.Program, program.ExpectError))


def discarded(node: program.Program) -> list[Diagnostic]:
    """A warning for each value that is thrown away (W206), and for each function without one
    (W207), in the order of the text."""
    nodes = list(own_nodes(node.body, _APART))
    ignored = {id(item.value) for item in nodes if isinstance(item, program.Evaluate)}
    called = [item for item in nodes if isinstance(item, program.Call) and id(item) not in ignored]
    used = {item.callee.slot.name for item in called if isinstance(item.callee, program.Read)}
    functions = [item.function for item in nodes if isinstance(item, program.FunctionLiteral)]
    nameless = {id(statement) for function in functions for statement in function.body[-1:]}
    empty = [
        _without_value(function)
        for function in functions
        if function.name in used and _ends_without(function)
    ]
    warned = {warning.span for warning in empty}
    found = [
        _thrown_away(item, id(item) in nameless)
        for item in nodes
        if isinstance(item, program.Evaluate)
        and item.span not in warned
        and not _does_something(item.value, node.has_modules)
    ]
    return sorted(found + empty, key=lambda warning: warning.span.start if warning.span else 0)


def _thrown_away(item: program.Evaluate, ends_function: bool) -> Diagnostic:
    text = item.span.brief
    value = item.value
    name, arrow, rest = (part.strip() for part in text.partition("<-"))
    if ends_function:
        help = f"write `return {text}`, if it is the value of the function"
    elif isinstance(value, program.MethodCall) and isinstance(value.receiver, program.Read):
        name = value.receiver.slot.name
        help = f"values never change: write `{name} = {text}`, or leave it out"
    elif arrow and name.isidentifier():
        help = f"write `{name} = {rest}` to assign; `<-` compares with a negative value"
    elif isinstance(value, program.Apply) and value.op.infix in _COMPARISONS:
        help = f"write `expect {text}` to state it, or leave it out"
    else:
        help = f"give it a name (`y = {text}`), `print` it, or leave it out"
    return Diagnostic("W206", f"the value of `{text}` is thrown away", item.span, help=help)


def _does_something(value: program.Expression, has_modules: bool) -> bool:
    """Whether an expression may have a side effect: it calls what isn't a builtin. A string may be
    a comment."""
    if isinstance(value, program.Constant) and type(value.value) is str:
        return True
    for item in own_nodes((value,), _APART):
        if isinstance(item, program.Call):
            return True
        if isinstance(item, program.MethodCall) and (
            item.op is None or item.function is not None or has_modules
        ):
            return True
        op = getattr(item, "op", None)
        if op is not None and op.name in _EFFECTS:
            return True
    return False


def _without_value(function: program.Function) -> Diagnostic:
    last = function.body[-1]
    at = last.span
    if isinstance(last, program.Evaluate):
        help = f"write `return {at.brief}`"
    elif isinstance(last, program.Assign) and isinstance(last.target, program.NameTarget):
        help = f"write `return {last.target.slot.name}` at its end"
    else:
        help = "write `return …` at its end"
    ends = "has no `return`" if not _returns(function.body) else "can end without `return`"
    return Diagnostic(
        "W207",
        f"`{function.name}` {ends}, so its value is none; and its value is used",
        at,
        help=help,
    )


def _ends_without(function: program.Function) -> bool:
    """Whether a function never returns a value, or has a way to its end that doesn't."""
    if function.opaque or function.rule is not None or not function.body:
        return False
    return not _returns(function.body) or not _surely_returns(function.body)


def _returns(body: Iterable[Any]) -> bool:
    return any(isinstance(item, program.Return) for item in own_nodes(body))


def _surely_returns(body: tuple[program.Statement, ...]) -> bool:
    """Whether all ways through a body return, as far as the text decides it: a loop at its end that
    returns somewhere does."""
    if body and isinstance(body[-1], program.While | program.For) and _returns(body[-1:]):
        return True
    return any(map(_is_an_end, body))


def _is_an_end(item: program.Statement) -> bool:
    if isinstance(item, program.If):
        return all(map(_surely_returns, (*(branch for _, branch in item.branches), item.otherwise)))
    if isinstance(item, program.Tape | program.Pause | program.Record):
        return _surely_returns(item.body)
    return isinstance(item, program.Return)
