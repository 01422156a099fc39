"""Which names there are: the first walk over a program, before any name is resolved.

A function is a scope, and so is a module, whose body is one; a block is not. A name that is
assigned anywhere in a function is local to it. A name that an inner function uses is *captured*: it
lives in a cell that both share. The walk keeps its own stack, so the depth of the tree doesn't
matter to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import program, syntax


class Event(NamedTuple):
    """A place that binds a name. `kind` is assign, augment, for, parameter, fn, import, tape,
    module, var, frozen or const; `start` is where the name stands, and from `end` on the name has
    its value."""

    kind: str
    node: Any
    start: int
    end: int


# What a comprehension goes through, and its items so far: no names that a program can have.
SEQUENCE, ITEMS = "[sequence]", "[items]"
NO_SLOT = program.Slot(-1, "")  # before slots are given out


@dataclass(slots=True, eq=False)
class Binding:
    """A name of a scope, and all that is ever bound to it."""

    name: str
    events: list[Event] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    first_start: int = sys.maxsize
    first_end: int = sys.maxsize
    captured: bool = False
    slot: program.Slot = NO_SLOT
    could_be_function: bool | None = None  # not yet known

    def add(self, event: Event) -> Binding:
        self.events.append(event)
        self.kinds.add(event.kind)
        self.first_start = min(self.first_start, event.start)
        self.first_end = min(self.first_end, event.end)
        return self

    def only(self, kind: str) -> Any:
        """The node of the one event, where there is just one and it is of this kind; else None."""
        return (
            self.events[0].node if len(self.events) == 1 and self.events[0].kind == kind else None
        )


@dataclass(slots=True, eq=False)
class Scope:
    """The top level, a function or a module. `itself` is the own name of the latter two, where that
    is never rebound."""

    parent: Scope | None
    bindings: dict[str, Binding] = field(default_factory=dict)
    uses: dict[str, int] = field(
        default_factory=dict
    )  # names that are read, with the offset of the first read
    calls: set[str] = field(
        default_factory=set
    )  # names that are called, by themselves or as a method
    captures: dict[str, program.Slot] = field(
        default_factory=dict
    )  # own slots of names from further out
    itself: Binding | None = None
    n_slots: int = 0

    def bind(self, name: str, event: Event) -> Binding:
        binding = self.bindings.get(name)
        if binding is None:
            binding = self.bindings[name] = Binding(name)
        return binding.add(event)

    def local(self, name: str) -> Binding | None:
        """The binding of a name in this scope, the function itself included."""
        binding = self.bindings.get(name)
        if binding is None and self.itself is not None and self.itself.name == name:
            return self.itself
        return binding

    def find(self, name: str) -> Binding | None:
        """The binding of a name here or further out."""
        scope: Scope | None = self
        while scope is not None:
            binding = scope.local(name)
            if binding is not None:
                return binding
            scope = scope.parent
        return None

    def visible(self) -> Iterator[str]:
        """All names that can be seen from here."""
        scope: Scope | None = self
        while scope is not None:
            yield from (name for name in scope.bindings if name not in (SEQUENCE, ITEMS))
            scope = scope.parent

    def add_slot(self, name: str, cell: bool = False) -> program.Slot:
        slot = program.Slot(self.n_slots, name, cell)
        self.n_slots += 1
        return slot


class Scopes:
    """All scopes of a program: `top`, and each function's and module's under the identity of its
    node. `attached` are the names, of whatever scope, that `attach_grad` makes hold a variable."""

    def __init__(self, tree: syntax.Module) -> None:
        self.top = Scope(None)
        self.attached: set[str] = set()
        self.functions: dict[int, Scope] = {}
        self._pending: list[tuple[Any, Scope]] = [
            (statement, self.top) for statement in reversed(tree.statements)
        ]
        while self._pending:
            node, scope = self._pending.pop()
            self._scan(node, scope)
        for scope in self.functions.values():
            self._name_itself(scope)

    def finish(self) -> None:
        """Decides what is captured, and gives every name its slot."""
        for scope in self.functions.values():
            for name in dict.fromkeys([*scope.uses, *sorted(scope.calls)]):
                self._capture(scope, name)
        for scope in (self.top, *self.functions.values()):
            for binding in sorted(scope.bindings.values(), key=lambda b: b.first_start):
                binding.slot = scope.add_slot(binding.name, binding.captured)
            for name in scope.captures:
                scope.captures[name] = scope.add_slot(name, cell=True)
            itself = scope.itself
            if itself is not None and not (
                itself.captured or itself.name in scope.uses or itself.name in scope.calls
            ):
                scope.itself = None
            if scope.itself is not None:
                scope.itself.slot = scope.add_slot(scope.itself.name, scope.itself.captured)

    def _capture(self, scope: Scope, name: str) -> None:
        crossed: list[Scope] = []
        outer: Scope | None = scope
        while outer is not None:
            binding = outer.local(name)
            if binding is not None:
                if crossed:
                    binding.captured = True
                for inner in crossed:
                    inner.captures.setdefault(name, program.Slot(-1, name, True))
                return
            crossed.append(outer)
            outer = outer.parent

    def _name_itself(self, scope: Scope) -> None:
        itself = scope.itself
        if itself is None:
            return
        assert scope.parent is not None
        if (
            scope.parent.bindings[itself.name].only(itself.events[0].kind) is None
            or itself.name in scope.bindings
        ):
            scope.itself = None

    # ---- the walk ----

    def _push(self, scope: Scope, *nodes: Any) -> None:
        self._pending.extend((node, scope) for node in reversed(nodes) if node is not None)

    def _scan(self, node: Any, scope: Scope) -> None:
        kind = type(node)
        if kind is syntax.Name:
            scope.uses.setdefault(node.name, node.span.start)
        elif kind is syntax.Number or kind is syntax.String or kind is syntax.Word:
            pass
        elif kind is syntax.Call:
            self._scan_call(node, scope)
        elif kind is syntax.Function:
            self._scan_function(node, scope, Scope(scope))
        elif kind is syntax.Comprehension:
            self._scan_comprehension(node, scope)
        elif kind is syntax.Backward:
            scope.uses.setdefault(node.name.name, node.name.span.start)
            self._scan_function(node, scope, Scope(scope))
        elif kind in _BINDERS:
            self._scan_binder(node, scope)
        else:
            self._push(scope, *children(node))

    def _scan_call(self, node: syntax.Call, scope: Scope) -> None:
        callee: Any = node.callee
        if isinstance(callee, syntax.Name):
            scope.calls.add(callee.name)
            callee = None
        elif isinstance(callee, syntax.Member):
            scope.calls.add(callee.name)
            callee = callee.object
        arguments = [argument.value for argument in node.arguments]
        if (
            isinstance(node.callee, syntax.Name | syntax.Member)
            and node.callee.name == "attach_grad"
        ):
            self.attached.update(
                item.name for item in (callee, *arguments[:1]) if isinstance(item, syntax.Name)
            )
        self._push(scope, callee, *arguments)

    def _scan_function(self, node: syntax.Scoped, outer: Scope, scope: Scope) -> None:
        self.functions[id(node)] = scope
        for parameter in node.parameters:
            start = parameter.span.start
            scope.bind(parameter.name.name, Event("parameter", parameter, start, start))
            self._push(outer, parameter.default)
        self._push(scope, node.body)

    def _scan_comprehension(self, node: syntax.Comprehension, outer: Scope) -> None:
        """A comprehension is a function of what its first `for` goes through."""
        scope = self.functions[id(node)] = Scope(outer)
        start = node.span.start
        for own in (SEQUENCE, ITEMS):
            scope.bind(own, Event("parameter", node, start, start))
        for k, clause in enumerate(node.clauses):
            self._push(scope if k else outer, clause.iterable)
            for name in clause.names:
                scope.bind(name.name, Event("for", clause, name.span.start, name.span.start))
            self._push(scope, *clause.conditions)
        self._push(scope, node.item)

    def _scan_binder(self, node: Any, scope: Scope) -> None:
        start, end = node.span.start, node.span.end
        if isinstance(node, syntax.Assign):
            self._scan_target(node.target, node, scope)
            self._push(scope, node.value)
        elif isinstance(node, syntax.Augment):
            if isinstance(node.target, syntax.Name):
                scope.bind(node.target.name, Event("augment", node, start, end))
            self._push(scope, node.target, node.value)
        elif isinstance(node, syntax.Declare):
            scope.bind(node.name.name, Event(node.kind, node, start, end))
            self._push(scope, node.value, node.domain)
        elif isinstance(node, syntax.For):
            for name in node.names:
                scope.bind(name.name, Event("for", node, start, node.iterable.span.end))
            self._push(scope, node.iterable, node.body)
        elif isinstance(node, syntax.Define | syntax.ModuleDefinition):
            kind = "fn" if isinstance(node, syntax.Define) else "module"
            binding = scope.bind(node.name.name, Event(kind, node, start, end))
            own = Binding(binding.name).add(Event(kind, node, start, start))
            inner = Scope(scope, itself=own)
            self._scan_function(node, scope, inner)
            if (
                isinstance(node, syntax.Define) and node.rule is not None
            ):  # inside the function, whose names it sees
                self._scan_function(node.rule, inner, Scope(inner))
        elif isinstance(node, syntax.Import):
            scope.bind(node.alias.name, Event("import", node, start, end))
        elif isinstance(node, syntax.Tape):
            scope.bind(node.name.name, Event("tape", node, start, end))
            self._push(scope, *node.options, node.body)

    def _scan_target(self, target: Any, node: syntax.Assign, scope: Scope) -> None:
        pending = [target]
        while pending:
            part = pending.pop()
            if isinstance(part, syntax.ListDisplay):
                pending.extend(part.items)
            elif isinstance(part, syntax.Name):
                scope.bind(part.name, Event("assign", node, part.span.start, node.span.end))
            else:
                self._push(scope, part)


_BINDERS = frozenset(
    [
        syntax.Assign,
        syntax.Augment,
        syntax.Declare,
        syntax.For,
        syntax.Define,
        syntax.Import,
        syntax.Tape,
        syntax.ModuleDefinition,
    ]
)


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below a node, in order."""
    for name in node.FIELDS:
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, syntax.Node))
        elif isinstance(value, syntax.Node):
            yield value
