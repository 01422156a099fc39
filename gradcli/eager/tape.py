"""Tapes of Python: windows on the thread's trace, opened by `with`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ..engine.operations.invoke import CALL
from ..engine.trace.tape import Site
from ..engine.trace.windows import Window
from ..engine.transforms.tape_members import call as ask
from ..engine.transforms.tape_members import unwatch, watch
from ..engine.values import kinds as values
from ..engine.values.kinds import describe, leaves, read
from .arrays import Array, Variable, as_float, inward, outward, state_of
from .session import NOWHERE, fail, in_the_engine, session


class Tape:
    """Records what is computed in its block, and answers with derivatives.

        with Tape() as t:
            y = x**2
        t.gradient(y, x)

    persistent        whether it may be asked more than once
    watch_variables   whether trainable variables are watched when they are used

    Tapes nest: what one computes for an answer is recorded by those that are open, so derivatives
    of derivatives are asked of the outer one.
    """

    __slots__ = ("_entered", "_window")

    def __init__(self, *, persistent: bool = False, watch_variables: bool = True) -> None:
        self._window = Window(session.run.trace, "", watch_variables, persistent)
        self._entered = False

    def __enter__(self) -> Tape:
        self._verify_thread()
        if self._entered:
            fail(
                "E308",
                "this tape has been opened before",
                "make another one: `with gradcli.Tape() as t:`",
            )
        self._entered = True
        self._window.trace.open(self._window)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._window.trace.close(self._window)
        unwatch(session.run, self._window)

    def watch(self, value: Any) -> Any:
        """Makes a number, an array or a list of numbers a source of derivatives: returns it as a
        `Value` to compute with, of floats. A variable, and what a tape recorded, is watched and
        returned as it is."""
        inner = inward(value)
        if not isinstance(value, Array):
            inner = values.Variable("value", "watched", NOWHERE, as_float(state_of(value)))
        watch(session.run, self._window, inner, NOWHERE)
        return value if isinstance(value, Array) else outward(read(inner))

    def gradient(
        self, target: Any, sources: Any, *, seed: Any = None, unconnected: str = "none"
    ) -> Any:
        """The gradient of the sum of the target by each source, in the sources' structure (one, or
        a list or dict of them): of the source's shape, and None where the target doesn't depend on
        it; zeros with `unconnected = "zero"`. The target is weighed by the `seed`.

        Raises GradcliError: E321 for a second question to a tape that isn't persistent, E314 for
        sources and targets that have no derivatives.
        """
        return self._ask("gradient", target, sources, seed=inward(seed), unconnected=unconnected)

    def jacobian(self, target: Any, source: Any, *, unconnected: str = "none") -> Any:
        """The derivative of each element of the target by each of the source, of shape target.shape
        + source.shape."""
        return self._ask("jacobian", target, source, unconnected=unconnected)

    def batch_jacobian(self, target: Any, source: Any) -> Any:
        """The Jacobian of each row of the target by the same row of the source."""
        return self._ask("batch_jacobian", target, source)

    def _ask(self, name: str, target: Any, sources: Any, **options: Any) -> Any:
        run, window = session.run, self._window
        self._verify_thread()
        asked = inward(sources)
        for source in leaves(asked):
            if type(source) is not tuple and type(source) is not values.Variable:
                fail(
                    "E314",
                    f"the source is {describe(source)}, which no tape knows",
                    "watch it: `x = t.watch(x)`",
                )
        if window.spent and not window.persistent:
            fail(
                "E321",
                "this tape was asked before",
                "one that is asked more than once is `gradcli.Tape(persistent=True)`",
            )
        run.once = not any(
            w.recording and (w is not window or window.persistent) for w in run.trace.windows
        )
        try:
            with in_the_engine():
                answer = ask(
                    run,
                    values.Tape(window),
                    name,
                    [inward(target), asked],
                    options,
                    Site(CALL, NOWHERE),
                )
                return outward(answer)
        finally:
            run.once = False
            run.unconnected.clear()
            run.diagnostics.clear()

    def _verify_thread(self) -> None:
        if self._window.trace is not session.run.trace:
            fail(
                "E314", "this tape belongs to another thread", "each thread opens tapes of its own"
            )

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block inside of the tape's that it doesn't record."""
        paused = self._window.trace.pause([self._window])
        try:
            yield
        finally:
            self._window.trace.resume(paused)

    def reset(self) -> None:
        """Forgets what it recorded and watches, and may be asked again."""
        unwatch(session.run, self._window)
        self._window.reset()

    def watched_variables(self) -> list[Variable]:
        """The variables that were used, in order of first use; without those that nobody holds any
        more."""
        used = [session.variables.get(variable) for variable in self._window.uses]
        return [variable for variable in used if variable is not None]
