"""Resolves expressions: names to slots, operators and builtins to Ops, calls to their
signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Report, Source, Span, did_you_mean
from ..ops import BUILTINS, INFIX, OPS
from ..ops.op import BindingError, Op
from . import program, syntax
from .arguments import meant_arguments, verify_call
from .callables import could_be_function
from .constants import CONSTANTS
from .flow import Frame
from .scopes import Binding, Scopes
from .unknown import UnknownNames

ATTACH = OPS["attach_grad"]


class ExpressionResolver(UnknownNames):
    """The half of the resolver that returns expressions. `report` collects the errors; it goes on
    after each."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        self.source = source
        self.scopes = scopes
        self.report = Report()
        self.frame = Frame(scopes.top)
        self.inputs: frozenset[str] = frozenset()  # the free names of an expression file
        self.imports: dict[
            int, program.Program
        ] = {}  # of imported files, by the identity of the statement
        self.cases: dict[type, Callable[[Any], program.Expression]] = {
            syntax.Name: self._name,
            syntax.Number: self._literal,
            syntax.String: self._literal,
            syntax.Text: self._text,
            syntax.Word: self._literal,
            syntax.ListDisplay: self._list,
            syntax.DictDisplay: self._dict,
            syntax.Member: self._member,
            syntax.Call: self._call,
            syntax.Index: self._index,
            syntax.Unary: self._unary,
            syntax.Power: self._power,
            syntax.Arithmetic: self._arithmetic,
            syntax.Comparison: self._comparison,
            syntax.Logical: self._logical,
            syntax.Conditional: self._conditional,
            syntax.Function: self._function,
        }

    def expression(self, node: syntax.Expression) -> program.Expression:
        return self.cases[type(node)](node)

    def optional(self, node: syntax.Expression | None) -> program.Expression | None:
        return None if node is None else self.expression(node)

    # ---- names ----

    def _name(self, node: syntax.Name) -> program.Expression:
        name, span = node.name, node.span
        return (
            self.read(name, span)
            or self.registered_function(name, span)
            or self.unknown(name, span)
        )

    def read(self, name: str, span: Span) -> program.Expression | None:
        """The value under a name, or None where there is no such name. A builtin's name that the
        program assigns only later still means the builtin."""
        scope = self.frame.scope
        binding = scope.local(name)
        if binding is None and name in scope.captures:
            return program.Read(scope.captures[name], not self.frame.is_assigned(name), span=span)
        if binding is None:
            return self._builtin(name, span)
        if binding is scope.itself or name in self.frame.assigned:
            return program.Read(binding.slot, span=span)
        if binding.first_end <= max(span.start, self.frame.loop_end):
            return program.Read(binding.slot, True, span=span)
        return self._builtin(name, span) or self.too_early(binding, span)

    def _builtin(self, name: str, span: Span) -> program.Expression | None:
        if name in CONSTANTS:
            return program.Constant(CONSTANTS[name], span=span)
        if name in BUILTINS:
            return program.Builtin(BUILTINS[name], span=span)
        return None

    def too_early(self, binding: Binding, span: Span) -> program.Expression:
        name, event = binding.name, min(binding.events, key=lambda event: event.end)
        help = ""
        if (
            self.frame.parent is not None
            and self.frame.scope.parent is not None
            and self.frame.scope.parent.find(name)
        ):
            help = (
                f"an assignment makes `{name}` local to the {self.frame.kind}; a `var` outside "
                f"is updated with `{name} := …`"
            )
        line = self.source.position(event.start)[0]
        label = (
            "this is its first assignment"
            if event.node.span.start <= span.start
            else f"it is first assigned on line {line}"
        )
        self.report.add("E201", f"`{name}` has no value yet", span, label=label, help=help)
        return self.nothing(span)

    # ---- literals and displays ----

    def _literal(self, node: Any) -> program.Expression:
        return program.Constant(node.value, span=node.span)

    def _text(self, node: syntax.Text) -> program.Expression:
        parts = [
            part
            if isinstance(part, str)
            else program.Field(self.expression(part.value), part.format, span=part.span)
            for part in node.parts
        ]
        return program.Text(tuple(parts), span=node.span)

    def _list(self, node: syntax.ListDisplay) -> program.Expression:
        return program.ListDisplay(
            tuple([self.expression(item) for item in node.items]), span=node.span
        )

    def _dict(self, node: syntax.DictDisplay) -> program.Expression:
        seen: set[str] = set()
        for entry in node.entries:
            if entry.key in seen:
                self.report.add(
                    "E218", f"the key `{entry.key}` stands twice in this dict", entry.span
                )
            seen.add(entry.key)
        values = tuple([self.expression(entry.value) for entry in node.entries])
        return program.DictDisplay(
            tuple(entry.key for entry in node.entries), values, span=node.span
        )

    # ---- operators ----

    def _unary(self, node: syntax.Unary) -> program.Expression:
        op = INFIX["not" if node.sign == "not" else f"unary {node.sign}"]
        return program.Apply(op, (self.expression(node.operand),), span=node.span)

    def _power(self, node: syntax.Power) -> program.Expression:
        return program.Apply(
            INFIX["**"],
            (self.expression(node.base), self.expression(node.exponent)),
            span=node.span,
        )

    def _arithmetic(self, node: syntax.Arithmetic) -> program.Expression:
        """A left-deep spine, made from its inner end: a chain may have many thousand terms."""
        first = node.operands[0]
        result = self.expression(first)
        for sign, operand in zip(node.signs, node.operands[1:], strict=True):
            span = first.span.to(operand.span)  # that of the node may begin with a parenthesis
            result = program.Apply(INFIX[sign], (result, self.expression(operand)), span=span)
        return result

    def _comparison(self, node: syntax.Comparison) -> program.Expression:
        operands = tuple([self.expression(operand) for operand in node.operands])
        if len(operands) == 2:
            return program.Apply(INFIX[node.signs[0]], operands, span=node.span)
        pairs = zip(node.operands, node.operands[1:], strict=False)
        spans = tuple(left.span.to(right.span) for left, right in pairs)
        return program.Chain(
            operands, tuple(INFIX[sign] for sign in node.signs), spans, span=node.span
        )

    def _logical(self, node: syntax.Logical) -> program.Expression:
        return program.Logical(
            node.sign,
            tuple([self.expression(operand) for operand in node.operands]),
            span=node.span,
        )

    def _conditional(self, node: syntax.Conditional) -> program.Expression:
        condition, then, otherwise = map(
            self.expression, (node.condition, node.then, node.otherwise)
        )
        return program.Conditional(condition, then, otherwise, span=node.span)

    # ---- members and indices ----

    def _member(self, node: syntax.Member) -> program.Expression:
        if self.is_of_package(node):
            return self.nothing(node.span)
        self._verify_import_member(node)
        return program.Member(self.expression(node.object), node.name, span=node.span)

    def _verify_import_member(self, node: syntax.Member) -> bool:
        """Whether the object is an import; reports a member that it doesn't have."""
        if not isinstance(node.object, syntax.Name):
            return False
        binding = self.frame.scope.find(node.object.name)
        imported = self.imports.get(id(binding.only("import"))) if binding is not None else None
        if imported is None:
            return False
        if node.name not in imported.names:
            self.report.add(
                "E215",
                f"`{node.object.name}` has no member `{node.name}`",
                node.name_span,
                help=did_you_mean(node.name, imported.names),
            )
        return True

    def _index(self, node: syntax.Index) -> program.Expression:
        return program.Index(self.expression(node.object), self.index_items(node), span=node.span)

    def index_items(self, node: syntax.Index) -> tuple[program.IndexItem, ...]:
        ellipses = [item for item in node.items if isinstance(item, syntax.EllipsisItem)]
        if len(ellipses) > 1:
            self.report.add("E219", "`...` stands twice in this index", ellipses[1].span)
        return tuple([self._index_item(item) for item in node.items])

    def _index_item(self, item: syntax.IndexItem) -> program.IndexItem:
        if isinstance(item, syntax.Slice):
            bounds = map(self.optional, (item.start, item.stop, item.step))
            return program.Slice(*bounds, span=item.span)
        if isinstance(item, syntax.EllipsisItem):
            return program.EllipsisItem(span=item.span)
        return self.expression(item)

    # ---- calls ----

    def _call(self, node: syntax.Call) -> program.Expression:
        if isinstance(node.callee, syntax.Member):
            return self._method_call(node, node.callee)
        if not isinstance(node.callee, syntax.Name):
            return program.Call(self.expression(node.callee), self._arguments(node), span=node.span)
        name = node.callee.name
        if name in self.inputs and self.frame.scope.find(name) is self.scopes.top.bindings[name]:
            callee = self._builtin(name, node.callee.span)  # what is called is never an input
        else:
            callee = self.read(name, node.callee.span)
        callee = (
            callee
            or self.registered_function(name, node.callee.span)
            or self.unknown(name, node.callee.span, "function")
        )
        if isinstance(callee, program.Builtin):
            self._verify_value(callee.op, node)
            return self.bind(callee.op, node)
        if isinstance(callee, program.Read):
            binding = self.frame.scope.find(name)
            assert binding is not None
            definition = binding.only("fn") or binding.only("module")
            if definition is not None:
                verify_call(name, definition.parameters, node, self.report)
            elif not could_be_function(binding, self.frame.scope):
                self._not_a_function(binding, node.callee.span)
        elif isinstance(callee, program.Constant) and name in CONSTANTS:
            self.report.add("E217", f"`{name}` is a number, not a function", node.callee.span)
        return program.Call(callee, self._arguments(node), span=node.span)

    def _not_a_function(self, binding: Binding, span: Span) -> None:
        line = self.source.position(binding.events[0].start)[0]
        hides = f", and hides the builtin `{binding.name}`" if binding.name in BUILTINS else ""
        self.report.add(
            "E217",
            f"`{binding.name}` is not a function here",
            span,
            label=f"line {line} assigns it{hides}",
            help="choose another name for the value"
            if hides
            else f"an element is `{binding.name}[i]`; indices count from 0",
        )

    def _verify_value(self, op: Op | None, node: syntax.Call) -> None:
        """Reports a builtin that gives no value, and does its work as a statement only."""
        if op is ATTACH:
            message = "`attach_grad` stands as a statement of its own"
            label = "it makes the name hold a variable, and gives no value"
            self.report.add(
                "E226", message, node.span, label=label, help="write it on a line before this one"
            )

    def bind(self, op: Op, node: syntax.Call) -> program.Expression:
        """A call of a builtin, bound to its signature."""
        arguments = node.arguments
        values: dict[int | str, program.Expression] = {}
        n_positional = 0
        for k, argument in enumerate(arguments):
            values[argument.keyword or k] = self.expression(argument.value)
            n_positional += not argument.keyword
        keywords = [a.keyword for a in arguments if a.keyword]
        op = op.called_with(n_positional, keywords)
        try:
            operands, options = op.signature.bind(op.name, n_positional, keywords)
        except BindingError as error:
            at = next(
                (a for k, a in enumerate(arguments) if error.argument in (a.keyword or None, k)),
                node,
            )
            help = meant_arguments(op, node, error) or error.help
            self.report.add("E202", error.message, at.span, help=help)
            return self.nothing(node.span)
        return program.Apply(
            op,
            tuple([None if key is None else values[key] for key in operands]),
            tuple([(name, self._option(key, values)) for name, key in options.items()]),
            span=node.span,
        )

    def _option(self, key: Any, values: dict[int | str, program.Expression]) -> program.Expression:
        """The value of an option; several positional arguments are one list (`reshape(x, 2,
        -1)`)."""
        if not isinstance(key, tuple):
            return values[key]
        items = tuple([values[k] for k in key])
        return program.ListDisplay(items, span=items[0].span.to(items[-1].span))

    def _arguments(self, node: syntax.Call) -> tuple[program.Argument, ...]:
        return tuple(
            [program.Argument(self.expression(a.value), a.keyword) for a in node.arguments]
        )

    def _method_call(self, node: syntax.Call, callee: syntax.Member) -> program.Expression:
        if self.is_of_package(callee):
            return self.nothing(node.span)
        receiver = self.expression(callee.object)
        arguments = self._arguments(node)
        if self._verify_import_member(callee):
            return program.MethodCall(receiver, callee.name, arguments, None, None, span=node.span)
        function = None
        op = BUILTINS.get(callee.name)
        binding = self.frame.scope.find(callee.name)
        if binding is not None and (op is None or could_be_function(binding, self.frame.scope)):
            function = self.read(callee.name, callee.name_span)
            if isinstance(function, program.Builtin):
                function = None
        if function is None:
            self._verify_value(op, node)
        if (
            function is None
            and op is None
            and isinstance(callee.object, syntax.Number | syntax.Arithmetic | syntax.Power)
        ):
            self.unknown(callee.name, callee.name_span, "function")
        return program.MethodCall(receiver, callee.name, arguments, function, op, span=node.span)

    # ---- functions ----

    def _function(self, node: syntax.Function) -> program.Expression:
        return program.FunctionLiteral(self.function("", node), span=node.span)

    def function(self, name: str, node: syntax.Scoped) -> program.Function:
        raise NotImplementedError  # the other half of the resolver knows statements
