"""The rule about loops that an operation on whole arrays replaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...diagnostics import Diagnostic
from ...lang import syntax
from ...lang.scopes import Scope, children
from ...ops import BUILTINS
from ..facts import Facts
from ..findings import Finding


def vectorisable(facts: Facts) -> Iterator[Finding]:
    """W421: loops over the indices of arrays, with one statement whose turns don't depend on each
    other but for a sum."""
    for node, scope in facts.of(syntax.For):
        if len(node.body.statements) != 1:
            continue
        count = facts.called(node.iterable, scope, "range")
        if count is None or len(count.arguments) > 1 or len(node.names) > 1:
            continue
        loop = _Loop(node.names[0].name, count.arguments[0].value, scope)
        text = loop.whole(node.body.statements[0])
        if text:
            span = node.span.to(node.span)._replace(end=node.iterable.span.end)
            message = "this loop goes through elements, which whole arrays do at once"
            yield Finding(Diagnostic("W421", message, span, help=f"write `{text}`"))


class _Loop:
    """`for index in range(count)`."""

    def __init__(self, index: str, count: Any, scope: Scope) -> None:
        self.index, self.count, self.scope = index, count, scope

    def whole(self, statement: Any) -> str:
        """What a statement of the loop is on whole arrays; "" where it is nothing else."""
        if not isinstance(statement, syntax.Assign | syntax.Augment):
            return ""
        target: Any = statement.target
        value: Any = statement.value
        if isinstance(statement, syntax.Assign):
            if self.is_element(target) and self.is_elementwise(value, target.object.name):
                return f"{self.text(target)} = {self.text(value)}"
            value = self.added(target, value)
        elif statement.sign != "+":
            return ""
        if isinstance(target, syntax.Name) and self.is_elementwise(value, target.name):
            return f"{target.name} += sum({self.text(value)})"
        return ""

    def added(self, target: Any, value: Any) -> Any:
        """What `target + …` adds to the target; none where a value is nothing such."""
        is_sum = isinstance(value, syntax.Arithmetic) and value.signs == ("+",)
        return value.operands[1] if is_sum and value.operands[0] == target else None

    def is_element(self, node: Any) -> bool:
        """Whether a node is `a[index]`."""
        if not isinstance(node, syntax.Index) or not isinstance(node.object, syntax.Name):
            return False
        return node.items == (syntax.Name(self.index, span=node.span),)

    def is_elementwise(self, node: Any, apart: str) -> bool:
        """Whether a value is computed from elements `a[index]` by operations on elements, and
        doesn't read the name `apart`."""
        seen = False
        pending = [node]
        while pending:
            inner = pending.pop()
            if self.is_element(inner):
                seen = True
                inner = inner.object
            if isinstance(inner, syntax.Name):
                if inner.name in (self.index, apart):
                    return False
            elif isinstance(inner, syntax.Call):
                if not self.is_builtin(inner.callee):
                    return False
                pending += [argument.value for argument in inner.arguments]
            elif isinstance(inner, syntax.Number | syntax.Unary | syntax.Arithmetic | syntax.Power):
                if isinstance(inner, syntax.Arithmetic) and "@" in inner.signs:
                    return False
                pending += children(inner)
            else:
                return False
        return seen

    def is_builtin(self, callee: Any) -> bool:
        """Whether a callee is a builtin that works on each element."""
        if not isinstance(callee, syntax.Name) or self.scope.find(callee.name) is not None:
            return False
        op = BUILTINS.get(callee.name)
        return op is not None and op.elementwise

    def text(self, node: Any) -> str:
        """The text of a value with arrays in the place of their elements."""
        found: list[Any] = []
        pending = [node]
        while pending:
            inner = pending.pop()
            if self.is_element(inner):
                found.append(inner)
            else:
                pending += children(inner)
        text, end = "", node.span.end
        for element in sorted(found, key=lambda e: -e.span.start):
            after = element.span.source.text[element.span.end : end]
            text, end = self.array(element.object.name) + after + text, element.span.start
        return " ".join((node.span.source.text[node.span.start : end] + text).split())

    def array(self, name: str) -> str:
        """The elements that the loop goes through."""
        count = self.count
        if isinstance(count, syntax.Call) and isinstance(count.callee, syntax.Name):
            of = [argument.value for argument in count.arguments]
            if count.callee.name == "len" and of == [syntax.Name(name, span=count.span)]:
                return name
        return f"{name}[:{count.span.text}]"
