"""Hot code: the faster closures that replace the interpreter's, for each kind of node."""

from __future__ import annotations

from collections.abc import Callable

from ...diagnostics import Span
from ...lang import program
from ..compilation.compiler import Closure, Compiler, Lowering
from ..operations.apply import apply
from .fusion import fuse, fuse_list
from .hot_calls import HotCalls, hot_calls
from .long_loops import LongLoop, long_loop
from .planning import plan_expression, plan_list
from .row_closures import body_on_rows, condition_on_rows
from .row_sums import MEAN, SUM, sums_on_rows


class Hot(Lowering):
    """Faster closures for expressions, calls, conditions and loops that run often: tiers 1 and
    2."""

    def operation(
        self, c: Compiler, node: program.Apply, interpret: Callable[[], Closure]
    ) -> Closure:
        if node.op.elementwise and c.fuses and not c.fusing:
            found = plan_expression(c, node, c.value)
            if found is not None:
                with c.within(fusing=True):  # its parts are not fused by themselves
                    interpreted = interpret()
                return fuse(found, interpreted, apply, scalars=not c.slow)
        interpreted = interpret()
        return (
            sums_on_rows(c, node, interpreted)
            if node.op in (SUM, MEAN) and not c.fusing
            else interpreted
        )

    def call(self, c: Compiler, node: program.Call, interpreted: Closure) -> Closure:
        if c.slow or c.fusing or not c.fuses:
            return interpreted
        found = plan_expression(c, node, c.value)
        if found is not None:
            return fuse(found, interpreted, apply)
        several = plan_list(c, node)
        if several is not None:
            return fuse_list(several, interpreted, apply)
        return interpreted

    def calls(self, c: Compiler, span: Span) -> HotCalls | None:
        return hot_calls(c, span)

    def condition(
        self, c: Compiler, node: program.Expression, interpreted: Closure
    ) -> Closure | None:
        return condition_on_rows(c, node, interpreted)

    def body(
        self, c: Compiler, body: tuple[program.Statement, ...], interpreted: Closure
    ) -> Closure:
        return body_on_rows(c, body, interpreted)

    def loop(self, c: Compiler, node: program.While | program.For) -> LongLoop | None:
        return long_loop(c, node)
