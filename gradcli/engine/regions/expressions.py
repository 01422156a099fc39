"""Expressions in IR, and calls of functions, which are inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ...ops.op import Op
from ..ir.builder import Builder
from ..ir.instructions import Block, Value
from ..ir.types import BOOL, is_float
from ..ir.verifier import WHERE, on_scalars
from .names import MISSING, Closure, Name, Names, NotCompiled, Unknown, is_value
from .structures import flat, rebuilt, same_structure

MAX_INLINED = 40  # calls inside each other
INT_MAX = 2**63 - 1


class Expressions:
    """The lowering of expressions. What an expression gives is a value, a tuple for a list of known
    length, or what is known without running: a closure, a builtin, a string, None."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.names = builder, Names()
        self.frame = self.names.new_frame()
        self.depth = 0

    def call_body(self, function: program.Function) -> Any:
        raise NotImplementedError

    def expression(self, node: Any) -> Any:
        lower = _EXPRESSIONS.get(type(node))
        if lower is None:
            raise NotCompiled(f"{_WORDS[type(node)]} is not compiled", node.span)
        return lower(self, node)

    def condition(self, node: Any) -> Value:
        value = self.expression(node)
        if not isinstance(value, Value) or value.type != BOOL:
            raise NotCompiled("a condition is one bool", node.span)
        return value

    # ---- leaves ----------------------------------------------------------------------------------

    def constant(self, node: program.Constant) -> Any:
        value = node.value
        if type(value) is complex:
            raise NotCompiled("complex numbers are not compiled", node.span)
        if type(value) is int and not -INT_MAX <= value <= INT_MAX:
            raise NotCompiled("this int has more than 64 bits", node.span)
        return self.builder.constant(value) if type(value) in (float, int, bool) else value

    def read_node(self, node: program.Read) -> Any:
        return self.read(node.slot, node.span)

    def read(self, slot: program.Slot, span: Span) -> Any:
        name = Name(self.frame, slot.index)
        if name not in self.names.held:
            raise NotCompiled(f"`{slot.name}` may have no value here", span)
        held = self.names.held[name]
        if isinstance(held, Unknown):
            raise NotCompiled(held.reason, held.span)
        return held

    def builtin(self, node: program.Builtin) -> Any:
        return node.op

    def literal(self, node: program.FunctionLiteral) -> Closure:
        defaults = [
            MISSING if p.default is None else self.expression(p.default)
            for p in node.function.parameters
        ]
        return Closure(node.function, self.frame, tuple(defaults))

    # ---- operations ------------------------------------------------------------------------------

    def apply_node(self, node: program.Apply) -> Any:
        if node.options:
            raise NotCompiled(f"`{node.op.name}` with options is not compiled", node.span)
        operands = []
        for k, operand in enumerate(node.operands):
            default = None if operand is not None else node.op.signature.operands[k].default
            operands.append(
                self.expression(operand) if operand is not None else self.builder.constant(default)
            )
        natural = node.op.name == "pow" and _is_natural(node.operands[1])
        return self.apply(node.op, operands, node.span, natural)

    def apply(self, op: Op, operands: Sequence[Any], span: Span, natural: bool = False) -> Any:
        """An elementwise op on scalars; `natural`: the exponent of a power is a natural number,
        so that an int stays one."""
        if op.name == "len" and type(operands[0]) is tuple:
            return self.builder.constant(len(operands[0]))
        if not on_scalars(op):
            raise NotCompiled(f"`{op.infix or op.name}` is not compiled", span)
        for operand in operands:
            if type(operand) is tuple:
                raise NotCompiled("arrays are not compiled", span)
            if not isinstance(operand, Value):
                raise NotCompiled(f"`{op.infix or op.name}` takes numbers", span)
        if op.name == "pow" and not (natural or any(is_float(v.type) for v in operands)):
            raise NotCompiled("an int to a power that isn't known is not compiled", span)
        if op is WHERE and operands[0].type != BOOL:
            raise NotCompiled("the condition of `where` is a bool", span)
        return self.builder.operation(op, operands, span)

    def logical(self, node: program.Logical) -> Any:
        def go(k: int) -> Value:
            value = self.condition(node.operands[k])
            if k == len(node.operands) - 1:
                return value
            known = self.builder.constant
            if node.kind == "and":
                sides = (lambda: go(k + 1)), (lambda: known(False))
            else:
                sides = (lambda: known(True)), (lambda: go(k + 1))
            found: Value = self.either(value, *sides, node.span)
            return found

        return go(0)

    def chain(self, node: program.Chain) -> Any:
        def go(k: int, left: Any) -> Value:
            right = self.expression(node.operands[k + 1])
            value: Value = self.apply(node.ops[k], [left, right], node.spans[k])
            if k == len(node.ops) - 1:
                return value
            found: Value = self.either(
                value, lambda: go(k + 1, right), lambda: self.builder.constant(False), node.span
            )
            return found

        return go(0, self.expression(node.operands[0]))

    def conditional(self, node: program.Conditional) -> Any:
        return self.either(
            self.condition(node.condition),
            lambda: self.expression(node.then),
            lambda: self.expression(node.otherwise),
            node.span,
        )

    def either(
        self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any], span: Span
    ) -> Any:
        """A branch: what the side that is taken gives. Names that the sides leave with different
        values have that of the side that is taken, too."""
        before, sides = dict(self.names.held), []
        for side in (then, otherwise):
            self.names.held = dict(before)
            with self.builder.inside(Block()) as block:
                sides.append((block, side(), self.names.held))
        (first, a, held_a), (second, b, held_b) = sides
        self.names.held = held_a
        merged = list(self.names.changed(held_b))
        kept = [n for n in merged if _can_merge(held_a.get(n), held_b.get(n))]
        given = is_value(a) and is_value(b) and a is not b
        if a is not b and not (given and same_structure(a, b)):
            raise NotCompiled("the two sides give values of different types", span)
        pairs = [(a, b)] if given else []
        pairs += [(held_a[n], held_b[n]) for n in kept]
        first.results = tuple([value for x, _ in pairs for value in flat(x)])
        second.results = tuple([value for _, y in pairs for value in flat(y)])
        values = iter(self.builder.branch(condition, first, second))
        result = rebuilt(a, values) if given else a
        for name in merged:
            if name in kept:
                self.names.held[name] = rebuilt(held_a[name], values)
            else:
                reason = "a name has no value, or one of another type, on one side of a branch"
                self.names.held[name] = Unknown(reason, span)
        return result

    # ---- lists -----------------------------------------------------------------------------------

    def listed(self, node: program.ListDisplay) -> Any:
        return tuple([self.expression(item) for item in node.items])

    def index(self, node: program.Index) -> Any:
        held = self.expression(node.object)
        place = node.items[0] if len(node.items) == 1 else None
        k = place.value if isinstance(place, program.Constant) else None
        if type(held) is not tuple or type(k) is not int or not -len(held) <= k < len(held):
            raise NotCompiled("an element at an index that isn't known is not compiled", node.span)
        return held[k]

    # ---- calls -----------------------------------------------------------------------------------

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
            if named or len(given) != len(callee.signature.operands):
                raise NotCompiled(f"this call of `{callee.name}` is not compiled", span)
            return self.apply(callee, given, span)
        if not isinstance(callee, Closure):
            raise NotCompiled("what is called here isn't known", span)
        return self.inlined(callee, given, named, span)

    def inlined(self, callee: Closure, given: list[Any], named: dict[str, Any], span: Span) -> Any:
        function = callee.function
        if function.rule is not None or function.opaque:
            raise NotCompiled("a function with a rule of its own is not compiled", span)
        if self.depth == MAX_INLINED:
            raise NotCompiled("recursion is not compiled", span)
        outer, self.frame = self.frame, self.names.new_frame()
        held = self.names.held
        for k, parameter in enumerate(function.parameters):
            name = parameter.slot.name
            value = given[k] if k < len(given) else named.get(name, callee.defaults[k])
            if value is MISSING:
                raise NotCompiled(f"the argument `{name}` is missing", span)
            held[Name(self.frame, parameter.slot.index)] = value
        for outside, own in function.captures:
            captured = Name(callee.frame, outside.index)
            if captured in held:
                held[Name(self.frame, own.index)] = held[captured]
        if function.self_slot is not None:
            held[Name(self.frame, function.self_slot.index)] = callee
        self.depth += 1
        try:
            return self.call_body(function)
        finally:
            self.depth -= 1
            self.frame = outer


def _can_merge(a: Any, b: Any) -> bool:
    return is_value(a) and is_value(b) and same_structure(a, b)


def _is_natural(node: Any) -> bool:
    return isinstance(node, program.Constant) and type(node.value) is int and node.value >= 0


_EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    program.Constant: Expressions.constant,
    program.Read: Expressions.read_node,
    program.Builtin: Expressions.builtin,
    program.Apply: Expressions.apply_node,
    program.Logical: Expressions.logical,
    program.Chain: Expressions.chain,
    program.Conditional: Expressions.conditional,
    program.ListDisplay: Expressions.listed,
    program.Index: Expressions.index,
    program.FunctionLiteral: Expressions.literal,
    program.Call: Expressions.call,
    program.MethodCall: Expressions.method,
}
_WORDS: dict[type, str] = {
    program.Member: "a member",
    program.DictDisplay: "a dict",
    program.ModuleLiteral: "a module",
}
