"""Long loops: generated functions run many iterations of a loop at a time, on the names of its
frame.

Iterations on traced floats become one record (`loop_record.py`), and on floats with tangents they
carry these along. Where a loop can't be read, works on other values, or a function can't go on, the
interpreter runs the iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from operator import length_hint
from typing import Any, TypeAlias

from ...lang import program
from ...lang.program.walks import own_nodes
from ..analysis.inlined_derivatives import NotInlinedError
from ..analysis.inlining import Known
from ..analysis.loop_bodies import inline_iterations
from ..analysis.loop_parts import Looped, unchanged_sources
from ..backends.tiers import policy
from ..compilation.compiler import Compiler
from ..formulas.formula_source import REFUSING
from ..trace.recording import record_parts
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import Dual
from ..values.kinds import FRAME_HEAD, Variable, read
from .fusion import MAX_VARIANTS
from .loop_record import LOOP, LoopFunctions, LoopPullback

SOME = 2**14  # iterations at a time, after which values that no later one reads are freed
ENDLESS = range(2**62)

Through: TypeAlias = Callable[[list[Any], Iterable[Any]], Any]


def long_loop(c: Compiler, node: program.While | program.For) -> LongLoop | None:
    """The closure of a long loop; None where each statement must be counted or seen, or where
    floats are NumPy's."""
    return (
        None
        if c.slow or c.counts or not c.fuses
        else LongLoop(node, c.functions, c.declared, c.only_gradients)
    )


