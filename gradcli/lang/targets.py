"""Resolves what stands left of an assignment sign, for each of the three kinds of assignment."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Span
from ..ops import INFIX
from . import program, syntax
from .callables import HOLDS_ANYTHING
from .expressions import ExpressionResolver
from .scopes import Binding

_DECLARED = frozenset(["var", "frozen"])


class TargetResolver(ExpressionResolver):
    """Assignments: `=`, `+=` and `:=`."""

    def slot_of(self, name: str) -> program.Slot:
        """Where a name of this function, or one that it captures, lives."""
        binding = self.frame.scope.local(name)
        return binding.slot if binding is not None else self.frame.scope.captures[name]

    def bound(self, name: syntax.Name) -> program.Slot:
        """The slot of a name that is bound here; from now on it has a value."""
        binding = self.frame.scope.bindings[name.name]
        constant = (
            next(e for e in binding.events if e.kind == "const")
            if "const" in binding.kinds
            else None
        )
        if constant is not None and constant.node.name is not name:
            line = self.source.position(constant.start)[0]
            self.report.add(
                "E207",
                f"`{name.name}` is a constant and can't be assigned",
                name.span,
                label=f"line {line} declares it with `const`",
                help=f"declare it with `var {name.name}`, or choose another name",
            )
        self.frame.assigned.add(name.name)
        return binding.slot

    # ---- name = value ----

    def assign(self, node: syntax.Assign) -> program.Statement:
        value = self.expression(node.value)
        return program.Assign(self._target(node.target), value, span=node.span)

    def _target(self, node: Any) -> program.Target:
        if isinstance(node, syntax.Name):
            return program.NameTarget(self.bound(node), span=node.span)
        if isinstance(node, syntax.ListDisplay):
            return program.ListTarget(
                tuple([self._target(item) for item in node.items]), span=node.span
            )
        return self._entry(node)

    def _entry(self, node: Any) -> program.EntryTarget:
        """`a[i].k = …`: the path from the name outwards."""
        path: list[Any] = []
        inner = node
        while not isinstance(inner, syntax.Name):
            if isinstance(inner, syntax.Member):
                path.append(inner.name)
            elif len(inner.items) == 1 and isinstance(inner.items[0], syntax.String):
                path.append(inner.items[0].value)
            else:
                path.append(self.index_items(inner))
            inner = inner.object
        return program.EntryTarget(
            self._entry_slot(inner, node), tuple(reversed(path)), span=node.span
        )

    def _entry_slot(self, name: syntax.Name, whole: Any) -> program.Slot:
        read = self.read(name.name, name.span)
        binding = self.frame.scope.find(name.name)
        if binding is None:
            if read is None:
                self.unknown(name.name, name.span)
            else:
                self.report.add("E209", f"`{name.name}` is a builtin, not an array", name.span)
            return program.Slot(-1, name.name)
        local = self.frame.scope.bindings.get(name.name) is binding
        if isinstance(read, program.Builtin):
            self.too_early(binding, name.span)
        if binding.kinds <= _DECLARED:
            help = f"write `{whole.span.text} := …` to update the variable's state"
            self._fixed(
                binding,
                whole.span,
                f"`{name.name}` is a variable: its elements are not assigned with `=`",
                help,
            )
        elif binding.kinds == {"const"}:
            help = f"copy it first: `copy = {name.name}`"
            self._fixed(
                binding,
                whole.span,
                f"`{name.name}` is a constant: its elements can't be assigned",
                help,
            )
        elif not local:
            help = f"copy it first: `copy = {name.name}`, and return the copy"
            self._fixed(
                binding, whole.span, f"`{name.name}` belongs to the code around this function", help
            )
        return self.slot_of(name.name)

    def _fixed(self, binding: Binding, span: Span, message: str, help: str) -> None:
        line = self.source.position(binding.events[0].start)[0]
        self.report.add("E209", message, span, label=f"line {line} declares it", help=help)

    # ---- name += value ----

    def augment(self, node: syntax.Augment) -> program.Statement:
        op = INFIX[node.sign]
        if not isinstance(node.target, syntax.Name):
            entry = self._entry(node.target)
            return program.Augment(entry, op, self.expression(node.value), span=node.span)
        name = node.target
        old = self.read(name.name, name.span)
        if isinstance(old, program.Builtin) or (
            isinstance(old, program.Constant) and old.value is not None
        ):
            self.too_early(self.frame.scope.bindings[name.name], name.span)
        value = self.expression(node.value)
        target = program.NameTarget(self.bound(name), span=name.span)
        if isinstance(old, program.Read) and not old.checked:
            return program.Augment(target, op, value, span=node.span)
        # The name may have no value yet: a read asks, an Augment doesn't.
        assert old is not None
        return program.Assign(
            target, program.Apply(op, (old, value), span=node.span), span=node.span
        )

    # ---- variable := value ----

    def update(self, node: syntax.Update) -> program.Statement:
        if isinstance(node.variable, syntax.Name):
            self._verify_variable(node.variable, node.sign)
        variable = self.expression(node.variable)
        value = self.expression(node.value)
        return program.Update(
            variable, value, INFIX[node.sign] if node.sign else None, span=node.span
        )

    def _verify_variable(self, name: syntax.Name, sign: str) -> None:
        binding = self.frame.scope.find(name.name)
        if binding is None:
            if self.read(name.name, name.span) is not None:
                help = f"declare `var {name.name}`"
                self.report.add(
                    "E208", f"`{name.name}` is a builtin, not a variable", name.span, help=help
                )
            return
        constant = "const" in binding.kinds
        if not constant and (
            name.name in self.scopes.attached or any(map(_may_be_variable, binding.events))
        ):
            return
        line = self.source.position(binding.events[0].start)[0]
        word = "a constant" if constant else "a plain name"
        self.report.add(
            "E208",
            f"`:{sign}=` updates a variable, and `{name.name}` is {word}",
            name.span,
            label=f"line {line} {'declares' if constant else 'assigns'} it",
            help=f"declare it with `var {name.name}`"
            + ("" if constant else f", or rebind it with `{name.name} {sign}= …`"),
        )


def _may_be_variable(event: Any) -> bool:
    """Whether what is bound here can be a variable, as far as the text shows."""
    if event.kind in ("var", "frozen", "parameter", "for"):
        return True
    return event.kind == "assign" and isinstance(event.node.value, HOLDS_ANYTHING)
