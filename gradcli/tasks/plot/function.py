"""The outputs of a program and their derivatives, as functions of one axis or two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ...engine.backends.backend import shape_of
from ...engine.backends.selection import backend_for
from ...engine.execution import Execution, running
from ...engine.row_runs import Answered, RowRuns, of_all_rows
from ...engine.trace.run import Run
from ...engine.trace.tape import Trace
from ...engine.trace.windows import STRIDE
from ...engine.values.boxes import primal
from ...engine.values.kinds import Variable, leaves, read, show_shape
from ...engine.values.lanes import Lanes
from ...lang import program
from ..answer import Answer, prepare, verify_inputs
from ..evaluation import Options
from .results import Axis

Values = dict[str, Any]  # by output, an array (channels, points)

LONG = 1000  # numbers that a point takes to compute; where there are more, a curve has fewer points
OVERHEAD = 300  # points for which an operation takes as long as it takes to begin one


class Function:
    """A program as a function of its axes, evaluated at many points by one run.

    Of one axis, channel `k` of an output is its derivative of order `k`; of two, channel 0 is the
    value, and 1 and 2 are the gradient. Where a point fails, or has another kind of value, is nan.

    order         how many derivatives there are; of two axes at most 1
    eps           the relative distance of two floats
    evaluations   points so far
    elements      numbers that a point takes to compute, at least 1
    is_long       whether curves are coarser than they would be in a shorter program
    work          numbers computed so far, where a run counts as if it had OVERHEAD points more
    failed        how the first point that failed did
    connected     by output, how many channels there are
    arrays        by output that is none, and so has no curve, its shape
    """

    def __init__(
        self,
        node: program.Program,
        inputs: Mapping[str, Any],
        options: Options,
        axes: tuple[Axis, ...],
        order: int,
    ) -> None:
        names = [axis.name for axis in axes]
        self.axes, self.order = axes, order
        self.eps = float(np.finfo(options.dtype).eps)
        self.options = options.with_changes(wrt=tuple(dict.fromkeys(names)))
        self.inputs = {name: value for name, value in inputs.items() if name not in names}
        verify_inputs(node, inputs, options.ignore_extra)
        verify_inputs(node, dict.fromkeys(names, 0.0), False)
        self.backend = backend_for(options.device)
        self.compiled = prepare(_without_expectations(node), self.options)
        self.bases = self._bases(inputs)
        self.evaluations = 0
        self.elements, self.work, self.is_long = 1.0, 0.0, False
        self.failed: Diagnostic | None = None
        self.connected: dict[str, int] = {}
        self.arrays: dict[str, str] = {}

    def at(self, *points: Any) -> Values:
        """The channels of each output at these points, an array for each axis. Raises GradcliError
        where all of them fail."""
        size = len(points[0])
        self.evaluations += size
        channels = 1 + self.order if len(self.axes) == 1 else 1 + 2 * self.order
        found: Values = {}
        failed: dict[int, Diagnostic] = {}
        with self.backend.active():
            answers = list(self._runs(points).answers(size))
        for answer in answers:
            if not isinstance(answer, Answered):
                firsts = [diagnostics[0] for diagnostics in answer.diagnostics]
                failed.update(zip(answer.rows.tolist(), firsts, strict=True))
                continue
            for label, row in answer.answer.items():
                if label not in found:
                    found[label] = np.full((channels, size), np.nan)
                self.connected[label] = max(self.connected.get(label, 1), len(row))
                found[label][:, answer.rows] = 0.0  # a derivative that isn't there, unless it is
                for channel, values in enumerate(row):
                    found[label][channel, answer.rows] = values
        for channels in found.values():
            channels[:, np.isnan(channels[0])] = np.nan  # what isn't there has no derivative
        if not found and failed:
            raise GradcliError(failed[min(failed)])
        self.failed = self.failed or (failed[min(failed)] if failed else None)
        return found

    def room(self, points: float, runs: int = 1) -> int:
        """How many points more can be evaluated, by so many runs, if all work together may be that
        of so many points of a program that isn't long."""
        return max(int((points * LONG - self.work) / self.elements) - runs * OVERHEAD, 0)

    def _runs(self, points: tuple[Any, ...]) -> RowRuns:
        to_device = self.backend.to_device
        columns = {name: to_device(v) for name, v in self._columns(points).items()}
        return RowRuns(self.compiled, self.inputs, columns, self._ask)

    def _columns(self, points: tuple[Any, ...]) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for axis, values in zip(self.axes, points, strict=True):
            if not axis.place:
                columns[axis.name] = values
                continue
            if axis.name not in columns:
                base = self.bases[axis.name][..., None]
                columns[axis.name] = np.repeat(base, len(values), axis=-1)
            columns[axis.name][axis.place] = values
        return columns

    def _bases(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays of which axes are elements, as the program has them alone."""
        asked = [axis for axis in self.axes if axis.place]
        if not asked:
            return {}
        execution = Execution(self.compiled, inputs).execute()
        found = {}
        for axis in asked:
            variable = execution.variables.get(axis.name)
            state = None if variable is None else self.backend.to_host(variable.state)
            state = None if state is None else np.array(state, np.float64)
            shape = () if state is None else state.shape
            if len(axis.place) != len(shape) or any(
                k >= n for k, n in zip(axis.place, shape, strict=True)
            ):
                help = f"its shape is {show_shape(shape)}" if shape else "it isn't an array"
                message = f"there is no element `{axis.label}`"
                raise GradcliError(Diagnostic("E003", message, help=help))
            found[axis.name] = state
        execution.release()
        return found

    def _ask(self, execution: Execution) -> dict[str, list[Any]]:
        """The channels of each output of a run, as numbers or arrays of its rows."""
        answer = Answer(execution, self.options)
        with running():
            targets = answer.targets if self.options.of else answer.outputs
            found = {
                label: list(self._channels(execution, answer, label, leaf))
                for name, target in targets.items()
                for label, leaf in _parts(name, target)
            }
        self._count(execution.run)
        return found

    def _count(self, run: Run) -> None:
        elements = max(_elements(run.trace), 1.0)
        self.elements = max(elements, self.elements)
        self.work += elements * (OVERHEAD + (1 if run.group is None else run.group.size))

    def _channels(
        self, execution: Execution, answer: Answer, label: str, leaf: Any
    ) -> Iterator[Any]:
        if shape := shape_of(primal(read(leaf))):
            self.arrays[label] = show_shape(shape)
            yield np.nan
            return
        yield self._rows(execution, leaf)
        sources = [answer.sources[axis.name] for axis in self.axes]
        if not all(type(source) is Variable for source in sources):
            return
        again = self.order > 1
        for _ in range(self.order):
            slopes = execution.gradients(leaf, sources, recorded=again)
            if slopes[0] is None and slopes[-1] is None:
                return
            for axis, slope in zip(self.axes, slopes, strict=True):
                yield self._rows(execution, slope, axis.place)
            leaf = slopes[0]

    def _rows(self, execution: Execution, value: Any, index: tuple[int, ...] = ()) -> Any:
        """The numbers of a value in each row; one for all of them where they share it."""
        value = primal(read(value))
        of_all_rows(execution.run, value)
        if value is None:
            return 0.0
        array = self.backend.to_host(value.array if type(value) is Lanes else value)
        array = np.asarray(array)[index]
        if array.dtype.kind not in "fib":
            array = np.full(array.shape, np.nan)
        return array


def _elements(trace: Trace) -> float:
    """How many numbers the results of its records have, about: all results are taken to be as large
    as those in the current segment. Rows don't count."""
    results = trace.segment.records[STRIDE - 1 :: STRIDE] if trace.segment is not None else []
    sizes = [getattr(y, "size", 1) for y in results]
    return trace.number * (sum(sizes) / len(sizes) if sizes else 1.0)


def _parts(name: str, target: Any) -> Iterator[tuple[str, Any]]:
    """The numbers in an output, each with a label: those of a list are `y[0]`, `y[1]`."""
    parts = list(leaves(target))
    if len(parts) == 1 and primal(read(parts[0])) is primal(read(target)):
        yield name, target
        return
    for k, part in enumerate(parts):
        yield f"{name}[{k}]", part


def _without_expectations(node: program.Program) -> program.Program:
    """The program without what it expects at its own values."""
    expectations = program.Expect | program.ExpectError
    body = tuple([s for s in node.body if not isinstance(s, expectations)])
    fields = {name: getattr(node, name) for name in node.FIELDS}
    return program.Program(**{**fields, "span": node.span, "source": node.source, "body": body})
