"""Iterations of a loop as one operation: the functions generated for them, and the pullback of
their record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ...ops.op import Op
from ..analysis.loop_parts import Loop, Looped, Step
from ..formulas.formula_source import REFUSING
from ..trace.pullbacks import Pullback, ReverseSweep
from .loop_source import LoopWriter, indented

LOOP = Op("loop", "*operands", "Iterations of a loop as one operation.", internal=True, engine=True)


class IterationWriter(LoopWriter):
    """Generates functions for a loop that runs in its frame (`inline_iterations`), for names of
    these kinds, "float" or "int".

    by       the names that are traced or have tangents
    changed  the names that the iterations may change
    moving   those of them that are traced or have tangents afterwards

    Each function takes the iterations to run, as a range, and the values of the names. It returns
    whether the loop ended, and the values of the changed names. It raises an exception of `REFUSED`
    where the interpreter must run the iterations instead.
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

    def _loop_function(
        self,
        parameters: list[str],
        assigned: Callable[[Step], list[str]],
        head: list[str],
        more: list[str],
    ) -> Callable[..., Any]:
        """The function with these parameters that begins with the lines `head`, and also returns
        `more`."""
        lines = self._lines(self.loop.body, assigned, "", 1)
        if self.loop.counter is None:
            begun, (condition,) = self._texts([self._guarded(self.loop.condition)])
            lines = [*begun, f"if not {condition}: break", *lines]
        target = "_" if self.loop.counter is None else f"x{self.loop.counter}"
        results = ", ".join(["ended", *[f"x{k}" for k in self.changed], *more])
        ends = [
            "else: ended = False",
            f"return {results},",
        ]  # with the comma it is a tuple even if no name is changed
        return self._function(
            parameters,
            [*head, "ended = True", f"for {target} in iterations:", *indented(lines), *ends],
        )

    def value(self) -> Callable[..., Any]:
        return self._loop_function(["iterations", *self._operands()], self._assigned, [], [])

    def tangent(self) -> Callable[..., Any]:
        """The function that also takes the tangents of `by`, after the names, and also returns the
        tangents of `moving`."""
        first = 2 * self.size
        still = [f"x{first + k} = 0.0" for k in sorted(self.active) if k not in self.by]
        parameters = ["iterations", *self._operands(), *[f"x{first + k}" for k in self.by]]
        return self._loop_function(
            parameters, self._along, still, [f"x{first + k}" for k in self.moving]
        )

    def forward_and_pullback(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The function that also takes `push`, before the names, which it calls with the residuals
        of each active step; and the pullback `(steps, *cotangents) -> cotangents`, from the
        cotangents of `moving` to those of `by`, over these residuals, newest first."""
        forward = self._loop_function(
            ["iterations", "push", *self._operands()], lambda step: self._kept(False, step), [], []
        )
        still = [f"x{self.size + k} = 0.0" for k in sorted(self.active) if k not in self.moving]
        parameters = ["steps", *[f"x{self.size + k}" for k in self.moving]]
        lines = [
            *still,
            *self._back("steps"),
            f"return {', '.join([f'x{self.size + k}' for k in self.by])},",
        ]
        return forward, self._function(parameters, lines)


class LoopFunctions:
    """The functions of a loop for names of these kinds: "float", "int", "traced" or "dual".

    Functions that are rarely needed are generated on first use.
    """

    def __init__(self, looped: Looped, kinds: tuple[str, ...]) -> None:
        self._looped = looped
        self._plain = ["int" if kind == "int" else "float" for kind in kinds]
        self._by = [
            k
            for k, kind in zip(looped.parameters, kinds, strict=True)
            if kind in ("traced", "dual")
        ]
        writer = IterationWriter(looped, self._plain, self._by)
        self.changed, self.moving = writer.changed, writer.moving
        if "traced" in kinds:
            self.function, self._pull = writer.forward_and_pullback()
        else:
            self.function = writer.tangent() if self._by else writer.value()

    def along(
        self, iterations: range, primals: list[Any], tangents: list[float]
    ) -> tuple[bool, list[Any], list[float | None]]:
        """Runs the iterations on duals. Returns whether the loop ended, the changed values, and the
        tangents of `moving`, None where a value doesn't depend on the duals. Raises an exception of
        `REFUSING` where the interpreter must run them."""
        n = 1 + len(self.changed)
        ended, *results = self.function(iterations, *primals, *tangents)
        found = results[n - 1 :]
        if any([t - t != 0.0 for t in found]):  # noqa: C419 - products may have to be strict
            raise OverflowError
        if 0.0 in found:  # a value that doesn't depend on the duals, or whose derivative is 0
            moves = self._moves(iterations, *primals, *[1.0] * len(tangents))[n:]
            found = [t if m else None for t, m in zip(found, moves, strict=True)]
        return ended, results[: n - 1], found

    def pull(
        self, steps: list[Any], cotangents: list[float | None], repairs: bool
    ) -> list[float | None]:
        """The cotangents of the names that were traced; None where no result depends on them."""
        given = [0.0 if c is None else c for c in cotangents]
        pull = self._repairing if repairs else self._pull
        try:
            found = pull(reversed(steps), *given)
        except REFUSING:  # the strict pullback has a value where Python's operators raise
            found = self._repairing(reversed(steps), *given)
        if 0.0 not in found:
            return list(found)
        follow = self._follow(reversed(steps), *[0.0 if c is None else 1.0 for c in cotangents])
        return [c if depends else None for c, depends in zip(found, follow, strict=True)]

    @cached_property
    def _repairing(self) -> Callable[..., Any]:
        """The pullback with strict products, which are 0 where either factor is 0."""
        _, back = IterationWriter(
            self._looped, self._plain, self._by, fast=False
        ).forward_and_pullback()
        return back

    @cached_property
    def _moves(self) -> Callable[..., Any]:
        """Numbers above 0 for the names that depend on the duals."""
        return IterationWriter(self._looped, self._plain, self._by, follows=True).tangent()

    @cached_property
    def _follow(self) -> Callable[..., Any]:
        """Numbers above 0 for the names that a result depends on."""
        _, back = IterationWriter(
            self._looped, self._plain, self._by, follows=True
        ).forward_and_pullback()
        return back


class LoopPullback(Pullback):
    """The options of a loop's record: its functions, and the residuals of its active steps."""

    __slots__ = ("_functions", "_steps")

    def __init__(self, functions: LoopFunctions, steps: list[Any]) -> None:
        self._functions, self._steps = functions, steps

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
        """Pulls the cotangents `g` of the results back to the record's inputs."""
        sweep.risks = True
        for n, c in zip(numbers, self._functions.pull(self._steps, g, sweep.repairs), strict=True):
            if c is not None and (sweep.marked is None or n in sweep.marked):
                sweep.add(n, c)
