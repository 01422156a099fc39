"""Expressions in IR, but for calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ...ops.op import Op
from ..ir.instructions import Value
from ..ir.types import BOOL, F64, is_float
from ..ir.verifier import WHERE, on_scalars
from .branching import Branching
from .kinds import Mixed
from .names import MISSING, Closure, NotCompiled

INT_MAX = 2**63 - 1


class Expressions(Branching):
    """The lowering of expressions. What an expression gives is what a name can hold: a value of the
    IR, a `Mixed`, a tuple for a list of known length, or what is known without running."""

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
        for k, operand in enumerate(operands):
            if isinstance(operand, Mixed):
                return self.on_either(op, operands, k, span, natural)
            if type(operand) is tuple:
                raise NotCompiled("arrays are not compiled", span)
            if not isinstance(operand, Value):
                raise NotCompiled(f"`{op.infix or op.name}` takes numbers", span)
        if op.name == "pow" and not (natural or any(is_float(v.type) for v in operands)):
            raise NotCompiled("an int to a power that isn't known is not compiled", span)
        if op is WHERE and operands[0].type != BOOL:
            raise NotCompiled("the condition of `where` is a bool", span)
        return self.builder.operation(op, operands, span)

    def on_either(self, op: Op, operands: Sequence[Any], k: int, span: Span, natural: bool) -> Any:
        """An op on operands of which the k-th is an int or a float. Beside a float, and where the
        op makes floats of ints, it is a float."""
        mixed, before, after = operands[k], operands[:k], operands[k + 1 :]

        def of(value: Value) -> Any:
            return self.apply(op, [*before, value, *after], span, natural)

        floats = any(is_float(v.type) for v in (*before, *after) if isinstance(v, Value))
        if floats or (op.integers == "float" and op is not WHERE):
            return of(self.as_float(mixed, span))
        return self.either(mixed.is_int, lambda: of(mixed.whole), lambda: of(mixed.real), span)

    def as_float(self, mixed: Mixed, span: Span) -> Value:
        """An int or a float as a float. It depends on the float only where it is one."""
        whole = lambda: self.builder.cast(mixed.whole, F64)  # noqa: E731
        found: Value = self.either(mixed.is_int, whole, lambda: mixed.real, span)
        return found

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

    # ---- lists -----------------------------------------------------------------------------------

    def listed(self, node: program.ListDisplay) -> Any:
        return tuple([self.expression(item) for item in node.items])

    def index(self, node: program.Index) -> Any:
        held = self.expression(node.object)
        place = node.items[0] if len(node.items) == 1 else None
        k = place.value if isinstance(place, program.Constant) else None
        if type(held) is not tuple or type(k) is not int or not -len(held) <= k < len(held):
            raise NotCompiled("an element at an index that isn't known is not compiled", node.span)
        return self.known(held[k])


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
    program.Call: lambda lowering, node: lowering.call(node),
    program.MethodCall: lambda lowering, node: lowering.method(node),
}
_WORDS: dict[type, str] = {
    program.Member: "a member",
    program.DictDisplay: "a dict",
    program.ModuleLiteral: "a module",
}
