"""`--debug-nan`: the first operation, forwards or on the way back, that makes a nan or an infinity
which an answer has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.backends.backend import count, shape_of
from ..engine.execution import running
from ..engine.explain.ancestry import Ancestry
from ..engine.explain.blame import blame, blame_gradient, blame_plain
from ..engine.explain.nonfinite import Maker
from ..engine.explain.reasons import Reason, number_on
from ..engine.explain.walks import walk
from ..engine.values.boxes import primal
from ..engine.values.contents import is_finite
from ..engine.values.kinds import leaves, read
from ..lang import program
from .answer import Answer
from .chains import names_of
from .evaluation import Evaluation, Options
from .omissions import all_finite, listed, nonfinite
from .rewritings import advice
from .second_runs import keeping_execution

Found = tuple[Reason, Maker]


def find_nonfinite(
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    answer: Answer,
    evaluation: Evaluation,
) -> list[Diagnostic]:
    """E324 with the operation at fault, where anything in the evaluation isn't finite; nothing
    otherwise.

    The program runs a second time, with a trace that keeps everything.
    """
    reached = nonfinite(evaluation)
    if not reached:
        return []
    execution = keeping_execution(node, inputs, options)
    try:
        with running():
            again = Answer(execution.execute(), answer.options)
            return [_Search(again, evaluation).diagnostic(reached)]
    except GradcliError as error:
        return error.diagnostics
    finally:
        execution.release()


class _Search:
    def __init__(self, answer: Answer, evaluation: Evaluation) -> None:
        self.run, self.answer, self.evaluation = answer.run, answer, evaluation
        self.ancestry = Ancestry(self.run.trace)  # type: ignore[arg-type]

    def diagnostic(self, reached: list[str]) -> Diagnostic:
        what = listed(reached)
        found = min(self._found(), key=_when, default=None)
        if found is None:
            return Diagnostic(
                "E324",
                f"{what}: nan or infinite, and no operation made it",
                help="look for a literal `nan` or `inf`",
            )
        reason, made = found
        help = advice(self.run, self.ancestry, made.record, reason, names_of(self.answer.node))
        message = f"{reason.text}, which reaches {what}"
        return Diagnostic("E324", message, reason.span, "", help, reason.code, reason.calls)

    def _found(self) -> Iterator[Found]:
        """What made the outputs that aren't finite, and the derivatives."""
        values = [read(v) for value in self.answer.outputs.values() for v in leaves(value)]
        yield from self._made(values)
        for of, target in self.answer.targets.items():
            for by, source in self.answer.sources.items():
                table = self.evaluation
                rows = [
                    kind.get(of, {}).get(by)
                    for kind in (table.gradients, table.jacobians, table.hessians)
                ]
                if rows[0] is not None and not all_finite(rows[0]):
                    yield from self._on_the_way_back(self.answer.execution.seeds(target), source)
                if rows[1] is not None and not all_finite(rows[1]):
                    yield from self._in_rows(target, source)
                if rows[2] is not None and not all_finite(rows[2]):
                    yield from self._in_second(target, source)

    def _made(self, values: list[Any]) -> Iterator[Found]:
        numbers = [v[1] for v in values if type(v) is tuple and not is_finite(primal(v))]
        found = blame(self.run, self.ancestry, numbers) if numbers else None
        if found is not None:
            yield found
        for value in values:
            plain = (
                None
                if type(value) is tuple or all_finite(value)
                else blame_plain(self.run, self.ancestry, value)
            )
            if plain is not None:
                yield plain

    def _on_the_way_back(self, seeds: list[Any], source: Any) -> Iterator[Found]:
        number = number_on(source)
        walked = None if number is None else walk(self.run, seeds, {number}, self.run.trace.main)
        if number is None or walked is None or is_finite(walked.found.get(number, 0.0)):
            return
        found = blame_gradient(self.run, self.ancestry, walked, number)
        if found is not None:
            yield found

    def _in_rows(self, target: Any, source: Any) -> Iterator[Found]:
        """In a Jacobian: the first of its rows that has something to show."""
        for value, _ in self.answer.execution.seeds(target):
            for k in range(count(shape_of(primal(value)))):
                found = next(
                    self._on_the_way_back([(value, self.answer.execution.unit(value, k))], source),
                    None,
                )
                if found is not None:
                    yield found
                    return

    def _in_second(self, target: Any, source: Any) -> Iterator[Found]:
        """In a Hessian: on the way to the gradient, or back from there."""
        execution = self.answer.execution
        found = execution.gradients(target, [source], recorded=True)
        first = [g for g in found if type(g) is tuple]
        self.ancestry = Ancestry(self.run.trace)  # type: ignore[arg-type]
        yield from self._made(first)
        seeds = [seed for g in first for seed in execution.seeds(g)]
        yield from self._on_the_way_back(seeds, source)


def _when(found: Found) -> tuple[int, int]:
    """Forwards comes first, in the order of the run; then the way back, in that of the sweep."""
    reason, made = found
    return (0, made.number) if reason.code.startswith("nonfinite") else (1, -made.number)
