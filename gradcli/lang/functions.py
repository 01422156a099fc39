"""Resolves what makes functions: `fn` statements, anonymous functions, and the rules that functions
are given."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from ..diagnostics import COMPREHENSION, Source, Span
from ..ops import OPS
from . import program, syntax
from .flow import Frame, Journal
from .rules import verify_inline, verify_registered, why_not_registered
from .scopes import ITEMS, SEQUENCE, Scopes
from .windows import WindowResolver


class FunctionResolver(WindowResolver):
    """Functions have scopes of their own."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        super().__init__(source, scopes)
        self.registered = Journal()  # the functions that `backward NAME` has given a rule
        self.cases[syntax.Comprehension] = self.comprehension

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
                    "E200",
                    f"unknown function `{name}`",
                    at,
                    help=self.suggestion(name, at, "function"),
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

    # ---- comprehensions ----

    def comprehension(self, node: syntax.Comprehension) -> program.Expression:
        """A call of a function that appends in loops: what its first `for` goes through is its
        argument, and so is evaluated outside."""
        sequence = program.Argument(self.expression(node.clauses[0].iterable))
        scope, outer = self.scopes.functions[id(node)], self.frame
        outside = frozenset(name for name in scope.captures if outer.is_assigned(name))
        self.frame = Frame(scope, outer, "function", assigned_outside=outside)
        source, items = (scope.bindings[name].slot for name in (SEQUENCE, ITEMS))
        empty = program.ListDisplay((), span=node.span)
        body = (
            program.Assign(program.NameTarget(items, span=node.span), empty, span=node.span),
            self._clause(node, 0, program.Read(source, span=node.clauses[0].iterable.span)),
            program.Return(program.Read(items, span=node.span), span=node.span),
        )
        self.frame = outer
        captures = tuple((self.slot_of(captured), own) for captured, own in scope.captures.items())
        parameter = program.FunctionParameter(source, None, node.span)
        function = program.Function(
            COMPREHENSION, (parameter,), body, scope.n_slots, captures, span=node.span
        )
        callee = program.FunctionLiteral(function, span=node.span)
        return program.Call(callee, (sequence,), span=node.span)

    def _clause(
        self, node: syntax.Comprehension, k: int, iterable: program.Expression
    ) -> program.Statement:
        """The loop of a clause, with those of the clauses behind it inside."""
        clause = node.clauses[k]
        with self.loop(node.span):
            target = self.loop_target(clause.names)
            conditions = [self.expression(condition) for condition in clause.conditions]
            if k + 1 < len(node.clauses):
                following = self.expression(node.clauses[k + 1].iterable)
                inner = self._clause(node, k + 1, following)
            else:
                inner = self._append(node.item)
            for condition in reversed(conditions):
                inner = program.If(((condition, (inner,)),), (), span=condition.span)
        return program.For(target, iterable, (inner,), span=clause.span)

    def _append(self, node: syntax.Expression) -> program.Statement:
        slot, span = self.frame.scope.bindings[ITEMS].slot, node.span
        operands = (program.Read(slot, span=span), self.expression(node))
        longer = program.Apply(OPS["append"], operands, span=span)
        return program.Assign(program.NameTarget(slot, span=span), longer, span=span)

    def loop(self, span: Span) -> AbstractContextManager[None]:
        raise NotImplementedError  # the resolver of statements knows loops

    def loop_target(self, names: tuple[syntax.Name, ...]) -> program.Target:
        raise NotImplementedError