class LongLoop:
    """Runs the iterations of a loop by generated functions once it is long.

    known           the functions of the frame whose names are never assigned again
    declared        the names of variables
    only_gradients  whether the program asks for no more than gradients; otherwise the interpreter
                    runs iterations on traced values
    """

    def __init__(
        self,
        node: program.While | program.For,
        known: dict[int, Known],
        declared: set[int],
        only_gradients: bool,
    ) -> None:
        self._node, self._known, self._declared, self._only_gradients = (
            node,
            known,
            declared,
            only_gradients,
        )
        self._site = Site(LOOP, node.span)
        breaks = any(isinstance(n, program.Break | program.Continue) for n in own_nodes([node]))
        self._statements = 1 if breaks else len(node.body)  # at least so many in each iteration
        heat = policy().heat
        self._long, self._least = heat.iterations, heat.least_iterations
        self._is_read = False
        self._looped: Looped | None = None
        # The slots of the names in a frame, each with whether it is a cell.
        self._places: list[tuple[int, bool]] = []
        # The names, by position, whose values other names may become aliases of.
        self._aliased: set[int] = set()
        self._functions: dict[tuple[str, ...], LoopFunctions | None] = {}
        # The iterations that the interpreter has run, and how often the loop was started.
        self._count = self._times = 0

    def run(self, frame: list[Any], items: Iterable[Any], through: Through) -> Any:
        """Runs the loop over `items`, and returns its completion. `through(frame, items)` is the
        interpreter's loop."""
        if (self._is_read and self._looped is None) or (
            type(items) is range and len(items) < self._least
        ):
            return through(frame, items)
        rest = items if type(items) is range else ENDLESS
        completion, rest = self._begun(frame, rest, through)
        while completion is None and rest:
            ended = self.run_iterations(frame, rest[:SOME])
            if ended is None:
                self._count = 0  # so that it isn't tried again soon
                return through(frame, rest)
            if ended:
                break
            frame[0].passed += len(rest[:SOME]) * self._statements
            frame[0].trace.turn_over()
            rest = rest[SOME:]
        return completion

    def _begun(self, frame: list[Any], rest: range, through: Through) -> tuple[Any, range]:
        """Runs the first iterations by the interpreter. Returns their completion and the rest. Once
        the loop is known to be long that is a single iteration, after which all names have
        values."""
        if self._count >= max(self._long, self._least * self._times):
            return through(frame, rest[:1]), rest[1:]
        most = self._long - self._count if self._count < self._long else self._long
        iterations = iter(rest[:most])
        before = length_hint(iterations)
        completion = through(frame, iterations)
        self._times, self._count = self._times + 1, self._count + before - length_hint(iterations)
        return completion, rest[most:]

    def run_iterations(self, frame: list[Any], iterations: range) -> bool | None:
        """Runs these iterations by a generated function. Returns whether the loop ended with one of
        them; None if the interpreter must run them."""
        if not self._is_read:
            self._read()
        if self._looped is None:
            return None
        run: Run = frame[0]
        values = [frame[k][0] if is_cell else frame[k] for k, is_cell in self._places]
        if any([type(values[k]) is Variable for k in self._aliased]):  # noqa: C419 - an alias of a variable is the variable
            return None
        values = list(map(read, values))
        kinds = tuple([_kind(run, v) for v in values])
        if kinds not in self._functions and len(self._functions) < MAX_VARIANTS:
            self._functions[kinds] = self._written(self._looped, kinds)
        found = self._functions.get(kinds)
        if found is None:
            return None
        try:
            return self._done(run, frame, iterations, found, kinds, values)
        except REFUSING:
            return None

    def _written(self, looped: Looped, kinds: tuple[str, ...]) -> LoopFunctions | None:
        boxes = {"traced", "dual"}.intersection(kinds)
        if "" in kinds or len(boxes) > 1 or (boxes and not self._only_gradients):
            return None
        with suppress(NotInlinedError):
            return LoopFunctions(looped, kinds)
        return None

    def _done(
        self,
        run: Run,
        frame: list[Any],
        iterations: range,
        found: LoopFunctions,
        kinds: tuple[str, ...],
        values: list[Any],
    ) -> bool:
        """Runs the iterations by the functions for these kinds. Raises an exception of `REFUSING`
        where the interpreter must run them."""
        if "traced" in kinds:
            primals = [v[0] if type(v) is tuple else v for v in values]
            active = tuple([k for k, kind in enumerate(kinds) if kind == "traced"])
            steps: list[Any] = []
            ended, *results = found.function(iterations, steps.append, *primals)
            new = dict(zip(found.changed, results, strict=True))
            if outputs := [new[k] for k in found.moving]:
                boxed = record_parts(
                    run.trace,
                    self._site,
                    values,
                    primals,
                    LoopPullback(found, steps),
                    outputs,
                    active,
                )
                new.update(zip(found.moving, boxed, strict=True))
        elif "dual" in kinds:
            duals = [v for v in values if type(v) is Dual]
            primals = [v.primal if type(v) is Dual else v for v in values]
            ended, results, tangents = found.along(iterations, primals, [v.tangent for v in duals])
            new = dict(zip(found.changed, results, strict=True))
            for k, tangent in zip(found.moving, tangents, strict=True):
                new[k] = new[k] if tangent is None else Dual(new[k], tangent, duals[0].level)
        else:
            ended, *results = found.function(iterations, *values)
            new = dict(zip(found.changed, results, strict=True))
        assert self._looped is not None
        for number, (k, _) in zip(self._looped.parameters, self._places, strict=True):
            if number in new:
                frame[k] = new[number]
        return bool(ended)

    def _read(self) -> None:
        with suppress(NotInlinedError):
            if any(slot.index in self._declared for slot in _assigned(self._node)):
                raise NotInlinedError  # the loop replaces a variable
            looped = inline_iterations(self._node, self._known)
            slots = [node.slot for _, node in looped.operands if isinstance(node, program.Read)]
            self._places = [(slot.index + FRAME_HEAD, slot.cell) for slot in slots]
            self._aliased = {
                k
                for k, n in enumerate(looped.parameters)
                if n in unchanged_sources(looped, looped.parameters)
            }
            self._looped = looped
        self._is_read = True  # last, for other threads


def _assigned(node: program.While | program.For) -> list[program.Slot]:
    statements = [
        n
        for n in own_nodes([node])
        if isinstance(n, program.Assign | program.Augment | program.For)
    ]
    return [s.target.slot for s in statements if isinstance(s.target, program.NameTarget)]


def _kind(run: Run, value: Any) -> str:
    """ "float", "int", "traced" or "dual"; "" for anything else."""
    if type(value) is float or type(value) is int:
        return type(value).__name__
    if (
        type(value) is tuple
        and type(value[0]) is float
        and value[2].trace is run.trace
        and run.trace.segment is not None
    ):
        return "traced"
    return (
        "dual" if type(value) is Dual and type(value.primal) is type(value.tangent) is float else ""
    )
