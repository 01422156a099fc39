"""The turns of a loop as one operation: the functions that are written for them, and what their
record does on the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ...ops.op import Op
from ..analysis.loop_parts import Loop, Looped, Step
from ..formulas.formula_source import REFUSING
from ..trace.pullbacks import Pullback, ReverseSweep
from .loop_source import LoopWriter, indented

LOOP = Op("loop", "*operands", "Turns of a loop as one operation.", internal=True, engine=True)


class TurnsWriter(LoopWriter):
    """Writes for a loop in its frame (`read_turns`), whose names are of these kinds, "float" or
    "int". Some, `by`, are traced or have tangents; `changed` are those that the turns may change,
    and `moving` those of them that then are or have, too.

    All functions take the turns to do, a range, and the names, and give whether the loop ended by
    itself, and then the names that are `changed`. They raise what `REFUSED` says where they give
    up.
    """

    def __init__(
        self,
        looped: Looped,
        kinds: Sequence[str],
        by: Sequence[int],
        fast: bool = True,
        follows: bool = False,
    ) -> None:
        self.fast, self.follows = fast, follows
        super().__init__(looped, kinds, [looped.parameters.index(k) for k in by])
        (loop,) = looped.body
        assert isinstance(loop, Loop)
        self.loop = loop
        targets = {t for step in self.steps[1:] for t in step.targets} | {loop.counter}
        self.changed = [k for k in looped.parameters if k in targets]
        self.moving = [k for k in self.changed if k in self.active]

    def _turned(
        self,
        parameters: list[str],
        assigned: Callable[[Step], list[str]],
        head: list[str],
        more: list[str],
    ) -> Callable[..., Any]:
        """The function of these parameters, which begins with the lines `head` and gives `more`,
        too."""
        lines = self._lines(self.loop.body, assigned, "", 1)
        if self.loop.counter is None:
            begun, (condition,) = self._texts([self._guarded(self.loop.condition)])
            lines = [*begun, f"if not {condition}: break", *lines]
        turn = "_" if self.loop.counter is None else f"x{self.loop.counter}"
        results = ", ".join(["ended", *[f"x{k}" for k in self.changed], *more])
        ends = [
            "else: ended = False",
            f"return {results},",
        ]  # a tuple, though nothing else may be changed
        return self._function(
            parameters, [*head, "ended = True", f"for {turn} in turns:", *indented(lines), *ends]
        )

    def value(self) -> Callable[..., Any]:
        return self._turned(["turns", *self._operands()], self._assigned, [], [])

    def tangent(self) -> Callable[..., Any]:
        """The same of the names and then the tangents of `by`; and gives then the tangents of those
        that are `moving`."""
        first = 2 * self.size
        still = [f"x{first + k} = 0.0" for k in sorted(self.active) if k not in self.by]
        parameters = ["turns", *self._operands(), *[f"x{first + k}" for k in self.by]]
        return self._turned(parameters, self._along, still, [f"x{first + k}" for k in self.moving])

    def there_and_back(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The same of a function, which is called with each step that a gradient passes, and the
        names; and `(steps, *cotangents) -> cotangents` back over these: of `by`, from those of what
        is `moving`. The last step comes first."""
        there = self._turned(
            ["turns", "push", *self._operands()], lambda step: self._kept(False, step), [], []
        )
        still = [f"x{self.size + k} = 0.0" for k in sorted(self.active) if k not in self.moving]
        parameters = ["steps", *[f"x{self.size + k}" for k in self.moving]]
        lines = [
            *still,
            *self._back("steps"),
            f"return {', '.join([f'x{self.size + k}' for k in self.by])},",
        ]
        return there, self._function(parameters, lines)


class Turns:
    """The functions of a loop for names of these kinds: "float", "int", "traced" or "dual"."""

    def __init__(self, looped: Looped, kinds: tuple[str, ...]) -> None:
        self._looped = looped
        self._plain = ["int" if kind == "int" else "float" for kind in kinds]
        self._by = [
            k
            for k, kind in zip(looped.parameters, kinds, strict=True)
            if kind in ("traced", "dual")
        ]
        writer = TurnsWriter(looped, self._plain, self._by)
        self.changed, self.moving = writer.changed, writer.moving
        if "traced" in kinds:
            self.function, self._pull = writer.there_and_back()
        else:
            self.function = writer.tangent() if self._by else writer.value()

    def along(
        self, turns: range, primals: list[Any], tangents: list[float]
    ) -> tuple[bool, list[Any], list[float | None]]:
        """Does the turns: whether the loop ended, what is changed, and the tangents of what is
        moving, None where it doesn't. Raises what `REFUSING` says where it gives up."""
        n = 1 + len(self.changed)
        ended, *results = self.function(turns, *primals, *tangents)
        found = results[n - 1 :]
        if any([t - t != 0.0 for t in found]):  # noqa: C419 - where the products must be the strict ones
            raise OverflowError
        if 0.0 in found:  # nothing moves it, or it stands still
            moves = self._moves(turns, *primals, *[1.0] * len(tangents))[n:]
            found = [t if m else None for t, m in zip(found, moves, strict=True)]
        return ended, results[: n - 1], found

    def pull(
        self, steps: list[Any], cotangents: list[float | None], repairs: bool
    ) -> list[float | None]:
        """The cotangents of the names that were traced, None where nothing depends on them."""
        given = [0.0 if c is None else c for c in cotangents]
        pull = self._repairing if repairs else self._pull
        try:
            found = pull(reversed(steps), *given)
        except REFUSING:  # the slower functions have a value for it
            found = self._repairing(reversed(steps), *given)
        if 0.0 not in found:
            return list(found)
        follow = self._follow(reversed(steps), *[0.0 if c is None else 1.0 for c in cotangents])
        return [c if depends else None for c, depends in zip(found, follow, strict=True)]

    @cached_property
    def _repairing(self) -> Callable[..., Any]:
        """The way back with products that are exactly 0 where either factor is."""
        _, back = TurnsWriter(self._looped, self._plain, self._by, fast=False).there_and_back()
        return back

    @cached_property
    def _moves(self) -> Callable[..., Any]:
        """The tangents of what moves: above 0 where it does."""
        return TurnsWriter(self._looped, self._plain, self._by, follows=True).tangent()

    @cached_property
    def _follow(self) -> Callable[..., Any]:
        """The way back of what depends on what."""
        _, back = TurnsWriter(self._looped, self._plain, self._by, follows=True).there_and_back()
        return back


class Turned(Pullback):
    """The options of a loop's record: what was done, and the steps on the way."""

    __slots__ = ("_steps", "_turns")

    def __init__(self, turns: Turns, steps: list[Any]) -> None:
        self._turns, self._steps = turns, steps

    def pull(
        self,
        sweep: ReverseSweep,
        site: Any,
        operands: Any,
        numbers: tuple[int, ...],
        g: Any,
        y: Any,
        number: int,
    ) -> None:
        """Takes the cotangents `g` of the results to the record's inputs."""
        sweep.risks = True
        for n, c in zip(numbers, self._turns.pull(self._steps, g, sweep.repairs), strict=True):
            if c is not None and (sweep.marked is None or n in sweep.marked):
                sweep.add(n, c)
