"""Hot calls: once the calls at a place of the program have done enough work, kernels make them.

A call with traced numbers becomes one record; one with tangents carries them along. Where a call
isn't compiled, has other kinds of values, or its kernel steps back, the interpreter makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...diagnostics import Span
from ..backends.tiers import policy
from ..calls.calling import call_value
from ..compilation.compiler import Compiler
from ..trace.run import MAX_DEPTH, Run
from ..trace.tape import Site
from ..values.kinds import UNSET, Function, Transform
from .notes import EARLY, Note, pays_for_loading
from .region_op import REGION

# Deeper calls are the interpreter's, which tells where they are too deep.
DEEP = MAX_DEPTH - 100

if TYPE_CHECKING:
    from .function_calls import FunctionCalls
    from .mapped.calls import MappedCalls


def hot_calls(c: Compiler, span: Span) -> HotCalls | None:
    """The object that makes the calls at a place; None where nothing is compiled."""
    return HotCalls(span) if c.compiles else None


class Heat:
    """What the interpreter's calls of a function have done, wherever they are made: their work and
    number since a kernel was last tried, and the work done before that. `calls` makes them by
    kernels. The `note` says how hot they were in an earlier process."""

    __slots__ = ("calls", "done", "note", "times", "work")

    def __init__(self, note: Note) -> None:
        self.work = self.times = self.done = 0
        self.calls: FunctionCalls | None = None
        self.note = note


class HotCalls:
    """Makes the calls at a place of the program, by a kernel or by the interpreter."""

    def __init__(self, span: Span) -> None:
        self._span = span
        heat = policy().heat
        self._hot, self._least = heat.work, heat.least_work
        self._site = Site(REGION, span)
        self._rows: MappedCalls | None = None

    def call(
        self,
        run: Run,
        function: Any,
        arguments: list[Any],
        named: dict[str, Any],
        site: Site,
        path: str | None,
    ) -> Any:
        """The result of a call; `path` says where it goes to."""
        if type(function) is not Function and type(function) is not Transform:
            return call_value(run, function, arguments, named, site, path)
        if run.group is None and type(function) is Transform and function.kind == "vmap":
            return self._mapped(run, function, arguments, named, site, path)
        heat = _heat_of(function, self._span)
        was_hot = EARLY * heat.work >= self._hot and heat.note.work > 0
        is_hot = (was_hot or heat.work >= self._hot) and heat.work >= self._least * heat.times
        work = heat.done + heat.work
        if was_hot:
            work = max(work, heat.note.work)
        is_hot = is_hot and pays_for_loading(max(work, run.effort))
        if is_hot and run.group is None and run.depth < DEEP:
            if heat.calls is None:
                from .function_calls import FunctionCalls  # the compiler

                heat.calls = FunctionCalls(self._span)
            found = heat.calls.run(run, work, self._site, function, arguments, named)
            if found is not UNSET:
                run.work += self._least
                heat.note.leave(work)
                return found
            heat.note.ignore()
            heat.done += heat.work
            heat.work = heat.times = 0  # so that it isn't tried again soon
        before = run.effort
        result = call_value(run, function, arguments, named, site, path)
        heat.work, heat.times = heat.work + run.effort - before, heat.times + 1
        return result

    def _mapped(
        self,
        run: Run,
        function: Transform,
        arguments: list[Any],
        named: dict[str, Any],
        site: Site,
        path: str | None,
    ) -> Any:
        """The result of a call of `vmap(f)`."""
        if self._rows is None:
            from .mapped.calls import MappedCalls

            self._rows = MappedCalls(self._span)
        found = self._rows.run(run, function, arguments, named)
        if found is not UNSET:
            return found
        before = run.work
        result = call_value(run, function, arguments, named, site, path)
        self._rows.learn(run.work - before)
        return result


def _heat_of(function: Function | Transform, span: Span) -> Heat:
    """The heat of a function of the program, or of a derivative of one, that is called here."""
    transforms: tuple[Any, ...] = ()
    while type(function) is Transform:
        transforms = (*transforms, function.kind, *function.positions)
        function = function.function
    if type(function) is not Function:
        return Heat(Note(span))  # a derivative of a builtin
    hot = function.code.hot
    if transforms not in hot:
        hot[transforms] = Heat(Note(function.code.node.span, transforms))
    found: Heat = hot[transforms]
    return found
