"""Long loops: kernels run many iterations of a loop at a time, on the names of its frame.

Iterations on traced floats become one record, and on floats with tangents they carry these along.
Where a loop isn't compiled, works on other values, or a kernel steps back, the interpreter runs the
iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias

from ...lang import program
from ...lang.program.walks import own_nodes
from ..backends.tiers import IN_LOOPS, policy
from ..compilation.compiler import Compiler
from ..compilation.sequence import alive_after
from ..lanes.parts import Alive
from ..lowering.held.flow import assigned, breaks, returns
from ..operations.sequences import Listed, Window
from ..values.kinds import FRAME_HEAD, Variable
from .notes import EARLY, Note, pays_for_loading

if TYPE_CHECKING:
    from .iterations import Items, Ran
    from .loop_calls import LoopCalls

ENDLESS = range(2**62)

Through: TypeAlias = Callable[[list[Any], Iterable[Any]], Any]


def hot_loop(c: Compiler, node: program.While | program.For) -> HotLoop | None:
    """The object that runs a loop once it is long; None where nothing is compiled."""
    if not c.compiles:
        return None
    declared = [slot for slot in assigned([node]) if slot.index in c.declared]
    return HotLoop(node, alive_after(c, node), declared)


class HotLoop:
    """Runs the iterations of a loop, by kernels once it is long."""

    def __init__(
        self, node: program.While | program.For, alive: Alive, declared: list[program.Slot]
    ) -> None:
        """After the loop, the slots that are `alive` are read. Of the slots that it assigns, some
        are `declared`."""
        self._node, self._alive, self._declared = node, alive, declared
        inner = {type(each) for each in own_nodes([node])}
        leaves = not inner.isdisjoint((program.Break, program.Continue))
        self._statements = 1 if leaves else len(node.body)  # of an iteration, at least
        # Whether all iterations run unless there is an error.
        self._is_counted = isinstance(node, program.For) and not (
            breaks(node.body) or returns(node)
        )
        heat = policy().heat
        self._long, self._least = heat.iterations, heat.least_iterations
        self._hot, self._entry = IN_LOOPS * heat.work, heat.least_work
        self._calls: LoopCalls | None = None
        # The iterations that the interpreter has run, their work, and the number of its runs.
        self._count = self._work = self._times = 0
        self._cost = 0  # the work that pays for compiling the loop, if that is known
        self._note = Note(node.span)

    def run(self, frame: list[Any], items: Any, through: Through) -> Any:
        """Runs the loop over `items`, and returns its completion. `through(frame, items)` is the
        interpreter's loop."""
        if isinstance(self._node, program.While):
            items = ENDLESS
        elif len(items) < self._least:
            return through(frame, items)
        elif type(items) is list:
            items = Window(Listed(items))
        completion, rest = self._begun(frame, items, through)
        while completion is None and rest:
            worth = self._worth(rest)
            ran = self.run_iterations(frame, rest, worth)
            if isinstance(ran, int):
                self._cost = ran
                completion, rest = self._warmed(frame, rest, through)
                continue
            if ran is not None:
                self._cost = 0
                completion, rest = ran.completion, rest[ran.iterations :]
                frame[0].passed += ran.iterations * self._statements
                frame[0].work += self._entry
                frame[0].trace.turn_over()
            if ran is None or (ran.stopped and ran.iterations < self._least):
                self._count = self._work = 0  # so that it isn't tried again soon
                self._note.ignore()
                return through(frame, rest)
            self._note.leave(worth)
            if ran.stopped:
                completion, rest = through(frame, rest[:1]), rest[1:]
                frame[0].trace.turn_over()
        return completion

    def _begun(self, frame: list[Any], items: Items, through: Through) -> tuple[Any, Items]:
        """Runs the first iterations by the interpreter: of a hot loop a single one, after which all
        names have values. Returns their completion and the rest."""
        if self._is_hot(frame, items):
            return through(frame, items[:1]), items[1:]
        self._times += 1
        return self._warmed(frame, items, through)

    def _warmed(self, frame: list[Any], rest: Items, through: Through) -> tuple[Any, Items]:
        """Runs iterations by the interpreter until the loop is hot. Of a loop that is sure to be
        long it runs only some, after which all names have values. Returns their completion and the
        rest."""
        is_long = self._is_counted and len(rest) >= 2 * self._long
        completion, most = None, self._least
        while completion is None and rest and not self._is_hot(frame, rest):
            if self._count < self._long:
                most = min(most, max(self._long - self._count, self._least))
            completion = self._interpreted(frame, rest, most, through)
            rest, most = rest[most:], 2 * most
            worth = self._worth(rest)
            is_long = is_long or (self._is_counted and worth >= 2 * self._hot)
            if is_long and worth >= self._cost and pays_for_loading(worth):
                break
        return completion, rest

    def _interpreted(self, frame: list[Any], rest: Items, most: int, through: Through) -> Any:
        """Runs at most `most` iterations by the interpreter. Returns their completion."""
        iterations, before = iter(rest[:most]), frame[0].effort
        given = length_hint(iterations)
        completion = through(frame, iterations)
        self._count += given - length_hint(iterations)
        self._work += frame[0].effort - before
        return completion

    def _is_hot(self, frame: list[Any], rest: Items) -> bool:
        """Whether the interpreter has run enough iterations, or done enough work, to pay for a
        kernel, and enough iterations in each run of the loop to pay for entering it. Where the
        loop may run only once, what is left of it has to pay as well. What runs in the frame has
        to pay for the compiler."""
        is_long = self._is_long() or self._was_hot
        if is_long and self._is_counted and self._times < 2:
            is_long = len(rest) >= self._long or self._ahead(rest) >= self._hot
        if not is_long or self._count < self._least * self._times:
            return False
        worth = self._worth(rest)
        return worth >= self._cost and pays_for_loading(max(worth, frame[0].effort))

    @property
    def _was_hot(self) -> bool:
        """Whether the loop was hot in an earlier process, and is about to be so again."""
        return self._is_long(EARLY) and self._note.work > 0

    def _is_long(self, times: int = 1) -> bool:
        """Whether so many `times` what the interpreter has done would make the loop hot."""
        return times * self._count >= self._long or times * self._work >= self._hot

    def _worth(self, rest: Items) -> int:
        """The work that the interpreter has done, and the expected work of the rest if all of it
        will run. At least that of an earlier process if the loop was hot there."""
        worth = self._work + (self._ahead(rest) if self._is_counted else 0)
        return max(worth, self._note.work) if self._was_hot else worth

    def _ahead(self, rest: Items) -> int:
        """The expected work of the rest of a loop that is counted."""
        return self._work * len(rest) // max(self._count, 1)

    def run_iterations(self, frame: list[Any], rest: Items, worth: int) -> Ran | int | None:
        """Runs the first iterations of the rest by a kernel. Returns the work that pays for
        compiling it if that is more than they are `worth`; None if the interpreter must run the
        rest, as where a declaration replaces a variable."""
        for slot in self._declared:
            held = frame[slot.index + FRAME_HEAD]
            if type(held[0] if slot.cell else held) is Variable:
                return None
        if self._calls is None:
            from .loop_calls import LoopCalls  # the compiler, which short runs don't need

            self._calls = LoopCalls(self._node, self._alive())
        return self._calls.run(frame, rest, self._is_counted, worth)
