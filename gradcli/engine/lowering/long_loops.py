"""Loops that run long, in the frame that they are in: their turns as functions that are written for
them (`turns.py`).

What a loop on plain floats and ints does is done some thousand turns at a time; of traced floats
these are one record, of floats with tangents these go along. Where a loop can't be read, what it
works on is anything else, or a function gives up, the turns are done one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from operator import length_hint
from typing import Any, TypeAlias

from ...lang import program
from ...lang.program.walks import own_nodes
from ..analysis.inlining import Known
from ..analysis.loop_parts import Looped, handed_on
from ..analysis.loop_reading import read_turns
from ..analysis.read_derivatives import NotPlainError
from ..backends.tiers import policy
from ..compilation.compiler import Compiler
from ..formulas.formula_source import REFUSING
from ..trace.recording import record_parts
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import Dual
from ..values.kinds import FRAME_HEAD, Variable, read
from .fusion import MAX_VARIANTS
from .turns import LOOP, Turned, Turns

SOME = 2**14  # turns at a time: what no later turn depends on is let go of after them
ENDLESS = range(2**62)

Through: TypeAlias = Callable[[list[Any], Iterable[Any]], Any]


def long_loop(c: Compiler, node: program.While | program.For) -> LongLoop | None:
    """How the loop runs once it is long; None where each turn is to be seen, or floats are
    NumPy's."""
    return (
        None
        if c.slow or c.counts or not c.fuses
        else LongLoop(node, c.functions, c.declared, c.only_gradients)
    )


class LongLoop:
    """A loop of a frame of which `known` are the functions that names hold for good, and `declared`
    the names of variables. Where more than `only_gradients` is asked of the program, what these
    pass is done turn by turn."""

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
        self._statements = 1 if breaks else len(node.body)  # in each turn, at least
        heat = policy().heat
        self._long, self._least = heat.iterations, heat.least_iterations
        self._is_read = False
        self._looped: Looped | None = None
        self._places: list[
            tuple[int, bool]
        ] = []  # of the names in a frame, and whether they are cells
        self._handed_on: set[int] = (
            set()
        )  # the names, by position, that may come to stand for others as they are
        self._turns: dict[tuple[str, ...], Turns | None] = {}
        self._count = self._times = (
            0  # of turns that were done one by one, and of times that it ran
        )

    def run(self, frame: list[Any], items: Iterable[Any], through: Through) -> Any:
        """Runs it over `items`: `through(frame, items)` does turns one by one, and gives how they
        end, None if with the items."""
        if (self._is_read and self._looped is None) or (
            type(items) is range and len(items) < self._least
        ):
            return through(frame, items)
        rest = items if type(items) is range else ENDLESS
        completion, rest = self._begun(frame, rest, through)
        while completion is None and rest:
            ended = self.together(frame, rest[:SOME])
            if ended is None:
                self._count = 0  # it isn't tried again at once
                return through(frame, rest)
            if ended:
                break
            frame[0].passed += len(rest[:SOME]) * self._statements
            frame[0].trace.turn_over()
            rest = rest[SOME:]
        return completion

    def _begun(self, frame: list[Any], rest: range, through: Through) -> tuple[Any, range]:
        """Does the first turns one by one: how they end, and what is left. It is a single one,
        after which all names have values, once there were so many that the loop is a long one."""
        if self._count >= max(self._long, self._least * self._times):
            return through(frame, rest[:1]), rest[1:]
        most = self._long - self._count if self._count < self._long else self._long
        turns = iter(rest[:most])
        before = length_hint(turns)
        completion = through(frame, turns)
        self._times, self._count = self._times + 1, self._count + before - length_hint(turns)
        return completion, rest[most:]

    def together(self, frame: list[Any], turns: range) -> bool | None:
        """Does these turns. Returns whether the loop ended with one of them; None where none was
        done."""
        if not self._is_read:
            self._read()
        if self._looped is None:
            return None
        run: Run = frame[0]
        values = [frame[k][0] if is_cell else frame[k] for k, is_cell in self._places]
        if any([type(values[k]) is Variable for k in self._handed_on]):  # noqa: C419 - other names are to be the same variable
            return None
        values = list(map(read, values))
        kinds = tuple([_kind(run, v) for v in values])
        if kinds not in self._turns and len(self._turns) < MAX_VARIANTS:
            self._turns[kinds] = self._written(self._looped, kinds)
        found = self._turns.get(kinds)
        if found is None:
            return None
        try:
            return self._done(run, frame, turns, found, kinds, values)
        except REFUSING:
            return None

    def _written(self, looped: Looped, kinds: tuple[str, ...]) -> Turns | None:
        boxes = {"traced", "dual"}.intersection(kinds)
        if "" in kinds or len(boxes) > 1 or (boxes and not self._only_gradients):
            return None
        with suppress(NotPlainError):
            return Turns(looped, kinds)
        return None

    def _done(
        self,
        run: Run,
        frame: list[Any],
        turns: range,
        found: Turns,
        kinds: tuple[str, ...],
        values: list[Any],
    ) -> bool:
        """Does the turns by the function that was found. Raises what `REFUSING` says where it gives
        up."""
        if "traced" in kinds:
            primals = [v[0] if type(v) is tuple else v for v in values]
            active = tuple([k for k, kind in enumerate(kinds) if kind == "traced"])
            steps: list[Any] = []
            ended, *results = found.function(turns, steps.append, *primals)
            new = dict(zip(found.changed, results, strict=True))
            if outputs := [new[k] for k in found.moving]:
                boxed = record_parts(
                    run.trace, self._site, values, primals, Turned(found, steps), outputs, active
                )
                new.update(zip(found.moving, boxed, strict=True))
        elif "dual" in kinds:
            duals = [v for v in values if type(v) is Dual]
            primals = [v.primal if type(v) is Dual else v for v in values]
            ended, results, tangents = found.along(turns, primals, [v.tangent for v in duals])
            new = dict(zip(found.changed, results, strict=True))
            for k, tangent in zip(found.moving, tangents, strict=True):
                new[k] = new[k] if tangent is None else Dual(new[k], tangent, duals[0].level)
        else:
            ended, *results = found.function(turns, *values)
            new = dict(zip(found.changed, results, strict=True))
        assert self._looped is not None
        for number, (k, _) in zip(self._looped.parameters, self._places, strict=True):
            if number in new:
                frame[k] = new[number]
        return bool(ended)

    def _read(self) -> None:
        with suppress(NotPlainError):
            if any(slot.index in self._declared for slot in _assigned(self._node)):
                raise NotPlainError  # a variable that is replaced
            looped = read_turns(self._node, self._known)
            slots = [node.slot for _, node in looped.operands if isinstance(node, program.Read)]
            self._places = [(slot.index + FRAME_HEAD, slot.cell) for slot in slots]
            self._handed_on = {
                k
                for k, n in enumerate(looped.parameters)
                if n in handed_on(looped, looped.parameters)
            }
            self._looped = looped
        self._is_read = True  # only then, for other threads


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
