"""Expressions in IR. The functions that they call are inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from ....lang import program
from ....lang.program.liveness import Liveness
from ....ops import OPS
from ....ops.op import Op
from ...backends.backend import INT_MAX
from ...ir.builder import Builder
from ...ir.instructions import Value
from ...ir.types import BOOL
from ..builtins.draws import Draws
from ..held.kinds import Array, Choice, Record, Stored
from ..held.names import ABSENT, Closure, Members, Name, NotCompiled
from ..values.containers import VIEWS

TRANSPOSE = OPS["transpose"]
MAX_INLINED = 40  # calls inside each other


class Expressions(Draws):
    """The lowering of expressions, which return what a name can hold."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.depth = self.deepest = 0  # how deep inlined calls are now, and were at most
        self.own_parameters: set[int] = set()  # slots of the function that is being inlined
        self.bodies: dict[int, Liveness] = {}  # of functions

    def expression(self, node: Any) -> Any:
        """What a name can hold."""
        with self.at(node.span):
            return self.whole(self.lowered(node))

    def lazy(self, node: Any) -> Any:
        """What an expression holds. An array may be `Pending`."""
        with self.at(node.span):
            return self.lowered(node)

    def lowered(self, node: Any) -> Any:
        """The same, where its place is known."""
        lower = _EXPRESSIONS.get(type(node))
        if lower is None:
            raise NotCompiled("a module is not compiled")
        return lower(self, node)

    def condition(self, node: Any) -> Value:
        with self.at(node.span):
            value = self.value(self.expression(node))
            if not isinstance(value, Value) or value.type != BOOL:
                raise NotCompiled("a condition must be one bool")
            return value

    # ---- leaves ----------------------------------------------------------------------------------

    def constant(self, node: program.Constant) -> Any:
        value = node.value
        if type(value) is complex:
            raise NotCompiled("complex numbers are not compiled")
        if type(value) is int and not -INT_MAX <= value <= INT_MAX:
            raise NotCompiled("this int has more than 64 bits")
        return self.builder.constant(value) if type(value) in (float, int, bool) else value

    def read_node(self, node: program.Read) -> Any:
        return self.read(node.slot)

    def builtin(self, node: program.Builtin) -> Any:
        return node.op

    def literal(self, node: program.FunctionLiteral) -> Closure:
        defaults = [
            self.names.hidden(ABSENT if p.default is None else self.expression(p.default))
            for p in node.function.parameters
        ]
        return Closure(node.function, self.frame, tuple(defaults))

    def text(self, node: program.Text) -> str:
        """A text whose values are known, such as a key that is made of a name or an index."""
        parts = [part if isinstance(part, str) else self.shown(part) for part in node.parts]
        return "".join(parts)

    def shown(self, node: program.Field) -> str:
        held = self.value(self.expression(node.value))
        known = self.builder.known.get(held) if isinstance(held, Value) else held
        with self.at(node.span):
            if not isinstance(known, int | str) or type(known) is bool:
                raise NotCompiled("a text with a value that isn't known is not compiled")
            try:
                return format(known, node.format)
            except ValueError:
                raise NotCompiled("this format is not compiled") from None

    # ---- operations ------------------------------------------------------------------------------

    def apply_node(self, node: program.Apply) -> Any:
        """An operation. A long chain leans to the left, and is lowered without recursion."""
        chain = [node]
        while chain[-1].operands and isinstance(chain[-1].operands[0], program.Apply):
            chain.append(chain[-1].operands[0])
        found = self.applied(chain[-1], [])
        for link in reversed(chain[:-1]):
            found = self.applied(link, [found])
        return found

    def applied(self, node: program.Apply, operands: list[Any]) -> Any:
        """An operation whose first operands are lowered. A variable is read where it stands, since
        a later operand may update it."""
        defaults = [] if node.op.signature.variadic else node.op.signature.operands
        for k, operand in enumerate(node.operands[len(operands) :], len(operands)):
            operands.append(
                self.as_constant(defaults[k].default)
                if operand is None
                else self.lazy(operand)
                if node.op.engine
                else self.or_none(self.lazy(operand))
            )
        options = {name: self.values(self.expression(value)) for name, value in node.options}
        with self.at(node.span):
            return self.apply(node.op, operands, options)

    def logical(self, node: program.Logical) -> Any:
        def go(k: int) -> Value:
            value = self.condition(node.operands[k])
            if k == len(node.operands) - 1:
                return value
            if node.kind == "and":
                return self.both(value, lambda: go(k + 1))
            found: Value = self.either(
                value, lambda: self.builder.constant(True), lambda: go(k + 1)
            )
            return found

        return go(0)

    def chain(self, node: program.Chain) -> Any:
        def go(k: int, left: Any) -> Value:
            right = self.or_none(self.expression(node.operands[k + 1]))
            with self.at(node.spans[k]):
                value: Value = self.apply(node.ops[k], [left, right])
            if k == len(node.ops) - 1:
                return value
            return self.both(value, lambda: go(k + 1, right))

        return go(0, self.or_none(self.expression(node.operands[0])))

    def conditional(self, node: program.Conditional) -> Any:
        return self.either(
            self.condition(node.condition),
            lambda: self.expression(node.then),
            lambda: self.expression(node.otherwise),
        )

    # ---- lists and members -----------------------------------------------------------------------

    def listed(self, node: program.ListDisplay) -> Any:
        return tuple([self.expression(item) for item in node.items])

    def dict_display(self, node: program.DictDisplay) -> Record:
        return Record(node.keys, tuple([self.expression(value) for value in node.values]))

    def member(self, node: program.Member) -> Any:
        held = self.value(self.expression(node.object))
        if isinstance(held, Members | Record):
            return self.own_member(held, node.name)
        if node.name == "T":
            return self.apply(TRANSPOSE, [held])
        is_array = isinstance(held, Array) or (isinstance(held, Stored) and not held.listed)
        if not is_array or node.name not in ("shape", "size", "ndim"):
            raise NotCompiled(f"`.{node.name}` is not compiled")
        sizes = tuple([self.builder.constant(size) for size in held.shape])
        if node.name == "shape":
            return sizes
        return self.builder.constant(len(sizes) if node.name == "ndim" else prod(held.shape))

    def own_member(self, held: Members | Record, name: str) -> Any:
        """The item of a dict under a key, or a name of an imported program or an instance."""
        if isinstance(held, Record):
            return self.item(held, name)
        if name not in held.slots and held.variables is not None:
            if name == "trainable_variables":
                return tuple([v for v in held.variables if v.trainable])
            if name == "variables":
                return held.variables
        if name not in held.slots:
            raise NotCompiled(f"there is no `{name}` among these members")
        return self.read(held.slots[name], held.frame)

    # ---- calls -----------------------------------------------------------------------------------

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


_EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    program.Constant: Expressions.constant,
    program.Read: Expressions.read_node,
    program.Builtin: Expressions.builtin,
    program.Apply: Expressions.apply_node,
    program.Logical: Expressions.logical,
    program.Chain: Expressions.chain,
    program.Conditional: Expressions.conditional,
    program.ListDisplay: Expressions.listed,
    program.DictDisplay: Expressions.dict_display,
    program.Member: Expressions.member,
    program.Index: Expressions.index,
    program.FunctionLiteral: Expressions.literal,
    program.Text: Expressions.text,
    program.Call: Expressions.call,
    program.MethodCall: Expressions.method,
}
