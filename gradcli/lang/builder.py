"""Makes the syntax tree: one method for each rule of the grammar, called when the rule is complete.

A method gets the rule's parts and the offsets where its text starts and ends. What the grammar
can't say is checked here: what may be assigned to, the order of arguments, how deep an expression
is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from . import syntax
from .hints import explain_token
from .lalr import UnexpectedTokenError, drive
from .lexer import Lexer, Token
from .literals import number_value, string_value
from .operators import climb, too_deep
from .texts import parts_of

Parts = list[Any]


def deepest(nodes: Iterable[Any]) -> int:
    """The depth of the deepest of `nodes`; None counts nothing."""
    return max([node.depth for node in nodes if node is not None], default=0)


class ExpressionBuilder:
    """The rules of expressions."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def span_and_depth(self, start: int, end: int, *nodes: Any) -> dict[str, Any]:
        """Where an expression is, and how deep it is over `nodes`; refuses one that is too deep."""
        depth = 1 + deepest(nodes)
        if depth > syntax.MAX_DEPTH:
            raise too_deep(self.span(start, end))
        return {"span": self.span(start, end), "depth": depth}

    def error(
        self, code: str, message: str, span: Span, label: str = "", help: str = ""
    ) -> GradcliError:
        return GradcliError(Diagnostic(code, message, span, label=label, help=help))

    def token_name(self, token: Token) -> syntax.Name:
        return syntax.Name(token[1], span=self.span(token[2], token[3]))

    # ---- operands ----

    def name(self, parts: Parts, start: int, end: int) -> syntax.Name:
        return syntax.Name(parts[0][1], span=Span(self.source, start, end))

    def number(self, parts: Parts, start: int, end: int) -> syntax.Number:
        value, type = number_value(parts[0], self.source)
        return syntax.Number(value, type, parts[0][1], span=self.span(start, end))

    def string(self, parts: Parts, start: int, end: int) -> syntax.String:
        return syntax.String(string_value(parts[0], self.source), span=self.span(start, end))

    def text(self, parts: Parts, start: int, end: int) -> syntax.Text:
        found: Parts = []
        for part in parts_of(parts[0], self.source):
            if not isinstance(part, str):
                value = self._inner_expression(part.start, part.end)
                at = self.span(part.start, part.end)
                found.append(syntax.Field(value, part.format, span=at, depth=value.depth))
            elif found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
        fields = [part for part in found if not isinstance(part, str)]
        return syntax.Text(tuple(found), **self.span_and_depth(start, end, *fields))

    def _inner_expression(self, start: int, end: int) -> syntax.Expression:
        """The expression that a part of the source is. It is a text's, which has no texts in it."""
        lexer = Lexer(self.source, start, end)
        try:
            tree: syntax.Module = drive(lexer, type(self)(self.source))
        except UnexpectedTokenError as unexpected:
            raise GradcliError(explain_token(unexpected, lexer)) from None
        (*_, last) = tree.statements
        if len(tree.statements) > 1 or not isinstance(last, syntax.Evaluate):
            raise self.error("E103", "a field holds one expression", self.span(start, end))
        value: syntax.Expression = last.value
        return value

    def true(self, parts: Parts, start: int, end: int) -> syntax.Word:
        return syntax.Word(True, span=self.span(start, end))

    def false(self, parts: Parts, start: int, end: int) -> syntax.Word:
        return syntax.Word(False, span=self.span(start, end))

    def none(self, parts: Parts, start: int, end: int) -> syntax.Word:
        return syntax.Word(None, span=self.span(start, end))

    def grouped(self, parts: Parts, start: int, end: int) -> syntax.Expression:
        node: syntax.Expression = parts[0]
        # The node was made a moment ago and is nobody else's: its span may still grow to take in
        # the parentheses.
        object.__setattr__(node, "span", self.span(start, end))
        return node

    def list_(self, parts: Parts, start: int, end: int) -> syntax.ListDisplay:
        return syntax.ListDisplay(tuple(parts), **self.span_and_depth(start, end, *parts))

    def comprehension(self, parts: Parts, start: int, end: int) -> syntax.Comprehension:
        item, *rest = parts
        clauses: list[syntax.Clause] = []
        for part in rest:
            if isinstance(part, syntax.Clause):
                clauses.append(part)
                continue
            names, iterable, conditions = clauses[-1].names, clauses[-1].iterable, part
            clauses[-1] = syntax.Clause(
                names,
                iterable,
                (*clauses[-1].conditions, *conditions),
                span=clauses[-1].span.to(conditions[0].span),
                depth=deepest([iterable, *clauses[-1].conditions, *conditions]),
            )
        return syntax.Comprehension(
            item, tuple(clauses), **self.span_and_depth(start, end, item, *clauses)
        )

    def each(self, parts: Parts, start: int, end: int) -> syntax.Clause:
        names, iterable = parts
        return syntax.Clause(names, iterable, span=self.span(start, end), depth=iterable.depth)

    def when(self, parts: Parts, start: int, end: int) -> tuple[syntax.Expression, ...]:
        return tuple(parts)

    def dict_(self, parts: Parts, start: int, end: int) -> syntax.DictDisplay:
        return syntax.DictDisplay(tuple(parts), **self.span_and_depth(start, end, *parts))

    def entry(self, parts: Parts, start: int, end: int) -> syntax.Entry:
        token, value = parts
        key = string_value(token, self.source) if token[0] == "STRING" else token[1]
        return syntax.Entry(key, value, span=self.span(token[2], token[3]), depth=value.depth)

    # ---- operations ----

    def operation(self, parts: Parts, start: int, end: int) -> syntax.Expression:
        return climb(parts, self.source)

    def conditional(self, parts: Parts, start: int, end: int) -> syntax.Conditional:
        then, condition, otherwise = parts
        return syntax.Conditional(
            condition, then, otherwise, **self.span_and_depth(start, end, *parts)
        )

    def function(self, parts: Parts, start: int, end: int) -> syntax.Function:
        parameters, body = parts
        return syntax.Function(
            parameters, body, **self.span_and_depth(start, end, body, *parameters)
        )

    def parameters(self, parts: Parts, start: int, end: int) -> tuple[syntax.Parameter, ...]:
        optional: syntax.Parameter | None = None
        for parameter in parts:
            if parameter.default is not None:
                optional = parameter
            elif optional is not None:
                raise self.error(
                    "E123",
                    "a parameter without a default after one that has one",
                    parameter.span,
                    help=(
                        f"put `{parameter.name.name}` before `{optional.name.name}`, or give it "
                        "a default"
                    ),
                )
        return tuple(parts)

    def parameter(self, parts: Parts, start: int, end: int) -> syntax.Parameter:
        default = parts[1] if len(parts) == 2 else None
        return syntax.Parameter(
            self.token_name(parts[0]),
            default,
            span=self.span(start, end),
            depth=1 + deepest([default]),
        )

    # ---- what follows an operand ----

    def member(self, parts: Parts, start: int, end: int) -> syntax.Member:
        object, token = parts
        name_span = self.span(token[2], token[3])
        return syntax.Member(object, token[1], name_span, **self.span_and_depth(start, end, object))

    def call(self, parts: Parts, start: int, end: int) -> syntax.Call:
        callee, arguments = parts
        return syntax.Call(callee, arguments, **self.span_and_depth(start, end, callee, *arguments))

    def arguments(self, parts: Parts, start: int, end: int) -> tuple[syntax.Argument, ...]:
        arguments: list[syntax.Argument] = []
        keywords: set[str] = set()
        for part in parts:
            if not isinstance(part, syntax.Argument):
                part = syntax.Argument(part, span=part.span, depth=part.depth)
                if keywords:
                    raise self.error(
                        "E123",
                        "a positional argument after a keyword argument",
                        part.span,
                        help="put it first, or name it",
                    )
            elif part.keyword in keywords:
                raise self.error("E123", f"the keyword `{part.keyword}` is given twice", part.span)
            else:
                keywords.add(part.keyword)
            arguments.append(part)
        return tuple(arguments)

    def keyword(self, parts: Parts, start: int, end: int) -> syntax.Argument:
        token, value = parts
        return syntax.Argument(value, token[1], span=self.span(start, end), depth=value.depth)

    def index(self, parts: Parts, start: int, end: int) -> syntax.Index:
        object = parts[0]
        items = tuple(
            syntax.EllipsisItem(span=self.span(p[2], p[3])) if isinstance(p, tuple) else p
            for p in parts[1:]
        )
        return syntax.Index(object, items, **self.span_and_depth(start, end, object, *items))

    def slice_(self, parts: Parts, start: int, end: int) -> syntax.Slice:
        bounds: list[Any] = [None]
        for part in parts:
            if isinstance(part, tuple):
                bounds.append(None)
            else:
                bounds[-1] = part
        first, stop, step = (*bounds, None)[:3]
        return syntax.Slice(first, stop, step, **self.span_and_depth(start, end, *bounds))
