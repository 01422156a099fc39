"""What the first runs tell of a job: that values which all rows share are of no use, and which
gradients there aren't."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span
from ...engine.analysis.declared import declarations
from ...engine.execution import Execution
from ...engine.row_runs import Answered, Failed
from ...lang import program
from ..answer import Answer, verify_used
from ..evaluation import Options
from ..omissions import without_floats
from ..second_runs import explain
from .answers import Named, named


class FirstRuns:
    """Asks the first runs of a job for their answers, and keeps an eye on what they make of the
    `shared` values.

    warnings  about variables without a gradient, by name, and about outputs that are ints, by
              message
    notes     about other outputs without one
    """

    def __init__(self, node: program.Program, options: Options, shared: Mapping[str, Any]) -> None:
        self.node, self.options, self.shared = node, options, shared
        self._places = set(_places(node, shared))
        self._used = options.ignore_extra
        self._unused: GradcliError | None = None
        self.tile: Mapping[str, Any] = {}  # what the rows set that are run, which are its last axis
        self._ints_seen: set[str] = set()  # outputs
        self.warnings: dict[str, Diagnostic] = {}
        self.notes: dict[str, None] = {}

    def ask(self, execution: Execution) -> Named:
        """The values of every column."""
        answer = Answer(execution, self.options)
        if not self._used:
            try:
                verify_used(execution, answer.variables)
                self._used = True
            except GradcliError as error:
                self._unused = error
        if self.options.grad:
            self.warnings.update(without_floats(answer.sources))
            self.warnings.update(self._ints(answer))
            self.notes.update(dict.fromkeys(answer.notes()))
        return named(answer)

    def _ints(self, answer: Answer) -> Iterator[tuple[str, Diagnostic]]:
        """A warning for each output that is an int, though computed from variables, as the first
        row alone gives it."""
        answer.find_ints()
        answer.ints = [name for name in answer.ints if name not in self._ints_seen]
        self._ints_seen.update(answer.ints)
        row = {
            name: value[..., 0].item() if value.ndim == 1 else value[..., 0]
            for name, value in self.tile.items()
        }
        for warning in (
            explain(self.node, {**self.shared, **row}, self.options, answer, False)
            if answer.ints
            else []
        ):
            yield warning.message, warning

    def verify(self, found: Sequence[Answered | Failed]) -> None:
        """Raises GradcliError where no run had a use for a shared value (E003), or where each of
        these rows fails for one that doesn't fit (E005)."""
        if self._unused is not None and not self._used:
            raise self._unused
        failed = [answer for answer in found if isinstance(answer, Failed)]
        firsts = [first for answer in failed for first, *_ in answer.diagnostics]
        fits = len(failed) < len(found) or any(
            d.code != "E005" or d.span not in self._places for d in firsts
        )
        if firsts and not fits:
            raise GradcliError(firsts[0])


def _places(node: program.Program, shared: Mapping[str, Any], prefix: str = "") -> Iterator[Span]:
    """Where the shared values are declared."""
    yield from (d.span for d in declarations(node.body) if prefix + d.slot.name in shared)
    for statement in node.body:
        if isinstance(statement, program.Import):
            yield from _places(statement.program, shared, f"{prefix}{statement.slot.name}.")
