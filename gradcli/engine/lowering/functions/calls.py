"""Calls of functions, which are inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....lang import program
from ....lang.program.liveness import Liveness
from ....ops.op import Op
from ...ir.builder import Builder
from ..held.kinds import Choice, Record
from ..held.names import ABSENT, Closure, Members, Name, NotCompiled
from ..values.dicts import VIEWS
from .expressions import Expressions

MAX_INLINED = 40  # calls inside each other


class Calls(Expressions):
    """The lowering of calls."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.depth = self.deepest = 0  # how deep inlined calls are now, and were at most
        self.own_parameters: set[int] = set()  # slots of the function that is being inlined
        self.bodies: dict[int, Liveness] = {}  # of functions

    def call_body(
        self, function: program.Function, then: Callable[[Any], Any] | None = None
    ) -> Any:
        raise NotImplementedError

    def liveness_of(self, function: program.Function) -> Liveness:
        return self.bodies.setdefault(id(function), Liveness(function.body))

    def call(self, node: program.Call) -> Any:
        callee = self.value(self.expression(node.callee))
        return self.called(callee, *self.given_to(node))

    def given_to(self, node: program.Call | program.MethodCall) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call without names, and those with names."""
        given = [self.expression(a.value) for a in node.arguments if not a.keyword]
        named = {a.keyword: self.expression(a.value) for a in node.arguments if a.keyword}
        return given, named

    def method(self, node: program.MethodCall) -> Any:
        return self.member_call(self.expression(node.receiver), node)

    def member_call(self, receiver: Any, node: program.MethodCall) -> Any:
        """A call of a member, if the receiver has members of its own; otherwise of a function with
        the receiver as its first argument."""
        given, named = self.given_to(node)
        if isinstance(receiver, Record) and node.name in VIEWS.keys() - {*receiver.keys}:
            if given or named:
                raise NotCompiled(f"`{node.name}` of a dict takes no arguments")
            return tuple(VIEWS[node.name](receiver))
        if isinstance(receiver, Members | Record):
            callee = self.own_member(receiver, node.name)
            return self.called(callee, given, named)
        if node.function is None and node.op is None:
            raise NotCompiled(f"`.{node.name}` is not compiled")
        callee = node.op if node.function is None else self.expression(node.function)
        return self.called(callee, [receiver, *given], named)

    def called(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(callee, Op):
            return self.whole(self.bound_call(callee, given, named))
        if isinstance(callee, Choice):
            one = lambda function: self.called(function, given, named)  # noqa: E731
            return self.for_one(callee.place, callee.among, one)
        if isinstance(callee, Members):
            callee = self.own_member(callee, "call")
        if not isinstance(callee, Closure):
            raise NotCompiled("the function that is called here isn't known")
        return self.inlined(callee, given, named)

    def inlined(self, callee: Closure, given: list[Any], named: dict[str, Any]) -> Any:
        if callee.function.opaque:
            raise NotCompiled("an opaque function is not compiled")
        return self.entered(callee, self.arguments(callee, given, named))

    def arguments(self, callee: Closure, given: list[Any], named: dict[str, Any]) -> list[Any]:
        """What each parameter of a function holds."""
        names = [parameter.slot.name for parameter in callee.function.parameters]
        rest = names[len(given) :]
        if len(given) > len(names) or not named.keys() <= set(rest):
            raise NotCompiled("the arguments don't fit the parameters")
        held = dict(zip(names, self.names.of(callee.defaults), strict=True))
        held.update(zip(names, given, strict=False))
        held.update(named)
        if ABSENT in held.values():
            raise NotCompiled("an argument is missing")
        return list(held.values())

    def entered(self, callee: Closure, arguments: list[Any]) -> Any:
        """The result of a call: lowers the body of the function where it is called."""
        with self.frame_of(callee, arguments):
            returned = self.surely(self.call_body(callee.function))
            return None if returned is ABSENT else returned

    @contextmanager
    def frame_of(self, callee: Closure, arguments: list[Any]) -> Iterator[None]:
        """Lowers in a new frame, the frame of a call."""
        if self.depth == MAX_INLINED:
            raise NotCompiled("calls are too deep inside each other")
        function, held = callee.function, self.names.held
        outer, self.frame = (self.frame, self.liveness, self.own_parameters), self.names.new_frame()
        self.liveness = self.liveness_of(function)
        self.own_parameters = {parameter.slot.index for parameter in function.parameters}
        slots = [parameter.slot.index for parameter in function.parameters]
        self.names.put([Name(self.frame, slot) for slot in slots], arguments)
        captured = [Name(callee.frame, outside.index) for outside, _ in function.captures]
        own = [Name(self.frame, slot.index) for _, slot in function.captures]
        self.names.put(own, self.names.of(captured))
        if function.self_slot is not None:
            held[Name(self.frame, function.self_slot.index)] = callee
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        try:
            yield
        finally:
            self.depth -= 1
            self.frame, self.liveness, self.own_parameters = outer
