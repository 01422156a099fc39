"""Resolves what controls recording: `tape`, `watch`, `pause`, `record`, and `attach_grad`."""

from __future__ import annotations

from typing import Any

from ..diagnostics import did_you_mean
from . import program, syntax
from .expressions import ATTACH
from .targets import TargetResolver

TAPE_OPTIONS = ("persistent", "watch_variables")


class WindowResolver(TargetResolver):
    """The statements that open windows on the trace. Their blocks are no scopes, as everywhere."""

    _reached = True  # whether the statement resolved last can be left at its end

    def block(
        self, statements: tuple[syntax.Statement, ...]
    ) -> tuple[tuple[program.Statement, ...], bool]:
        """The statements of a block, and whether its end can be reached."""
        raise NotImplementedError

    def tape(self, node: syntax.Tape) -> program.Statement:
        options = []
        for option in node.options:
            if option.keyword not in TAPE_OPTIONS:
                help = (
                    did_you_mean(option.keyword, TAPE_OPTIONS)
                    or f"its options are {' and '.join(TAPE_OPTIONS)}"
                )
                self.report.add(
                    "E202", f"a tape has no option `{option.keyword}`", option.span, help=help
                )
            options.append((option.keyword, self.expression(option.value)))
        slot = self.bound(node.name)  # before the block: a tape can be asked inside its own
        body, self._reached = self.block(node.body.statements)
        return program.Tape(slot, tuple(options), body, span=node.span)

    def pause(self, node: syntax.Pause) -> program.Statement:
        body, self._reached = self.block(node.body.statements)
        return program.Pause(body, span=node.span)

    def record(self, node: syntax.Record) -> program.Statement:
        body, self._reached = self.block(node.body.statements)
        return program.Record(body, span=node.span)

    def watch(self, node: syntax.Watch) -> program.Statement:
        return program.Watch(tuple([self._watched(item) for item in node.items]), span=node.span)

    def watch_on(self, node: syntax.Call) -> program.Statement:
        """`t.watch(x)`: as a statement, because it makes the name `x` hold something watched."""
        assert isinstance(node.callee, syntax.Member)
        tape = self.expression(node.callee.object)
        items = tuple([self._watched(argument.value) for argument in node.arguments])
        return program.Watch(items, tape, span=node.span)

    def attach(self, node: syntax.Call) -> program.Statement:
        """`attach_grad(x)` and `x.attach_grad()`: as a statement, because it makes the name `x`
        hold a variable."""
        if isinstance(node.callee, syntax.Member):
            receiver = syntax.Argument(node.callee.object, span=node.callee.object.span)
            node = syntax.Call(node.callee, (receiver, *node.arguments), span=node.span)
        call = self.bind(ATTACH, node)
        if not isinstance(call, program.Apply):
            return program.Evaluate(call, span=node.span)  # the arguments were reported
        value = call.operands[0]
        assert value is not None
        slot = value.slot if isinstance(value, program.Read) else None
        return program.Attach(value, slot, dict(call.options).get("req"), span=node.span)

    def _watched(self, item: Any) -> tuple[program.Expression, program.Slot | None]:
        value = self.expression(item)
        is_name = isinstance(item, syntax.Name) and self.frame.scope.find(item.name) is not None
        return value, self.slot_of(item.name) if is_name else None


def is_attach_call(node: Any) -> bool:
    """Whether an expression statement is `attach_grad(…)` or `x.attach_grad(…)`."""
    return (
        isinstance(node, syntax.Call)
        and isinstance(node.callee, syntax.Name | syntax.Member)
        and node.callee.name == ATTACH.name
    )


def is_watch_call(node: Any) -> bool:
    """Whether an expression statement is `t.watch(…)`."""
    return (
        isinstance(node, syntax.Call)
        and isinstance(node.callee, syntax.Member)
        and node.callee.name == "watch"
    )
