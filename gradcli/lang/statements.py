"""Makes the syntax tree of statements: the second half of the builder."""

from __future__ import annotations

from typing import Any

from . import syntax
from .builder import ExpressionBuilder, Parts, deepest
from .literals import number_value, string_value


class Builder(ExpressionBuilder):
    """The rules of statements, and of the whole."""

    def at(self, start: int, end: int, *nodes: Any) -> dict[str, Any]:
        """Where a statement is, and how deep the expressions in it are."""
        return {"span": self.span(start, end), "depth": deepest(nodes)}

    def start(self, parts: Parts, start: int, end: int) -> syntax.Module:
        return syntax.Module(tuple(parts), **self.at(start, end, *parts))

    def block(self, parts: Parts, start: int, end: int) -> syntax.Block:
        return syntax.Block(tuple(parts), **self.at(start, end, *parts))

    # ---- values and assignments ----

    def evaluate(self, parts: Parts, start: int, end: int) -> syntax.Evaluate:
        return syntax.Evaluate(parts[0], **self.at(start, end, *parts))

    def packed(self, parts: Parts, start: int, end: int) -> syntax.Expression:
        """A comma list beside an assignment sign or after `return` is a list."""
        if len(parts) == 1:
            value: syntax.Expression = parts[0]
            return value
        return syntax.ListDisplay(
            tuple(parts), bare=True, **self.span_and_depth(start, end, *parts)
        )

    def assign(self, parts: Parts, start: int, end: int) -> syntax.Assign:
        *targets, value = parts
        target = targets[0]
        if len(targets) > 1:
            target = syntax.ListDisplay(
                tuple(targets),
                bare=True,
                **self.span_and_depth(start, targets[-1].span.end, *targets),
            )
        self._verify_target(target)
        return syntax.Assign(target, value, **self.at(start, end, target, value))

    def augment(self, parts: Parts, start: int, end: int) -> syntax.Augment:
        target, token, value = parts
        if isinstance(target, syntax.ListDisplay):
            raise self.error(
                "E120",
                f"a list can't stand left of `{token[1]}`",
                target.span,
                help="update its names one by one",
            )
        self._verify_target(target)
        return syntax.Augment(target, token[1][:-1], value, **self.at(start, end, target, value))

    def update(self, parts: Parts, start: int, end: int) -> syntax.Update:
        variable, token, value = parts
        if not isinstance(variable, syntax.Name | syntax.Member | syntax.Index):
            raise self.error(
                "E120",
                f"{_describe(variable)} can't stand left of `{token[1]}`",
                variable.span,
                help=(
                    "the left side is a variable: a name, `layer.w`, or an element of a list of "
                    "variables"
                ),
            )
        return syntax.Update(
            variable, token[1][1:-1], value, **self.at(start, end, variable, value)
        )

    def _verify_target(self, target: Any) -> None:
        pending = [target]
        while pending:
            node = pending.pop()
            if isinstance(node, syntax.ListDisplay):
                if not node.items:
                    raise self.error("E120", "an empty list can't be assigned to", node.span)
                pending.extend(node.items)
                continue
            inner = node
            while isinstance(inner, syntax.Member | syntax.Index):
                inner = inner.object
            if isinstance(inner, syntax.Name):
                continue
            if inner is not node:
                raise self.error(
                    "E120",
                    "only an element of a name can be assigned to",
                    node.span,
                    help="give the value a name first",
                )
            raise self.error(
                "E120", f"{_describe(node)} can't be assigned to", node.span, help=_meant(node)
            )

    # ---- declarations ----

    def declare(self, parts: Parts, start: int, end: int) -> syntax.Declare:
        kind, name, *rest = parts
        type = value = domain = None
        for part in rest:
            if isinstance(part, syntax.TypeSpec):
                type = part
            elif isinstance(part, syntax.Domain):
                domain = part
            else:
                value = part
        return syntax.Declare(
            kind[1],
            self.token_name(name),
            type,
            value,
            domain,
            **self.at(start, end, value, domain),
        )

    def type_(self, parts: Parts, start: int, end: int) -> syntax.TypeSpec:
        return syntax.TypeSpec(parts[0][1], None, span=self.span(start, end))

    def type_shaped(self, parts: Parts, start: int, end: int) -> syntax.TypeSpec:
        name, *sizes = parts
        if any(token[0] == "ELLIPSIS" for token in sizes):
            if len(sizes) > 1:
                raise self.error(
                    "E124",
                    "`...` stands alone: it means any shape",
                    self.span(sizes[0][2], sizes[-1][3]),
                )
            return syntax.TypeSpec(name[1], "...", span=self.span(start, end))
        shape: list[int | str | None] = []
        for token in sizes:
            if token[0] == "NUMBER":
                value, _ = number_value(token, self.source)
                if not isinstance(value, int):
                    raise self.error("E124", "a size is an integer", self.span(token[2], token[3]))
                shape.append(value)
            else:
                shape.append(None if token[1] == "_" else token[1])
        return syntax.TypeSpec(name[1], tuple(shape), span=self.span(start, end))

    def domain(self, parts: Parts, start: int, end: int) -> syntax.Domain:
        return syntax.Domain(*parts, **self.at(start, end, *parts))

    def import_library(self, parts: Parts, start: int, end: int) -> syntax.Import:
        return syntax.Import(
            parts[0][1], True, self.token_name(parts[-1]), span=self.span(start, end)
        )

    def import_file(self, parts: Parts, start: int, end: int) -> syntax.Import:
        path = string_value(parts[0], self.source)
        return syntax.Import(path, False, self.token_name(parts[1]), span=self.span(start, end))

    # ---- functions and modules ----

    def define(self, parts: Parts, start: int, end: int) -> syntax.Define:
        name, parameters, body, *rule = parts
        at = self.at(start, end, body, *rule, *parameters)
        return syntax.Define(
            self.token_name(name), parameters, body, rule[0] if rule else None, **at
        )

    def opaque(self, parts: Parts, start: int, end: int) -> syntax.Define:
        name, parameters, body = parts
        return syntax.Define(
            self.token_name(name),
            parameters,
            body,
            opaque=True,
            **self.at(start, end, body, *parameters),
        )

    def rule(self, parts: Parts, start: int, end: int) -> syntax.Rule:
        parameters, body = parts
        return syntax.Rule(parameters, body, **self.at(start, end, body, *parameters))

    def backward(self, parts: Parts, start: int, end: int) -> syntax.Backward:
        name, parameters, body = parts
        return syntax.Backward(
            self.token_name(name), parameters, body, **self.at(start, end, body, *parameters)
        )

    def module(self, parts: Parts, start: int, end: int) -> syntax.ModuleDefinition:
        name, parameters, body = parts
        at = self.at(start, end, body, *parameters)
        return syntax.ModuleDefinition(self.token_name(name), parameters, body, **at)

    # ---- control flow ----

    def if_(self, parts: Parts, start: int, end: int) -> syntax.If:
        condition, body, *more = parts
        first = syntax.Branch(condition, body, **self.at(start, body.span.end, condition, body))
        otherwise = more.pop() if more and isinstance(more[-1], syntax.Block) else None
        return syntax.If((first, *more), otherwise, **self.at(start, end, first, otherwise, *more))

    def elif_(self, parts: Parts, start: int, end: int) -> syntax.Branch:
        return syntax.Branch(*parts, **self.at(start, end, *parts))

    def else_(self, parts: Parts, start: int, end: int) -> syntax.Block:
        block: syntax.Block = parts[0]
        return block

    def while_(self, parts: Parts, start: int, end: int) -> syntax.While:
        return syntax.While(*parts, **self.at(start, end, *parts))

    def for_(self, parts: Parts, start: int, end: int) -> syntax.For:
        names, iterable, body = parts
        return syntax.For(names, iterable, body, **self.at(start, end, iterable, body))

    def names(self, parts: Parts, start: int, end: int) -> tuple[syntax.Name, ...]:
        return tuple(map(self.token_name, parts))

    def break_(self, parts: Parts, start: int, end: int) -> syntax.Break:
        return syntax.Break(span=self.span(start, end))

    def continue_(self, parts: Parts, start: int, end: int) -> syntax.Continue:
        return syntax.Continue(span=self.span(start, end))

    def return_(self, parts: Parts, start: int, end: int) -> syntax.Return:
        return syntax.Return(parts[0] if parts else None, **self.at(start, end, *parts))

    # ---- what a program says ----

    def print_(self, parts: Parts, start: int, end: int) -> syntax.Print:
        return syntax.Print(tuple(parts), **self.at(start, end, *parts))

    def output(self, parts: Parts, start: int, end: int) -> syntax.Output:
        return syntax.Output(tuple(parts), **self.at(start, end, *parts))

    def output_named(self, parts: Parts, start: int, end: int) -> syntax.Output:
        token, value = parts
        return syntax.Output((value,), self.token_name(token), **self.at(start, end, value))

    def expect(self, parts: Parts, start: int, end: int) -> syntax.Expect:
        value, *message = parts
        told = message[0] if message else None
        return syntax.Expect(value, message=told, **self.at(start, end, *parts))

    def expect_close(self, parts: Parts, start: int, end: int) -> syntax.Expect:
        value, close_to, *rest = parts
        arguments = rest.pop(0) if rest and isinstance(rest[0], tuple) else ()
        message = rest[0] if rest else None
        at = self.at(start, end, value, close_to, *arguments, message)
        return syntax.Expect(value, close_to, arguments, message, **at)

    def expect_error(self, parts: Parts, start: int, end: int) -> syntax.ExpectError:
        token, body = parts
        return syntax.ExpectError(
            string_value(token, self.source), body, **self.at(start, end, body)
        )

    # ---- recording ----

    def tape(self, parts: Parts, start: int, end: int) -> syntax.Tape:
        name, *options, body = parts
        arguments = options[0] if options else ()
        return syntax.Tape(
            self.token_name(name), arguments, body, **self.at(start, end, body, *arguments)
        )

    def watch(self, parts: Parts, start: int, end: int) -> syntax.Watch:
        return syntax.Watch(tuple(parts), **self.at(start, end, *parts))

    def pause(self, parts: Parts, start: int, end: int) -> syntax.Pause:
        return syntax.Pause(parts[0], **self.at(start, end, *parts))

    def record(self, parts: Parts, start: int, end: int) -> syntax.Record:
        return syntax.Record(parts[0], **self.at(start, end, *parts))


def _describe(node: Any) -> str:
    names: dict[type, str] = {
        syntax.Number: "a number",
        syntax.String: "a string",
        syntax.Text: "a string",
        syntax.Comprehension: "a list",
        syntax.Word: "a constant",
        syntax.Call: "the result of a call",
        syntax.Function: "a function",
        syntax.DictDisplay: "a dict",
        syntax.ListDisplay: "a list",
        syntax.Conditional: "a conditional expression",
    }
    return names.get(type(node), "an expression")


def _meant(node: Any) -> str:
    if isinstance(node, syntax.Comparison | syntax.Logical):
        return "the left side of `=` is a name"
    if isinstance(node, syntax.Call) and isinstance(node.callee, syntax.Name):
        name = node.callee.name
        return (
            f"a function is defined with `fn {name}(…) = …`, an element is assigned with "
            f"`{name}[i] = …`"
        )
    return "`==` compares" if isinstance(node, syntax.Number | syntax.Word | syntax.String) else ""
