"""Resolves what makes functions: `fn` statements, anonymous functions."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Span
from . import program, syntax
from .expressions import Frame
from .windows import WindowResolver

# What this version parses but doesn't run. To add one, remove it here and give it a case.
NOT_YET: dict[type, str] = {
    syntax.Record: "record",
    syntax.ModuleDefinition: "module",
    syntax.Backward: "backward",
}


class FunctionResolver(WindowResolver):
    """Functions have scopes of their own."""

    def define(self, node: syntax.Define) -> program.Statement:
        if node.opaque:
            self.not_yet("opaque", node.span)
        if node.rule is not None:
            self.not_yet("backward", node.rule.span)
        value = program.FunctionLiteral(self.function(node.name.name, node), span=node.span)
        target = program.NameTarget(self.bound(node.name), span=node.name.span)
        return program.Assign(target, value, span=node.span)

    def function(self, name: str, node: syntax.Function | syntax.Define) -> program.Function:
        scope, outer = self.scopes.functions[id(node)], self.frame
        defaults = [self.optional(parameter.default) for parameter in node.parameters]
        assigned_outside = frozenset(captured for captured in scope.captures if outer.is_assigned(captured))
        self.frame = Frame(scope, outer, assigned_outside=assigned_outside)
        parameters: list[program.FunctionParameter] = []
        for parameter, default in zip(node.parameters, defaults, strict=True):
            if parameter.name.name in self.frame.assigned:
                self.report.add("E206", f"the parameter `{parameter.name.name}` stands twice", parameter.name.span)
            self.frame.assigned.add(parameter.name.name)
            slot = scope.bindings[parameter.name.name].slot
            parameters.append(program.FunctionParameter(slot, default, parameter.span))
        if isinstance(node.body, syntax.Block):
            body, _ = self.block(node.body.statements)
        else:
            body = (program.Return(self.expression(node.body), span=node.body.span),)
        self.frame = outer
        captures = tuple((self.slot_of(captured), own) for captured, own in scope.captures.items())
        itself = None if scope.itself is None else scope.itself.slot
        return program.Function(name, tuple(parameters), body, scope.n_slots, captures, itself, span=node.span)

    def refuse(self, node: Any) -> None:
        self.not_yet(NOT_YET[type(node)], node.span)

    def not_yet(self, word: str, span: Span) -> None:
        at = span._replace(end=span.start + len(word))
        self.report.add("E299", f"`{word}` is not part of this version yet", at)
