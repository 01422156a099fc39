"""Statements in IR: assignments, branches, loops and returns.

A path through statements ends where they do, or at a `return`, `break` or `continue`. What follows
an `if` that ends some paths is lowered inside its branches, so that each block has one end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from ...diagnostics import Span
from ...lang import program
from ..ir.builder import Builder
from ..ir.instructions import Block, For, Value, While
from ..ir.types import BOOL, I64
from .expressions import Expressions
from .names import Name, NotCompiled, Unknown, is_value
from .structures import flat, in_new_values, same_structure

MAX_PATHS = 64  # through what follows an `if` that ends some paths
MAX_UNROLLED = 64  # items of a list that a loop goes over

End = Literal["fall", "return", "break", "continue"]
# What a path gives, by how it ends and what it returns.
Finish = Callable[[End, Any], Any]

_BLOCKS = (
    program.While,
    program.For,
    program.Tape,
    program.Pause,
    program.Record,
    program.ExpectError,
)
_LEAVING = (program.Return, program.Break, program.Continue)


class Lowering(Expressions):
    """The lowering of one region."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.paths = 0

    # ---- paths -----------------------------------------------------------------------------------

    def call_body(self, function: program.Function) -> Any:
        def finish(end: End, value: Any) -> Any:
            if end == "fall":
                raise NotCompiled("a function without `return` has no value", function.span)
            return value

        return self.path(function.body, finish)

    def path(self, statements: Sequence[Any], finish: Finish) -> Any:
        """Lowers statements up to the end of the path, and gives what `finish` makes of that."""
        for k, statement in enumerate(statements):
            if isinstance(statement, program.Return):
                value = None if statement.value is None else self.expression(statement.value)
                return finish("return", value)
            if isinstance(statement, program.Break):
                return finish("break", None)
            if isinstance(statement, program.Continue):
                return finish("continue", None)
            if isinstance(statement, program.If) and _leaves(statement):
                return self.split(statement, statements[k + 1 :], finish)
            self.statement(statement)
        return finish("fall", None)

    def split(self, node: program.If, rest: Sequence[Any], finish: Finish) -> Any:
        """An `if` that ends some paths: its branches, each with the rest of the statements."""
        self.paths += len(node.branches)
        if self.paths > MAX_PATHS:
            raise NotCompiled("too many paths leave from here", node.span)

        def go(k: int) -> Any:
            if k == len(node.branches):
                return self.path((*node.otherwise, *rest), finish)
            condition, body = node.branches[k]
            return self.either(
                self.condition(condition),
                lambda: self.path((*body, *rest), finish),
                lambda: go(k + 1),
                node.span,
            )

        return go(0)

    # ---- statements ------------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        lower = _STATEMENTS.get(type(node))
        if lower is None:
            raise NotCompiled(f"`{_WORDS.get(type(node), '?')}` is not compiled", node.span)
        lower(self, node)

    def all(self, statements: Sequence[Any]) -> None:
        for statement in statements:
            self.statement(statement)

    def assign(self, node: program.Assign) -> None:
        self.bind(node.target, self.expression(node.value))

    def bind(self, target: Any, value: Any) -> None:
        if isinstance(target, program.NameTarget):
            self.names.held[Name(self.frame, target.slot.index)] = value
        elif isinstance(target, program.ListTarget):
            if type(value) is not tuple or len(value) != len(target.items):
                raise NotCompiled("what is unpacked is no list of known length", target.span)
            for item, part in zip(target.items, value, strict=True):
                self.bind(item, part)
        else:
            raise NotCompiled("writing an element is not compiled", target.span)

    def augment(self, node: program.Augment) -> None:
        if not isinstance(node.target, program.NameTarget):
            raise NotCompiled("writing an element is not compiled", node.span)
        held = self.read(node.target.slot, node.span)
        self.bind(node.target, self.apply(node.op, [held, self.expression(node.value)], node.span))

    def evaluate(self, node: program.Evaluate) -> None:
        self.expression(node.value)

    def branch(self, node: program.If) -> None:
        def go(k: int) -> None:
            if k == len(node.branches):
                self.all(node.otherwise)
                return
            condition, body = node.branches[k]
            self.either(
                self.condition(condition), lambda: self.all(body), lambda: go(k + 1), node.span
            )

        go(0)

    # ---- loops -----------------------------------------------------------------------------------

    def while_loop(self, node: program.While) -> None:
        self.loop(node, lambda: self.condition(node.condition))

    def for_loop(self, node: program.For) -> None:
        iterable = node.iterable
        if not (isinstance(iterable, program.Apply) and iterable.op.name == "range"):
            self.unrolled(node, self.expression(iterable))
            return
        start, step, count = self.bounds(iterable)
        if not isinstance(node.target, program.NameTarget):
            raise NotCompiled("a loop over `range` has one name", node.target.span)
        if _breaks(node.body):
            raise NotCompiled("`break` in a `for` loop is not compiled", node.span)
        carried = self.carried(node)
        block = Block()
        before = dict(self.names.held)
        index = Value(I64)
        parameters = {name: in_new_values(before[name]) for name in carried}
        block.parameters = (index, *_flat(parameters.values()))
        self.names.held.update(parameters)
        with self.builder.inside(block):
            self.bind(node.target, self.reached(start, step, index, iterable.span))
            block.results = self.path(node.body, self.next_iteration(carried, before, node))
        results = {name: in_new_values(before[name]) for name in carried}
        initial = tuple(_flat(before[name] for name in carried))
        made = For(count, initial, block, tuple(_flat(results.values())))
        self.builder.add(made)
        self.leave(before, results, node)

    def bounds(self, node: program.Apply) -> tuple[Value, Value, Value]:
        """The start, the step and the count of a range."""
        ends = [self.expression(end) for end in node.operands if end is not None]
        if any(getattr(end, "type", None) != I64 for end in ends):
            raise NotCompiled("`range` goes over ints", node.span)
        start = self.builder.constant(0) if len(ends) == 1 else ends[0]
        step = ends[2] if len(ends) == 3 else self.builder.constant(1)
        if not self.builder.known.get(step):
            raise NotCompiled("a step that isn't known is not compiled", node.span)
        stop, apply = ends[min(1, len(ends) - 1)], self.builder.apply
        size, far = abs(self.builder.known[step]), (start, stop)
        if self.builder.known[step] < 0:
            far = (stop, start)
        count = stop if self.is_int(start, 0) else apply("sub", [far[1], far[0]], node.span)
        if size > 1:
            rounded = apply("add", [count, self.builder.constant(size - 1)], node.span)
            count = apply("floordiv", [rounded, self.builder.constant(size)], node.span)
        return start, step, count

    def is_int(self, value: Value, number: int) -> bool:
        return self.builder.known.get(value) == number

    def reached(self, start: Value, step: Value, index: Value, span: Span) -> Value:
        """The int of a range at an index."""
        if not self.is_int(step, 1):
            index = self.builder.apply("mul", [index, step], span)
        return index if self.is_int(start, 0) else self.builder.apply("add", [start, index], span)

    def loop(self, node: program.While, condition: Callable[[], Value]) -> None:
        """A loop with a condition. A `break` clears a flag, which the condition asks first."""
        carried, before = self.carried(node), dict(self.names.held)
        breaks = _breaks(node.body)
        flags = [self.builder.constant(True)] if breaks else []
        asked, body = Block(), Block()
        for block in (asked, body):
            parameters = {name: in_new_values(before[name]) for name in carried}
            self.names.held = {**before, **parameters}
            flag = [Value(BOOL)] if breaks else []
            block.parameters = (*flag, *_flat(parameters.values()))
            with self.builder.inside(block):
                if block is asked:
                    block.results = (self.guarded(flag, condition, node),)
                else:
                    block.results = self.path(
                        node.body, self.next_iteration(carried, before, node, breaks)
                    )
        results = {name: in_new_values(before[name]) for name in carried}
        initial = (*flags, *_flat(before[name] for name in carried))
        given = (*[Value(BOOL) for _ in flags], *_flat(results.values()))
        self.builder.add(While(initial, asked, body, given))
        self.leave(before, results, node)

    def guarded(
        self, flag: Sequence[Value], condition: Callable[[], Value], node: program.While
    ) -> Value:
        if not flag:
            return condition()
        found: Value = self.either(
            flag[0], condition, lambda: self.builder.constant(False), node.span
        )
        return found

    def next_iteration(
        self, carried: Sequence[Name], before: dict[Name, Any], node: Any, breaks: bool = False
    ) -> Finish:
        """What an iteration gives: the flag, where there is one, and the carried values."""

        def finish(end: End, value: Any) -> Any:
            if end == "return":
                raise NotCompiled("`return` in a loop is not compiled", node.span)
            found = [self.builder.constant(end != "break")] if breaks else []
            for name in carried:
                held = self.names.held.get(name)
                if not is_value(held) or not same_structure(held, before[name]):
                    raise NotCompiled("a name changes its type in this loop", node.span)
                found += flat(held)
            return tuple(found)

        return finish

    def carried(self, node: program.While | program.For) -> list[Name]:
        """The names that a loop assigns and that have a value before it."""
        names = [Name(self.frame, slot) for slot in dict.fromkeys(assigned([node]))]
        return [name for name in names if is_value(self.names.held.get(name))]

    def leave(self, before: dict[Name, Any], results: dict[Name, Any], node: Any) -> None:
        """After a loop: what it carried has its results, and what began in it may have no value."""
        for name in self.names.changed(before):
            if name not in results:
                self.names.held[name] = Unknown(
                    "a name that a loop begins may have no value after it", node.span
                )
        self.names.held.update(results)

    def unrolled(self, node: program.For, items: Any) -> None:
        if type(items) is not tuple or len(items) > MAX_UNROLLED:
            raise NotCompiled("a loop goes over a `range`, or a short list", node.span)
        if any(map(_leaves, node.body)) or any(isinstance(s, _LEAVING) for s in node.body):
            raise NotCompiled("a loop over a list that ends early is not compiled", node.span)
        for item in items:
            self.bind(node.target, item)
            self.all(node.body)


