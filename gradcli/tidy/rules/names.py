"""Rules about names: what nothing reads, what hides something else, and variables that can't be
differentiated by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic, Source, Span
from ...lang import syntax
from ...lang.constants import CONSTANTS
from ...lang.scopes import Binding, Event, Scope
from ...ops import BUILTINS
from ..facts import Facts
from ..findings import Finding

_DECLARED = {"var", "frozen", "const"}
_FUNCTIONS = (syntax.Function, syntax.Define, syntax.Rule, syntax.Backward)


def unused(facts: Facts) -> Iterator[Finding]:
    """W401: names that nothing reads."""
    has_output = bool(facts.of(syntax.Output))
    help = "remove it, or begin its name with `_`"
    for scope in [facts.scopes.top, *_function_scopes(facts)]:
        for name, binding in scope.bindings.items():
            kinds = binding.kinds
            is_checked = scope is not facts.scopes.top or has_output or kinds == {"import"}
            is_given = kinds & {"parameter", "for"} or _is_unpacked(binding) or name[0] == "_"
            if is_checked and not is_given and not facts.is_read(name, scope):
                span = _name_span(binding.events[0], name, facts.source)
                if facts.is_to_fail(span.start):
                    continue
                yield Finding(Diagnostic("W401", f"`{name}` is never read", span, help=help))


def hides_outer(facts: Facts) -> Iterator[Finding]:
    """W402: assignments in functions that leave a declared name outside as it is."""
    for scope in _function_scopes(facts):
        for name, binding in scope.bindings.items():
            outer = facts.home(name, scope.parent) if scope.parent else None
            if outer is None or not (binding.kinds <= {"assign", "augment"}):
                continue
            declared = [e for e in outer.bindings[name].events if e.kind in _DECLARED]
            if declared:
                span = _name_span(binding.events[0], name, facts.source)
                line = _name_span(declared[0], name, facts.source).line
                message = f"`{name}` is local to the function, and hides the one of line {line}"
                is_state = declared[0].kind != "const"
                update = f"write `{name} := …` to update that, or " if is_state else ""
                help = f"{update}choose another name"
                yield Finding(Diagnostic("W402", message, span, help=help))


def hides_builtin(facts: Facts) -> Iterator[Finding]:
    """W403: names of builtins and constants that mean something else."""
    own = {facts.scopes.top, *_function_scopes(facts)}
    for scope in [facts.scopes.top, *facts.scopes.functions.values()]:
        for name, binding in scope.bindings.items():
            is_own = scope in own and binding.kinds != {"parameter"}
            what = "constant" if name in CONSTANTS else "builtin" if name in BUILTINS else ""
            if what == "constant" or (what == "builtin" and is_own):
                span = _name_span(binding.events[0], name, facts.source)
                message = f"`{name}` hides the {what} of this name"
                yield Finding(Diagnostic("W403", message, span, help="choose another name"))


def rebound(facts: Facts) -> Iterator[Finding]:
    """W203: variables whose name becomes that of a plain value."""
    for scope in [facts.scopes.top, *_function_scopes(facts)]:
        for name, binding in scope.bindings.items():
            if "var" not in binding.kinds:
                continue
            for event in binding.events:
                if event.kind in ("assign", "augment"):
                    span = _name_span(event, name, facts.source)
                    message = f"`{name}` is a variable, and becomes a plain value here"
                    help = f"write `{name} := …` to update it, or give the value another name"
                    yield Finding(Diagnostic("W203", message, span, help=help))


def int_variables(facts: Facts) -> Iterator[Finding]:
    """W202: variables that hold ints."""
    for node, scope in facts.of(syntax.Declare):
        if node.kind == "var" and node.value is not None:
            is_int = facts.kind(node.value, scope) == "int"
            if is_int and (node.type is None or node.type.dtype == "int64"):
                name = node.name.name
                is_number = isinstance(node.value, syntax.Number)
                value = f"{node.value.span.text}.0" if is_number else "floats"
                help = f"write {value}, or `const {name}` if it is no variable"
                message = f"`{name}` holds ints, and has no gradient"
                yield Finding(Diagnostic("W202", message, node.name.span, help=help))


def _function_scopes(facts: Facts) -> list[Scope]:
    """The scopes of functions; the names of a module are its members."""
    nodes = [node for node, _ in facts.of(*_FUNCTIONS)]
    return [facts.scopes.functions[id(node)] for node in nodes]


def _is_unpacked(binding: Binding) -> bool:
    """Whether a name is one of several that a list is unpacked into."""
    nodes = [event.node for event in binding.events]
    return any(
        isinstance(n, syntax.Assign) and isinstance(n.target, syntax.ListDisplay) for n in nodes
    )


def _name_span(event: Event, name: str, source: Source) -> Span:
    """Where a name stands that something binds."""
    node: Any = event.node
    if isinstance(node, syntax.Import):
        return node.alias.span
    if isinstance(node, syntax.For | syntax.Clause):
        return next(item.span for item in node.names if item.name == name)
    if isinstance(node, syntax.Augment):
        return node.target.span
    if isinstance(node, syntax.Assign):
        return Span(source, event.start, event.start + len(name))
    span: Span = node.name.span
    return span
