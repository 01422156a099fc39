"""A block of rows, computed: the one function that processes, GPUs and clusters all map over their
data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ...diagnostics import Diagnostic
from ...engine.analysis.declared import declarations, declared_names
from ...engine.analysis.requests import named_outputs
from ...engine.backends.devices import CPU, Sizes
from ...engine.backends.selection import backend_for
from ...engine.row_runs import Answered, Ask, Compute, Failed, RowRuns
from ...lang import program
from ...naming import in_files
from ...rows.blocks import BadPart, Block, Range
from ...rows.writing import Column
from ...rows.writing.columns import as_json
from ..answer import prepare
from ..probes import probes
from .answers import Named, ask
from .collecting import Collected, fields_of
from .kernels import Kernels, Ways
from .plan import TEXT, Field, Plan, gives_columns
from .processes import ALIGNED, Empty
from .shared import FirstRuns

PROBED = 2**10  # rows that are run to learn what all will be like
FEW_ROWS = 16  # where each takes long


class Reject(NamedTuple):
    """A row that has no answer, by its number in the data, and why. Or rows that can't be read:
    `part` is where they are, or "" where that isn't known yet, and `lost` how many they are, if
    anybody knows; `row` is the first one. `kept` are its values of the columns that go into the
    answer as they are."""

    row: int
    diagnostics: tuple[Diagnostic, ...]
    is_unreadable: bool = False
    part: str = ""
    lost: int = 0
    kept: Mapping[str, Any] | None = None


class Outcome(NamedTuple):
    """What a block gave: columns of the rows that succeeded, in order; or their `totals` for a
    reduction.

    fields    the columns of the plan, wider where these rows need it; () where there are none
    nonfinite  rows that succeeded with a nan or an infinity
    ways      how the rows were computed
    runs      how often the program ran; `tiles` would have done if no rows had parted or failed
    """

    start: int
    size: int
    columns: list[Column]
    rejects: list[Reject]
    runs: int = 0
    tiles: int = 0
    totals: dict[str, Any] | None = None
    fields: tuple[Field, ...] = ()
    nonfinite: int = 0
    ways: Ways = Ways()

    @property
    def failed(self) -> int:
        return sum(reject.lost if reject.is_unreadable else 1 for reject in self.rejects)

    @property
    def succeeded(self) -> int:
        return self.size - self.failed


class Computer:
    """Computes blocks by a plan. It has the program compiled for itself: there is one for each
    thread or process. Threads share the `kernels`."""

    def __init__(self, plan: Plan, node: program.Program, kernels: Kernels | None = None) -> None:
        self.plan, self.node = plan, node
        self.compiled = prepare(node, plan.options)
        self.backend = backend_for(plan.options.device)
        self.needed = [name for name in declared_names(node, needed=True) if name in plan.columns]
        self.shared: Mapping[str, Any] | None = None
        self.kernels = kernels or Kernels(plan, node)
        self.is_native = False  # whether machine code computes it, as far as the probe showed
        self.gives_columns = gives_columns(node, plan.options)
        self.first: FirstRuns | None = None  # what the probe showed

    def work(self, task: Range | BadPart, empty: Empty = np.empty) -> Outcome:
        """Reads and computes a block."""
        return self.done(read_range(self.plan, task), empty)

    def done(self, block: Block | Outcome, empty: Empty = np.empty) -> Outcome:
        """The outcome of a block that was read, or that can't be."""
        return block if isinstance(block, Outcome) else self.compute(block, empty)

    def compute(self, block: Block, empty: Empty = np.empty) -> Outcome:
        """The answers for all rows of a block, in arrays that `empty` makes. Raises GradcliError
        for a limit of the whole job."""
        with self.backend.active():
            return self._compute(block, empty)

    def _compute(self, block: Block, empty: Empty) -> Outcome:
        collected = Collected(self.plan.fields, block.size, self.backend, empty, self.plan.widens)
        rejects: dict[int, tuple[Diagnostic, ...]] = {
            row: (Diagnostic("E605", reason),) for row, reason in block.rejected.items()
        }
        runs, tiles, ways = 0, 0, Ways()
        for rows, inputs in self._parts(block, rejects):
            for index, tile in _tiles(rows, inputs, self.plan.tile):
                row_runs = self._row_runs(tile, compute=self.kernels.compute)
                answers: Iterator[Answered | Failed] = row_runs.answers(_size(index))
                while (found := next(answers, None)) is not None:
                    at = _within(index, found.rows)
                    if isinstance(found, Failed):
                        rejects.update(
                            zip(_numbers(at), map(tuple, found.diagnostics), strict=True)
                        )
                        continue
                    misfit = collected.put(at, found.good, found.group, found.answer)
                    if misfit is None:
                        continue
                    good = found.rows if found.good is None else found.rows[found.good]
                    if len(found.rows) > 1 and not self.plan.widens:
                        # an int beside floats is one of them
                        answers = chain(row_runs.singly(good), answers)
                    else:
                        rejects.update(dict.fromkeys(_numbers(_within(index, good)), (misfit,)))
                runs, tiles = runs + row_runs.runs, tiles + 1
                ways = ways.beside(self.kernels.ways(tile, _size(index), row_runs.interpreted))
        return self._outcome(block, collected, rejects, runs, tiles)._replace(ways=ways)

    def room(self, rows: int) -> int:
        """The bytes of what so many rows give."""
        fields = [field for field in self.plan.fields if field.dtype != TEXT]
        return sum(rows * math.prod(f.shape) * np.dtype(f.dtype).itemsize + ALIGNED for f in fields)

    def probe(self, block: Block, sizes: Sizes = CPU) -> tuple[tuple[Field, ...], int, int]:
        """The columns that the first rows of a block give, how many rows should run at once on
        a device of these sizes, and how many a block should have. No columns where no row succeeds.
        The kernels are made here, so that forks and threads find them. Raises GradcliError (E003,
        E005) for values that all rows share, and none has a use for."""
        first = self.first = FirstRuns(self.node, self.plan.options, self.plan.shared)
        answers: list[tuple[int, Named]] = []
        records, width, runs, seen = 0, 1, 0, 0
        for rows, inputs in self._parts(block, {}):
            known = len(answers)
            for index, tile in _tiles(rows, inputs, self._probed(inputs, sizes)):
                first.tile = tile
                row_runs = self._row_runs(tile, first.ask)
                numbers = np.arange(block.size)[index]
                self.is_native = self.kernels.has(tile)
                found = list(row_runs.answers(_size(index)))
                answers += [
                    (int(numbers[a.rows].min()), a.answer) for a in found if type(a) is Answered
                ]
                first.verify(found)
                records = max(records, row_runs.records)
                runs, seen = runs + row_runs.runs, seen + _size(index)
                width = max(width, sum(v[..., 0].size for v in tile.values()))
                if len(answers) > known:
                    break
        fields = fields_of(named for _, named in sorted(answers, key=lambda pair: pair[0]))
        at_once = sizes.tile(width, records, self.plan.options.max_memory)
        return fields, at_once, sizes.block_rows(records, max(0, runs - 1) / max(1, seen))

    def _probed(self, inputs: dict[str, Any], sizes: Sizes) -> int:
        """How many rows a probe takes: few where each takes long."""
        few = {name: value[..., :FEW_ROWS] for name, value in inputs.items()}
        if all(value.shape[-1] <= 4 * FEW_ROWS for value in inputs.values()):
            return PROBED
        row_runs = self._row_runs(few)
        for _ in row_runs.answers(FEW_ROWS):
            pass
        runs = (row_runs.runs - 1) / FEW_ROWS
        return PROBED if sizes.block_rows(row_runs.records, runs) >= PROBED else FEW_ROWS

    def expected(self) -> tuple[Field, ...]:
        """The columns that rows would have, if there were any: those of values that nobody gave, or
        else what names tell."""
        values = {
            name: np.asarray(v)[..., None]
            for name, v in probes(self.node, self.plan.shared).items()
        }
        if values.keys() >= set(self.needed):
            for found in self._row_runs(values).answers(1):
                if isinstance(found, Answered):
                    return fields_of([found.answer])
        options = self.plan.options
        outputs = [name for name, _ in named_outputs(self.node)]
        sources = options.wrt or [
            d.slot.name for d in declarations(self.node.body) if d.kind == "var"
        ]
        gradients = (
            [in_files(of, (by,)) for of in options.of or outputs for by in sources]
            if options.grad
            else []
        )
        return tuple([Field(name, "float64", ()) for name in [*outputs, *gradients]])

    def _row_runs(
        self, tile: dict[str, Any], asked: Ask | None = None, compute: Compute | None = None
    ) -> RowRuns:
        plan = self.plan
        columns = {name: self.backend.to_device(value) for name, value in tile.items()}
        asked = asked or partial(ask, plan.options)
        return RowRuns(self.compiled, self._shared(), columns, asked, compute)

    def _shared(self) -> Mapping[str, Any]:
        """What all rows have, once on the device for all tiles."""
        if self.shared is None:
            to_device = self.backend.to_device
            self.shared = {
                k: to_device(v) if isinstance(v, np.ndarray) else v
                for k, v in self.plan.shared.items()
            }
        return self.shared

    def _parts(
        self, block: Block, rejects: dict[int, tuple[Diagnostic, ...]]
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The rows that lack the same values, and have arrays of the same shapes: their numbers (a
        slice for all of them) and what they set, with the rows last. Those that lack what they need
        are rejected."""
        self._reject_lacking(block, rejects)
        kinds = self._kinds(block, list(rejects))
        if not kinds.any():
            yield slice(0, block.size), self._given(block, slice(0, block.size), 0)
            return
        for kind in np.unique(kinds[kinds >= 0]).tolist():
            rows = np.flatnonzero(kinds == kind)
            index = slice(0, block.size) if len(rows) == block.size else rows
            yield index, self._given(block, index, rows[0])

    def _reject_lacking(self, block: Block, rejects: dict[int, tuple[Diagnostic, ...]]) -> None:
        """Rejects the rows that have no value where the program needs one."""
        for name in self.needed:
            column = self.plan.columns[name]
            why = Diagnostic(
                "E605", f"`{column}` has no value", help="the program declares it without a value"
            )
            for row in (
                np.flatnonzero(block.missing[column]).tolist() if column in block.missing else ()
            ):
                rejects.setdefault(row, (why,))

    def _kinds(self, block: Block, rejected: list[int]) -> Any:
        """A number for each row, alike for rows that can run together; -1 for those that are
        rejected."""
        kinds = np.zeros(block.size, np.int64)
        kinds[rejected] = -1
        for name, column in self.plan.columns.items():
            if column in block.missing and name not in self.needed:
                kinds = _refined(kinds, block.missing[column].astype(np.int64))
            if block.columns[column].dtype == object:
                shapes: dict[Any, int] = {}
                kinds = _refined(
                    kinds,
                    [shapes.setdefault(np.shape(v), len(shapes)) for v in block.columns[column]],
                )
        return kinds

    def _given(self, block: Block, index: Any, first: int) -> dict[str, Any]:
        """What the rows of `index` set, all of them what the `first` does."""
        return {
            name: _rows_last(block.columns[column], index)
            for name, column in self.plan.columns.items()
            if column not in block.missing or not block.missing[column][first]
        }

    def _outcome(
        self, block: Block, collected: Collected, rejects: dict[int, Any], runs: int, tiles: int
    ) -> Outcome:
        plan = self.plan
        if plan.nan == "error":
            for row, name in collected.with_nan().items():
                rejects[row] = (Diagnostic("E606", f"`{name}` is nan"),)
                collected.done[row] = False
        refused = [
            Reject(
                block.start + row,
                rejects[row],
                kept=dict(zip(plan.keep, values, strict=True)) if plan.keep else None,
            )
            for row, *values in zip(
                sorted(rejects), *self._kept(block, sorted(rejects)), strict=True
            )
        ]
        totals = collected.totals() if plan.reduce else None
        columns: list[Column] = []
        if totals is None and (
            plan.fields or not self.gives_columns
        ):  # while no row has succeeded, nobody knows the columns
            done = None if collected.done.all() else np.flatnonzero(collected.done)
            columns = [
                Column(
                    name, block.kept[name] if done is None else block.kept[name].take(done), None
                )
                for name in plan.keep
            ]
            for name, array in collected.arrays.items():
                absent = collected.absent.get(name)
                if done is not None:
                    array, absent = array[..., done], None if absent is None else absent[done]
                columns.append(Column(name, np.moveaxis(array, -1, 0), absent))
        fields, nonfinite = tuple(collected.fields.values()), collected.nonfinite()
        return Outcome(
            block.start, block.size, columns, refused, runs, tiles, totals, fields, nonfinite
        )

    def _kept(self, block: Block, rows: list[int]) -> list[list[Any]]:
        """The values of each column that is kept, in these rows, as JSON has them."""
        return (
            [as_json(block.kept[name].take(np.array(rows))) for name in self.plan.keep]
            if rows
            else [[] for _ in self.plan.keep]
        )


def read_range(plan: Plan, task: Range | BadPart) -> Block | Outcome:
    """The block of a range; where it can't be read an outcome that says so."""
    if isinstance(task, BadPart):
        why = Diagnostic("E608", _line(task.reason))
        return Outcome(task.start, 0, [], [Reject(task.start, (why,), True, task.path)])
    block = task.read(list(plan.columns.values()), plan.keep)
    if not block.unreadable:
        return block
    why = Diagnostic("E608", _line(block.unreadable))
    return Outcome(
        block.start, block.size, [], [Reject(block.start, (why,), True, lost=block.size)]
    )


def _line(text: str) -> str:
    """What a library says, on one line."""
    return " ".join(text.split())


def _refined(kinds: Any, labels: Any) -> Any:
    """Rows that were of a kind and have the same label are of a kind; -1 stays."""
    _, inverse = np.unique(np.stack([kinds, np.asarray(labels)]), axis=1, return_inverse=True)
    return np.where(kinds < 0, -1, inverse.reshape(-1))


def _rows_last(values: Any, index: Any) -> Any:
    if values.dtype == object:  # arrays of one shape, by now
        return np.stack([np.asarray(v) for v in values[index]], axis=-1)
    return np.moveaxis(values[index], 0, -1)


def _tiles(rows: Any, inputs: dict[str, Any], size: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Rows in pieces that run at once, each row's numbers apart in memory."""
    n = rows.stop if type(rows) is slice else len(rows)
    for start in range(0, n, size):
        stop = min(start + size, n)
        index = slice(start, stop) if type(rows) is slice else rows[start:stop]
        yield index, {name: _in_order(value[..., start:stop]) for name, value in inputs.items()}


def _in_order(values: Any) -> Any:
    """The values with the rows side by side in memory."""
    return values if values.strides[-1] == values.itemsize else np.ascontiguousarray(values)


def _size(index: Any) -> int:
    return index.stop - index.start if type(index) is slice else len(index)


def _numbers(rows: Any) -> list[int]:
    """The numbers of rows in a block: of a slice, or of an array."""
    return [*range(rows.start, rows.stop)] if type(rows) is slice else [*rows.tolist()]


def _within(index: Any, rows: Any) -> Any:
    """The rows `rows` of those that `index` says, in the block; a slice where they are all of a
    slice."""
    if len(rows) == _size(index):
        return index if type(index) is slice or (rows[1:] > rows[:-1]).all() else index[rows]
    return index.start + rows if type(index) is slice else index[rows]
