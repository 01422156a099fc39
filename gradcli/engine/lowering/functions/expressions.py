"""Expressions in IR, but for calls of functions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ....lang import program
from ....ops import OPS
from ...backends.backend import INT_MAX
from ...ir.instructions import Value
from ...ir.types import BOOL
from ..builtins.draws import Draws
from ..held.kinds import Array, Record, Stored
from ..held.names import ABSENT, Closure, Members, NotCompiled

TRANSPOSE = OPS["transpose"]


class Expressions(Draws):
    """The lowering of expressions, which return what a name can hold."""

    def expression(self, node: Any) -> Any:
        """What a name can hold."""
        with self.at(node.span):
            return self.whole(self.lazy(node))

    def lazy(self, node: Any) -> Any:
        """What an expression holds. An array may be `Pending`."""
        lower = _EXPRESSIONS.get(type(node))
        with self.at(node.span):
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
    program.Call: lambda lowering, node: lowering.call(node),
    program.MethodCall: lambda lowering, node: lowering.method(node),
}
