"""A program as a check runs it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ...engine.execution import Compiled, Execution, compile_program
from ...lang import program
from ..answer import Answer, prepare
from ..evaluation import Options


class Program:
    """A program compiled for what a check runs it for."""

    def __init__(self, node: program.Program, options: Options) -> None:
        self.node, self.options = node, options
        self.compiled: Compiled = prepare(node, options)
        self.asks_for_nothing = self.compiled.facts.asks_for_nothing

    @cached_property
    def keeping(self) -> Compiled:
        compiled = compile_program(self.options.settings, self.node, keeps_all=True)
        compiled.once = self.compiled.once
        return compiled

    def answer(self, execution: Execution, of: Iterable[str] = ()) -> Answer:
        """What an execution answers; about the outputs `of`, if there are any."""
        options = self.options.with_changes(of=tuple(of)) if of else self.options
        return Answer(execution, options)
