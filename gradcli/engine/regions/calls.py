"""Calls of functions, which are inlined."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span
from ...lang import program
from ...lang.program.liveness import Liveness
from ...ops.op import Op
from ..ir.builder import Builder
from .expressions import Expressions
from .names import ABSENT, MISSING, Closure, Name, NotCompiled

MAX_INLINED = 40  # calls inside each other


class Calls(Expressions):
    """The lowering of calls."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.depth = 0
        self.own_parameters: set[int] = set()  # slots of the function that is being inlined
        self.bodies: dict[int, Liveness] = {}  # of functions

    def call_body(self, function: program.Function) -> Any:
        raise NotImplementedError

    def liveness_of(self, function: program.Function) -> Liveness:
        return self.bodies.setdefault(id(function), Liveness(function.body))

    def call(self, node: program.Call) -> Any:
        callee = self.expression(node.callee)
        given = [self.expression(a.value) for a in node.arguments if not a.keyword]
        named = {a.keyword: self.expression(a.value) for a in node.arguments if a.keyword}
        return self.called(callee, given, named, node.span)

    def method(self, node: program.MethodCall) -> Any:
        if node.function is not None:
            callee = self.expression(node.function)
        elif node.op is not None:
            callee = node.op
        else:
            raise NotCompiled(f"`.{node.name}` is not compiled", node.span)
        receiver = self.expression(node.receiver)
        given = [self.expression(a.value) for a in node.arguments if not a.keyword]
        named = {a.keyword: self.expression(a.value) for a in node.arguments if a.keyword}
        return self.called(callee, [receiver, *given], named, node.span)

    def called(self, callee: Any, given: list[Any], named: dict[str, Any], span: Span) -> Any:
        if isinstance(callee, Op):
            return self.bound_call(callee, given, named, span)
        if not isinstance(callee, Closure):
            raise NotCompiled("what is called here isn't known", span)
        return self.inlined(callee, given, named, span)

    def inlined(self, callee: Closure, given: list[Any], named: dict[str, Any], span: Span) -> Any:
        function = callee.function
        if function.rule is not None or function.opaque:
            raise NotCompiled("a function with a rule of its own is not compiled", span)
        if self.depth == MAX_INLINED:
            raise NotCompiled("recursion is not compiled", span)
        outer, self.frame = (self.frame, self.liveness, self.own_parameters), self.names.new_frame()
        self.liveness = self.liveness_of(function)
        self.own_parameters = {parameter.slot.index for parameter in function.parameters}
        held = self.names.held
        for k, parameter in enumerate(function.parameters):
            name = parameter.slot.name
            value = given[k] if k < len(given) else named.get(name, callee.defaults[k])
            if value is MISSING:
                raise NotCompiled(f"the argument `{name}` is missing", span)
            held[Name(self.frame, parameter.slot.index)] = value
        captured = [Name(callee.frame, outside.index) for outside, _ in function.captures]
        own = [Name(self.frame, slot.index) for _, slot in function.captures]
        self.names.put(own, self.names.of(captured))
        if function.self_slot is not None:
            held[Name(self.frame, function.self_slot.index)] = callee
        self.depth += 1
        try:
            returned = self.surely(self.call_body(function))
            return None if returned is ABSENT else returned
        finally:
            self.depth -= 1
            self.frame, self.liveness, self.own_parameters = outer
