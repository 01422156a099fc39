"""A program run for many rows of data at once, and row by row only where it must be.

Inputs that differ between rows are lanes from the start (`lanes.py`), so one run answers for all of
them. Rows that can't go on together are divided and begin again, and so are rows that are too many
for the memory. If rows fail among others, the operation that failed says which ones, and what each
says when it runs alone; where it can't, a row is found by halving and runs alone. The results of a
row never depend on the rows beside it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..diagnostics import Diagnostic, GradcliError
from .backends.backend import Backend
from .backends.selection import backend_for
from .compilation.compiled import Compiled
from .execution import Execution
from .operations.rows.failing import FEW, RowsError
from .operations.rows.separation import SeparationError, separate_group
from .trace.run import Run
from .values.lanes import Group, Lanes, UnrelatedError

Ask = Callable[[Execution], Any]  # returns the answer of a run that has ended
# Returns the answers of machine code for rows of columns, and the numbers of the other rows.
Compute = Callable[[Mapping[str, Any], int], tuple[Iterable["Answered"], Any]]

_STEPS, _TIME, _MEMORY = "E403", "E404", "E405"
_OF_THE_JOB = (_TIME, _MEMORY)  # limits of the whole job, if a single row reaches them


class Answered(NamedTuple):
    """The answer of `ask` for some rows. It holds for those where `good` is true; None stands for
    all. `group` is None for a single row that was run alone. `rows` and `good` are NumPy's, on
    every device; `answer` is on the run's."""

    rows: Any
    good: Any
    group: Group | None
    answer: Any


class Failed(NamedTuple):
    """Rows that fail, and the diagnostics of each when it runs alone."""

    rows: Any
    diagnostics: Sequence[Sequence[Diagnostic]]


class RowRuns:
    """Runs of one program for rows.

    columns      the values from outside that differ between rows, by declared name, with the rows
                 last
    inputs       the values that all rows share
    compute      answers by machine code for the rows for which that can
    runs         how often the program ran, also by machine code
    interpreted  the rows that the interpreter ran
    records      the number of records of the longest trace
    """

    def __init__(
        self,
        compiled: Compiled,
        inputs: Mapping[str, Any],
        columns: Mapping[str, Any],
        ask: Ask,
        compute: Compute | None = None,
    ) -> None:
        self.compiled, self.inputs, self.columns, self.ask = compiled, inputs, columns, ask
        self.compute = compute
        self.runs = self.records = self.interpreted = 0
        self._crowded = False  # whether the last rows were too many for the memory

    def answers(self, size: int) -> Iterator[Answered | Failed]:
        """The answers for `size` rows, in no order. Raises GradcliError for limits of the whole
        job."""
        others: Any = np.arange(size)
        if self.compute is not None:
            answered, others = self.compute(self.columns, size)
            self.runs += len(others) < size
            yield from answered
        self.interpreted = len(others)
        pending = [others] if len(others) else []
        while pending:
            rows = pending.pop()
            if len(rows) < 2:
                yield from self.singly(rows)
                continue
            found, others = self._attempt(rows, size)
            yield from found
            pending += others
            if self._crowded:
                gc.collect()  # a run that was stopped refers to itself
                self._crowded = False

    def singly(self, rows: Any) -> Iterator[Answered | Failed]:
        """The answers for these rows, each by itself."""
        return map(self._alone, rows.tolist())

    def _attempt(self, rows: Any, size: int) -> tuple[list[Answered | Failed], list[Any]]:
        """What a run for some rows tells of them, and the rows that must run again."""
        backend, group = backend_for(self.compiled.settings.device), Group(len(rows))
        laned = {
            name: Lanes(_taken(backend, column, rows, size), group)
            for name, column in self.columns.items()
        }
        execution = self._execution(laned, group)
        run = execution.run
        try:
            return self._together(execution, rows, group)
        except SeparationError as error:
            return [], _parted(run, rows, group, error)
        except UnrelatedError:
            return [], np.array_split(rows, 2)
        except MemoryError:
            self._crowded = True
            return [], np.array_split(rows, 2)
        except RowsError as error:
            failing = np.zeros(len(rows), bool)
            failing[_numbers(run, error.group, group)[error.rows]] = True
            told = Failed(rows[failing], [(each,) for each in error.diagnostics])
            return [told], [rows[~failing]]
        except GradcliError as error:
            code = error.diagnostics[0].code
            if code == _STEPS and not group.divided:
                # steps count for all rows alike until they divide
                return [Failed(rows, [error.diagnostics] * len(rows))], []
            self._crowded = code == _MEMORY
            return [], np.array_split(rows, 2) if self._crowded else _suspects(run, rows, group)

    def _together(
        self, execution: Execution, rows: Any, group: Group
    ) -> tuple[list[Answered | Failed], list[Any]]:
        run = execution.execute().run
        self.records = max(self.records, run.trace.number)
        failed = _failed_expectations(run)
        answer = None if len(failed) == len(rows) else self._asked(execution)
        execution.release()
        found: list[Answered | Failed] = []
        if answer is not None:
            good = None
            if failed:
                good = np.ones(len(rows), bool)
                good[sorted(failed)] = False
            found.append(Answered(rows, good, group, answer))
        told = {row: [d for d in failed[row] if d is not None] for row in sorted(failed)}
        known = [row for row in told if len(told[row]) == len(failed[row])]
        if known:
            found.append(Failed(rows[known], [told[row] for row in known]))
        return found, [rows[[row]] for row in told if len(told[row]) < len(failed[row])]

    def _asked(self, execution: Execution) -> Any:
        try:
            return self.ask(execution)
        except RowsError as error:
            raise error.without_rows() from None  # a row that fails an `expect` isn't asked

    def _alone(self, row: int) -> Answered | Failed:
        rows = np.array([row])
        values = {name: _single(column[..., row]) for name, column in self.columns.items()}
        execution = self._execution(values, None)
        try:
            run = execution.execute().run
            failed = [e.diagnostic for e in run.expectations if e.diagnostic is not None]
            if failed:
                return Failed(rows, [failed])
            answer = self.ask(execution)
        except GradcliError as error:
            if error.diagnostics[0].code in _OF_THE_JOB:
                raise
            return Failed(rows, [error.diagnostics])
        execution.release()
        return Answered(rows, None, None, answer)

    def _execution(self, values: dict[str, Any], group: Group | None) -> Execution:
        self.runs += 1
        execution = Execution(self.compiled, {**self.inputs, **values})
        execution.run.group, execution.run.parts_rows = group, group is not None
        return execution


