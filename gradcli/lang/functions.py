"""Resolves what makes functions: `fn` statements, anonymous functions, and the rules that functions
are given."""

from __future__ import annotations

from typing import Literal

from ..diagnostics import Source
from . import program, syntax
from .expressions import Frame
from .flow import Journal
from .rules import verify_inline, verify_registered, why_not_registered
from .scopes import Scopes
from .windows import WindowResolver


class FunctionResolver(WindowResolver):
    """Functions have scopes of their own."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        super().__init__(source, scopes)
        self.registered = Journal()  # the functions that `backward NAME` has given a rule

    def define(self, node: syntax.Define) -> program.Statement:
        value = program.FunctionLiteral(self.function(node.name.name, node), span=node.span)
        target = program.NameTarget(self.bound(node.name), span=node.name.span)
        return program.Assign(target, value, span=node.span)

    def backward(self, node: syntax.Backward) -> program.Statement | None:
        """`backward f(dy, x) { … }`, which registers a rule when it is executed."""
        name, at = node.name.name, node.name.span
        rule = self.function(f"backward {name}", node)
        function, binding = self.read(name, at), self.frame.scope.find(name)
        if binding is None or function is None:
            if function is None:
                self.report.add(
                    "E200", f"unknown function `{name}`", at, help=self.suggestion(name)
                )
            else:
                self.report.add("E222", f"`{name}` is a builtin, which has its rule", at)
            return None
        message, help = why_not_registered(name, binding)
        if message:
            self.report.add("E222", message, at, help=help)
            return None
        if isinstance(function, program.Builtin):
            self.too_early(binding, at)
        if str(id(binding)) in self.registered:
            self.report.add(
                "E222",
                f"`{name}` has been given a rule already",
                at,
                help="leave out one of the two",
            )
        self.registered.add(str(id(binding)))
        verify_registered(name, binding.only("fn"), node, self.report)
        return program.Backward(function, rule, span=node.span)

    def function(self, name: str, node: syntax.Scoped) -> program.Function:
        """The code of a function; of a module too, whose body is one."""
        scope, outer = self.scopes.functions[id(node)], self.frame
        kind: Literal["function", "module"] = (
            "module" if isinstance(node, syntax.ModuleDefinition) else "function"
        )
        defaults = [self.optional(parameter.default) for parameter in node.parameters]
        assigned_outside = frozenset(
            captured for captured in scope.captures if outer.is_assigned(captured)
        )
        self.frame = Frame(scope, outer, kind, assigned_outside=assigned_outside)
        parameters: list[program.FunctionParameter] = []
        for parameter, default in zip(node.parameters, defaults, strict=True):
            if parameter.name.name in self.frame.assigned:
                self.report.add(
                    "E206",
                    f"the parameter `{parameter.name.name}` stands twice",
                    parameter.name.span,
                )
            self.frame.assigned.add(parameter.name.name)
            slot = scope.bindings[parameter.name.name].slot
            parameters.append(program.FunctionParameter(slot, default, parameter.span))
        if isinstance(node.body, syntax.Block):
            body, _ = self.block(node.body.statements)
        else:
            body = (program.Return(self.expression(node.body), span=node.body.span),)
        rule = None
        if (
            isinstance(node, syntax.Define) and node.rule is not None
        ):  # a function inside this one, made when this one ends
            verify_inline(name, node.rule, self.report)
            rule = self.function(f"backward {name}", node.rule)
        self.frame = outer
        captures = tuple((self.slot_of(captured), own) for captured, own in scope.captures.items())
        itself = None if scope.itself is None else scope.itself.slot
        opaque = isinstance(node, syntax.Define) and node.opaque
        return program.Function(
            name,
            tuple(parameters),
            body,
            scope.n_slots,
            captures,
            itself,
            rule,
            opaque,
            span=node.span,
        )
