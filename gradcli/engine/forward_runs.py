"""Forward mode of `eval`: a run for each number of each source, whose tangent is carried along.

No trace is built unless the program itself asks for derivatives, so memory is that of the values
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from .ad.targets import unit
from .backends.backend import count, is_complex, is_inexact, shape_of
from .backends.selection import backend_for
from .compilation.compiled import Compiled
from .execution import Execution
from .trace.run import Run
from .transforms.forward_level import perturb
from .values.boxes import level_of, lowered, primal
from .values.kinds import Variable, leaves, read


class ForwardRuns:
    """The runs of one program, by what is perturbed in them: element `k` of a variable.

    wrt       the variables that gradients are asked by; all where there are none
    recorded  whether more is asked than gradients, so that there must be a trace
    """

    def __init__(
        self,
        compiled: Compiled,
        inputs: Mapping[str, Any],
        wrt: Sequence[str] = (),
        recorded: bool = False,
    ) -> None:
        self.compiled, self.inputs = compiled, inputs
        self.traced = not compiled.facts.asks_for_nothing
        self.recorded = self.traced or recorded
        names = None if self.recorded else compiled.facts.scalar_variables(inputs)
        # what the first run perturbs already
        self.leading = next(iter(wrt or names), "") if names else ""

    def first(self) -> Execution:
        """The execution that gives the values: recorded only if the program itself asks for
        derivatives, or where Jacobians are asked for, which tangents over the trace give all at
        once."""
        execution = Execution(self.compiled, self.inputs)
        run = execution.run
        if not self.recorded:
            perturb(
                run,
                lambda name, state: unit(run, state, 0) if name == self.leading else None,
                traced=False,
            )
        return execution

    def gradients(
        self,
        run: Run,
        targets: dict[str, Any],
        sources: dict[str, Any],
        values: Callable[[Execution], dict[str, Any]],
    ) -> dict[str, dict[str, Any]]:
        """The gradient of each target's sum by each source; None where unconnected. `run` is the
        first one, with its targets; `values` gives those of another.

        Raises GradcliError (E001) for a source that isn't a variable.
        """
        found: dict[str, dict[str, Any]] = {of: {} for of in targets}
        for by, source in sources.items():
            if type(source) is not Variable or source.kind != "var":
                help = "--mode reverse differentiates by anything"
                raise GradcliError(
                    Diagnostic(
                        "E001",
                        f"forward mode differentiates by variables, and `{by}` isn't one",
                        help=help,
                    )
                )
            if (
                by == self.leading
                and is_inexact(source.state)
                and not (shape_of(source.state) or is_complex(source.state))
            ):
                elements = [{of: _total_tangent(run, value) for of, value in targets.items()}]
            else:
                elements = self._elements(source, values)
            for of in targets:
                found[of][by] = self._assembled(source.state, [element[of] for element in elements])
        return found

    def _elements(
        self, source: Variable, values: Callable[[Execution], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """For each number in a variable (each part of a complex one), the tangents of the
        targets."""
        if not is_inexact(source.state):
            return []
        turns = (1.0, 1j) if is_complex(source.state) else (1.0,)
        elements = []
        # an empty array has a run, too: is it connected?
        for k in range(max(count(shape_of(source.state)), 1)):
            for turn in turns:
                execution = Execution(self.compiled, self.inputs)
                run = execution.run

                def direction(
                    name: str, state: Any, k: int = k, turn: Any = turn, run: Run = run
                ) -> Any:
                    if name != source.name:
                        return None
                    return unit(run, state, k) if turn == 1.0 else unit(run, state, k) * turn

                perturb(run, direction, self.traced)
                targets = values(execution.execute())
                elements.append({of: _total_tangent(run, v) for of, v in targets.items()})
                execution.release()
        return elements

    def _assembled(self, state: Any, tangents: list[Any]) -> Any:
        """The gradient by a variable, of its shape and dtype, from the tangents along its
        elements."""
        if not tangents or all(t is None for t in tangents):
            return None
        numbers = [0.0 if t is None else t for t in tangents]
        if is_complex(state):
            numbers = [a + 1j * b for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        if not shape_of(state):
            return type(state)(numbers[0])
        xp = backend_for(self.compiled.settings.device).xp
        flat = [n if is_complex(state) else float(n) for n in numbers[: count(state.shape)]]
        return xp.array(flat, state.dtype).reshape(state.shape)


def _total_tangent(run: Run, target: Any) -> Any:
    """How the sum of a target's elements changes; None where nothing in it does."""
    total = None
    for value in map(read, leaves(target)):
        if run.trace.level:
            value = lowered(value, run.trace.level)
        if level_of(value) == run.direction_level:
            t = primal(value.tangent)
            t = run.backend.settle(t.sum()) if shape_of(t) else t
            total = t if total is None else total + t
    return total