def of_all_rows(run: Run, value: Any) -> None:
    """Separates the rows of a run where only some of them have this value."""
    if type(value) is Lanes and value.group is not run.group:
        separate_group(run, value.group)


def _taken(backend: Backend, column: Any, rows: Any, size: int) -> Any:
    return column if len(rows) == size else column[..., backend.to_device(rows)]


def _single(value: Any) -> Any:
    return value.copy() if value.ndim else value.item() if value.dtype.char != "f" else value


def _parted(run: Run, rows: Any, group: Group, error: SeparationError) -> list[Any]:
    """The rows in parts that can each go on together."""
    labels = np.full(len(rows), -1)  # of rows that are elsewhere already
    labels[_numbers(run, error.group, group)] = run.backend.to_host(error.labels)
    parts = [rows[labels == label] for label in np.unique(labels).tolist()]
    return parts if len(parts) > 1 else np.array_split(rows, 2)


def _suspects(run: Run, rows: Any, group: Group) -> list[Any]:
    """The rows in parts, of which one has the row that failed: those that ran last and the
    others, or halves; few rows singly."""
    if len(rows) <= FEW:
        return np.array_split(rows, len(rows))
    last = run.group
    if last is not None and last is not group and last.within(group):
        chosen = np.zeros(len(rows), bool)
        chosen[_numbers(run, last, group)] = True
        if 0 < chosen.sum() < len(rows):
            return [rows[~chosen], rows[chosen]]
    return np.array_split(rows, 2)


def _numbers(run: Run, part: Group, group: Group) -> Any:
    """The numbers in a group of the rows that came from it."""
    return np.arange(group.size) if part is group else run.backend.to_host(part.way_to(group))


def _failed_expectations(run: Run) -> dict[int, list[Diagnostic | None]]:
    """The rows for which an `expect` failed, with what it says of each; None where only a run of
    the row by itself can tell."""
    failed: dict[int, list[Diagnostic | None]] = {}
    for expectation in run.expectations:
        told = expectation.by_row or [None] * len(expectation.rows)
        for row, diagnostic in zip(expectation.rows, told, strict=True):
            failed.setdefault(row, []).append(diagnostic)
    return failed
