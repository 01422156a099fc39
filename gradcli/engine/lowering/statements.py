"""Statements in IR: assignments, branches and returns.

A path through statements ends where they do, or at a `return`, `break` or `continue`. The
statements after an `if` that ends some paths are lowered inside its branches, so that each block
has one end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...lang import program
from ...lang.program.liveness import Liveness
from ...lang.program.statements import ATOL, RTOL
from ..ir.builder import Builder
from ..ir.instructions import Check, Value
from .held.flow import COMPILED, is_loop, leaves, returns
from .held.kinds import Array, Maybe, Mixed, without_variable
from .held.names import ABSENT, RETURNED, Fails, Name, NotCompiled
from .loops.carried import End, Finish
from .loops.iterating import Iterating
from .values.containers import Path

MAX_PATHS = 64  # through the body of a function or an iteration, with `if`s that end paths


class Lowering(Iterating):
    """The lowering of one region.

    A region steps back where an expectation fails. One for rows has them anywhere, and prints
    nothing; one for a program has them at the top level, where each is met once.
    """

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.paths = 0

    # ---- paths -----------------------------------------------------------------------------------

    def call_body(
        self, function: program.Function, then: Callable[[Any], Any] | None = None
    ) -> Any:
        """The result of a function's body, or what `then` makes of it on each path."""

        def finish(end: End, value: Any) -> Any:
            if end == "stop":
                raise value
            returned = value if end == "return" else ABSENT
            return returned if then is None else then(returned)

        return self.all_paths(function.body, finish)

    def all_paths(self, statements: Sequence[Any], finish: Finish) -> Any:
        """Lowers the body of a function, or of an iteration, where all its paths end."""
        outer, self.paths = self.paths, 0
        try:
            return self.path(statements, finish)
        finally:
            self.paths = outer

    def path(self, statements: Sequence[Any], finish: Finish) -> Any:
        """Lowers statements up to the end of the path, and returns what `finish` makes of that
        end."""
        for k, statement in enumerate(statements):
            with self.at(statement.span):
                self.count()
                if isinstance(statement, program.Return):
                    value = None if statement.value is None else self.expression(statement.value)
                    return finish("return", value)
                if isinstance(statement, program.Break):
                    return finish("break", None)
                if isinstance(statement, program.Continue):
                    return finish("continue", None)
                is_compiled = isinstance(statement, COMPILED)
                if not (is_compiled or (self.for_rows and _is_of_rows(statement))):
                    return finish("stop", self.not_compiled(statement))
                if isinstance(statement, program.If) and leaves(statement):
                    return self.split(statement, statements[k + 1 :], finish)
                self.statement(statement)
                if is_loop(statement) and returns(statement):
                    return self.after_loop(statement, statements[k + 1 :], finish)
        return finish("fall", None)

    def split(self, node: program.If, rest: Sequence[Any], finish: Finish) -> Any:
        """An `if` that ends some paths: its branches, each with the rest of the statements."""

        def go(k: int) -> Any:
            if k == len(node.branches):
                return self.path((*node.otherwise, *rest), finish)
            written, body = node.branches[k]
            condition = self.condition(written)
            self.paths += condition not in self.builder.known
            if self.paths > MAX_PATHS:
                raise NotCompiled("too many paths leave from here")
            return self.either(
                condition, lambda: self.path((*body, *rest), finish), lambda: go(k + 1)
            )

        return go(0)

    def after_loop(self, node: Any, rest: Sequence[Any], finish: Finish) -> Any:
        """The statements after a loop that may have returned."""
        held = self.names.held.pop(Name(self.frame, RETURNED), ABSENT)
        if held is ABSENT:
            return self.path(rest, finish)
        if not isinstance(held, Maybe):
            return finish("return", held)
        return self.either(
            held.there, lambda: finish("return", held.held), lambda: self.path(rest, finish)
        )

    # ---- statements ------------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        lower = _STATEMENTS.get(type(node))
        if lower is None:
            raise self.not_compiled(node)
        lower(self, node)

    def not_compiled(self, node: Any) -> NotCompiled:
        return NotCompiled(f"`{_WORDS.get(type(node), '?')}` is not compiled")

    def all(self, statements: Sequence[Any]) -> None:
        for statement in statements:
            with self.at(statement.span):
                self.count()
                self.statement(statement)

    def assign(self, node: program.Assign) -> None:
        self.bind(node.target, self.expression(node.value))

    def bind(self, target: Any, value: Any) -> None:
        if isinstance(target, program.NameTarget):
            self.names.held[Name(self.frame, target.slot.index)] = value
            return
        with self.at(target.span):
            if isinstance(target, program.ListTarget):
                parts = self.rows(self.value(value))
                if len(parts) != len(target.items):
                    raise Fails("the value that is unpacked has another length")
                for item, part in zip(target.items, parts, strict=True):
                    self.bind(item, part)
                return
            whole = self.value(self.read(target.slot))
            if target.slot.index in self.own_parameters:
                whole = without_variable(whole)
            path = self.entry_path(target)
            name = Name(self.frame, target.slot.index)
            self.names.held[name] = self.replaced(whole, path, value)

    def entry_path(self, target: program.EntryTarget) -> list[Path]:
        with self.at(target.span):
            return [s if isinstance(s, str) else self.path_step(s) for s in target.path]

    def augment(self, node: program.Augment) -> None:
        held = self.value(self.read(node.target.slot))
        if isinstance(node.target, program.EntryTarget):
            for step in self.together(held, self.entry_path(node.target)):
                held = self.entry(held, step)
        found = self.apply(node.op, [held, self.lazy(node.value)])
        self.bind(node.target, self.whole(found))

    def evaluate(self, node: program.Evaluate) -> None:
        self.expression(node.value)

    def expect(self, node: program.Expect) -> None:
        """An expectation in a function, a branch or a loop."""
        if not self.for_rows:
            raise self.not_compiled(node)
        self.claim(node)

    def claim(self, node: program.Expect) -> None:
        """An expectation that fails makes the region step back."""
        if node.close_to is None:
            self.builder.add(Check(self.condition(node.value)))
            return
        given = {"rtol": RTOL, "atol": ATOL} | dict(node.options)
        rtol, atol = [self.tolerance(given[name]) for name in ("rtol", "atol")]
        for a, b in self.pairs(node.value, node.close_to):
            self.builder.add(Check(self.is_close(a, b, rtol, atol)))

    def tolerance(self, given: Any) -> Value:
        held = self.builder.constant(given) if type(given) is float else self.expression(given)
        return self.number(held)

    def number(self, held: Any) -> Value:
        """What is held, as a float."""
        held = self.value(held)
        if not isinstance(held, Value | Mixed):
            raise NotCompiled("a number is needed here")
        return self.as_float(held)

    def pairs(self, left: Any, right: Any) -> Iterator[tuple[Value, Value]]:
        """The numbers of two values of one shape, side by side, as floats."""
        a, b = [self.value(self.expression(node)) for node in (left, right)]
        if isinstance(a, Array) and isinstance(b, Array) and a.shape == b.shape:
            for pair in zip(a.items, b.items, strict=True):
                yield self.number(pair[0]), self.number(pair[1])
        else:
            yield self.number(a), self.number(b)

    def is_close(self, a: Value, b: Value, rtol: Value, atol: Value) -> Value:
        """Whether a number surely is close to another. Where they are infinite or nan, the
        interpreter decides."""
        m = self.m
        is_close = m.formula(lambda a, b, rtol, atol: m.abs(a - b) <= atol + rtol * m.abs(b))
        return is_close(a, b, rtol, atol)

    def show(self, node: program.Print) -> None:
        """A `print`, which rows don't show. Its values are computed, as that may fail."""
        if not self.for_rows:
            raise self.not_compiled(node)
        for item in node.items:
            parts = item.parts if isinstance(item, program.Text) else (item,)
            for part in parts:
                if isinstance(part, program.Field):
                    self.field(part)
                elif not isinstance(part, str):
                    self.expression(part)

    def field(self, node: program.Field) -> None:
        """A value in a text. A format of floats fits any number."""
        held = self.expression(node.value)
        if node.format:
            with self.at(node.span):
                if node.format[-1] not in "eEfFgG":
                    raise NotCompiled("this format is not compiled")
                self.number(held)

    def branch(self, node: program.If) -> None:
        merged = self.surviving(node, self.liveness.after(node))

        def go(k: int) -> None:
            if k == len(node.branches):
                self.all(node.otherwise)
                return
            condition, body = node.branches[k]
            self.either(
                self.condition(condition), lambda: self.all(body), lambda: go(k + 1), merged
            )

        go(0)
        self.forget_others(node, merged)


def _is_of_rows(statement: Any) -> bool:
    """Whether a statement is compiled in regions for rows alone."""
    return isinstance(statement, program.Print | program.Expect)


_STATEMENTS: dict[type, Callable[[Any, Any], None]] = {
    program.Assign: Lowering.assign,
    program.Augment: Lowering.augment,
    program.Evaluate: Lowering.evaluate,
    program.If: Lowering.branch,
    program.While: Lowering.while_loop,
    program.For: Lowering.for_loop,
    program.Expect: Lowering.expect,
    program.Print: Lowering.show,
    program.Update: Lowering.update,
    program.Tape: Lowering.tape,
    program.Pause: Lowering.pause,
    program.Watch: Lowering.watch,
}
_WORDS: dict[type, str] = {
    program.Print: "print",
    program.Expect: "expect",
    program.ExpectError: "expect error",
    program.Declare: "var",
    program.Import: "import",
    program.Record: "record",
    program.Attach: "attach_grad",
    program.Backward: "backward",
    program.Output: "output",
}