_STATEMENTS: dict[type, Callable[[Any, Any], None]] = {
    program.Assign: Lowering.assign,
    program.Augment: Lowering.augment,
    program.Evaluate: Lowering.evaluate,
    program.If: Lowering.branch,
    program.While: Lowering.while_loop,
    program.For: Lowering.for_loop,
}
_WORDS: dict[type, str] = {
    program.Print: "print",
    program.Expect: "expect",
    program.ExpectError: "expect error",
    program.Update: ":=",
    program.Declare: "var",
    program.Import: "import",
    program.Tape: "tape",
    program.Watch: "watch",
    program.Pause: "pause",
    program.Record: "record",
    program.Attach: "attach_grad",
    program.Backward: "backward",
    program.Output: "output",
}


def _flat(held: Any) -> Iterator[Value]:
    for each in held:
        yield from flat(each)


def _inside(node: Any) -> Iterator[Any]:
    """The statements in a statement."""
    if isinstance(node, program.If):
        for _, body in node.branches:
            yield from body
        yield from node.otherwise
    elif isinstance(node, _BLOCKS):
        yield from node.body


def _leaves(node: Any) -> bool:
    """Whether a path can end in an `if`: by `return`, or by an end of an iteration around it."""
    if isinstance(node, program.If):
        return any(isinstance(s, _LEAVING) or _leaves(s) for s in _inside(node))
    if isinstance(node, program.While | program.For):
        return _returns(node)
    return False


def _returns(node: Any) -> bool:
    return any(isinstance(s, program.Return) or _returns(s) for s in _inside(node))


def _breaks(body: Sequence[Any]) -> bool:
    """Whether a loop with this body can be left by `break`."""
    return any(
        isinstance(s, program.Break) or (isinstance(s, program.If) and _breaks(list(_inside(s))))
        for s in body
    )


def assigned(statements: Sequence[Any]) -> Iterator[int]:
    """The slots that statements assign."""
    for node in statements:
        if isinstance(node, program.Assign | program.Augment | program.For):
            yield from _slots(node.target)
        elif isinstance(node, program.Declare | program.Tape | program.Import):
            yield node.slot.index
        elif isinstance(node, program.Update):
            variable = node.variable
            while isinstance(variable, program.Index):
                variable = variable.object
            if isinstance(variable, program.Read):
                yield variable.slot.index
        yield from assigned(list(_inside(node)))


def _slots(target: Any) -> Iterator[int]:
    if isinstance(target, program.ListTarget):
        for item in target.items:
            yield from _slots(item)
    else:
        yield target.slot.index
